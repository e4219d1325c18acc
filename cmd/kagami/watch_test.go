package main

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

// TestIsSource checks that only files that the go command reads count. A server may write others
// beside its source, and each of them would start a build.
func TestIsSource(t *testing.T) {
	t.Parallel()
	w := &watcher{exact: map[string]bool{"/m/p/.version": true}, embedded: []embedding{{"/m/p", "template"}, {"/m/p", "*.sql"}}}
	for file, want := range map[string]bool{
		"/m/p/main.go": true, "/m/go.mod": true, "/m/p/lib.c": true,
		"/m/p/main_test.go": false, "/m/p/.main.go": false, "/m/p/main.go~": false, "/m/p/#main.go#": false,
		"/m/p/server.log": false, "/m/p/notes.db": false, "/m/p/notes.db-wal": false,
		"/m/p/.version": true, "/m/p/.other": false,
		"/m/p/template/a/b.txt": true, "/m/p/schema.sql": true, "/m/q/schema.sql": false, "/m/p/template.bak": false,
	} {
		if got := w.isSource(file); got != want {
			t.Errorf("%s: got %v, want %v", file, got, want)
		}
	}
}

// TestMovedDirectory checks that a package is followed when its directory is moved away and comes back.
func TestMovedDirectory(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("Windows reports nothing about the watched directory itself")
	}
	dir := filepath.Join(t.TempDir(), "notes")
	if err := errors.Join(os.Mkdir(dir, 0o750), os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module notes\n"), 0o600),
		os.WriteFile(filepath.Join(dir, "main.go"), []byte("package main\n\nfunc main() {}\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	w, err := watch()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	for _, step := range []struct{ from, to string }{{dir, dir + "-away"}, {dir + "-away", dir}} {
		if err := errors.Join(w.follow(t.Context(), dir), os.Rename(step.from, step.to)); err != nil {
			t.Fatal(err)
		}
		select {
		case <-w.changed:
		case <-time.After(10 * time.Second):
			t.Fatalf("from %s to %s: no change", step.from, step.to)
		}
	}
}
