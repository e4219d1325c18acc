package main

import (
	"os"
	"testing"
)

// TestPipeWithoutReader checks the system's own error.
func TestPipeWithoutReader(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	_ = r.Close()
	if _, err := w.WriteString("text"); !isUnread(err) {
		t.Errorf("got %v", err)
	}
	_ = w.Close()
}
