package main

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

func TestIsTerminal(t *testing.T) {
	t.Parallel()
	terminal := "/dev/ptmx"
	if runtime.GOOS == "windows" {
		terminal = "CONOUT$"
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{terminal: true, os.DevNull: false, file: false} {
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil && path == terminal {
			t.Logf("no terminal can be opened: %v", err)
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := isTerminal(f); got != want {
			t.Errorf("%s: a terminal is %v", path, got)
		}
		_ = f.Close()
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	if isTerminal(r) || isTerminal(w) {
		t.Error("a pipe is a terminal")
	}
	_, _ = r.Close(), w.Close()
}

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
