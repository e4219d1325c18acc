package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestInstalledByAnotherVersion checks that kagami does not replace its records if it cannot read them.
func TestInstalledByAnotherVersion(t *testing.T) {
	dirs := ownHome(t)
	const later = `{"cursor":{"notes":{"entry":"x"}}}`
	file := filepath.Join(dirs.own(), "installed.json")
	if err := errors.Join(os.MkdirAll(dirs.own(), 0o700), os.WriteFile(file, []byte(later), 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"install", everything, "--name", "other"}, {"uninstall", "notes"}} {
		_, errs, code := kagami(t, append(args, "--client", "cursor", "--yes")...)
		if code != 1 || !strings.Contains(errs, file) {
			t.Errorf("%s: exit code %d\n%s", args[0], code, errs)
		}
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != later {
		t.Errorf("the records are %s, %v", text, err)
	}
}

// TestInstalledIsNull checks that a file without records counts as one without entries.
func TestInstalledIsNull(t *testing.T) {
	dirs := ownHome(t)
	file := filepath.Join(dirs.own(), "installed.json")
	if err := errors.Join(os.MkdirAll(dirs.own(), 0o700), os.WriteFile(file, []byte("null"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, errs, code := kagami(t, "install", everything, "--name", "notes", "--client", "cursor", "--yes"); code != 0 {
		t.Errorf("exit code %d\n%s", code, errs)
	}
}
