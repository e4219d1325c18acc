package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestReplaceProgram checks the way around a file that cannot be replaced, which is a directory here.
func TestReplaceProgram(t *testing.T) {
	t.Parallel()
	place := filepath.Join(t.TempDir(), "server")
	if err := os.Mkdir(place, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, version := range []string{"one", "two"} {
		if err := os.WriteFile(place+".new", []byte(version), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := replaceProgram(place+".new", place); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(place); err != nil || string(got) != version {
			t.Errorf("got %q, %v", got, err)
		}
	}
	if err := replaceProgram(place+".new", place); err == nil {
		t.Error("there is no new file, and no error")
	}
}
