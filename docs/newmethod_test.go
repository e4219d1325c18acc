package docs_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestNewMethod applies the worked example of architecture.md, a method tools/search, to a copy of
// the code, and runs the tests that walk the table of methods and the test of the method itself. If the
// patch does not apply any more: `git apply --3way docs/code/newmethod/tools-search.patch`, mend what
// it reports, and write `git diff -U1 HEAD` into the patch: little context, so that changes nearby do no harm.
func TestNewMethod(t *testing.T) {
	t.Parallel()
	patch, err := filepath.Abs("code/newmethod/tools-search.patch")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(patch)
	if err != nil {
		t.Fatal(err)
	}
	if files := strings.Count(string(text), "\ndiff --git ") + 1; files > 8 {
		t.Errorf("the example touches %d files, want 8 at most", files)
	}
	dir := t.TempDir()
	for _, part := range []string{"go.mod", "go.sum", "protocol", "transport", "framework", "testkit"} {
		copyTree(t, filepath.Join("..", part), filepath.Join(dir, part))
	}
	run(t, dir, "git", "apply", patch)
	run(t, dir, "go", "test", "-trimpath", "-run",
		"TestEvery|TestGolden|TestModel|TestMethods|TestSearchTools", "./protocol/dialect", "./protocol/client", "./framework")
}

func run(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
}

// copyTree copies a file, or a directory without what npm has installed.
func copyTree(t *testing.T, from, to string) {
	t.Helper()
	err := filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && entry.Name() == "node_modules":
			return fs.SkipDir
		case !entry.Type().IsRegular():
			return nil
		}
		target := filepath.Join(to, strings.TrimPrefix(path, from))
		if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(target, content, 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
}
