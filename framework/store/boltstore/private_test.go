package boltstore_test

import (
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestFilesArePrivate checks that other users of the machine cannot read the files or an unfinished
// copy, and that no unfinished copy is left.
func TestFilesArePrivate(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("file modes need Unix")
	}
	dir := t.TempDir()
	s := reopen(t, filepath.Join(dir, "store"))
	creates(t, s.Tasks(), "a")
	if _, err := s.Events().Append(t.Context(), "stream", []byte("{}")); err != nil {
		t.Fatal(err)
	}
	look := func(when string, copies int) {
		t.Helper()
		files, err := os.ReadDir(dir)
		if err != nil || len(files) < 2 {
			t.Fatal(files, err)
		}
		for _, f := range files {
			info, err := f.Info()
			if err != nil {
				t.Fatal(err)
			}
			if info.Mode().Perm()&0o077 != 0 {
				t.Errorf("%s: %s: %v", when, f.Name(), info.Mode())
			}
			if strings.HasPrefix(f.Name(), "backup-") {
				copies--
			}
		}
		if copies != 0 {
			t.Errorf("%s: %d copies too few", when, copies)
		}
	}
	first := true
	if err := s.Backup(writer(func(p []byte) (int, error) {
		if first {
			first = false
			look("while a copy is made", 1)
		}
		return io.Discard.Write(p)
	})); err != nil {
		t.Fatal(err)
	}
	look("afterwards", 0)
}

type writer func(p []byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }
