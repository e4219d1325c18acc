package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestReplaceProgram checks a file that can be renamed but not replaced. In this test it is a directory.
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
	if got, err := os.ReadFile(place); err != nil || string(got) != "two" {
		t.Errorf("after an error the old program is %q, %v", got, err)
	}
}

// TestReplaceProgramThatRuns checks a replacement while an older file runs and cannot be removed.
func TestReplaceProgramThatRuns(t *testing.T) {
	t.Parallel()
	place := filepath.Join(t.TempDir(), "server")
	for _, dir := range []string{place, filepath.Join(place+".old0", "runs")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(place, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(place+".new", []byte("new"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := replaceProgram(place+".new", place); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(place); err != nil || string(got) != "new" {
		t.Errorf("got %q, %v", got, err)
	}
}

// TestInPlaceBesidePath checks a program in a directory of PATH that is relative.
func TestInPlaceBesidePath(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("PATH", "bin")
	if err := os.Mkdir("bin", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join("bin", "tool.exe"), nil, 0o700); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	if got := inPlace("tool.exe"); got != "tool.exe" {
		t.Errorf("got %s", got)
	}
}

// TestPackageBesideProgram checks that the result of "go build ./weather" does not hide the package
// weather. On Windows, the result is weather.exe in the directory above.
func TestPackageBesideProgram(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pkg := filepath.Join(dir, "weather")
	if err := os.Mkdir(pkg, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(pkg+".exe", nil, 0o700); err != nil {
		t.Fatal(err)
	}
	if path, err := lookPath(pkg); err == nil || !isPackage([]string{pkg}) {
		t.Errorf("%s is the program %s", pkg, path)
	}
	if _, err := lookPath(pkg + ".exe"); err != nil || isPackage([]string{pkg + ".exe"}) {
		t.Errorf("%s.exe is not a program: %v", pkg, err)
	}
}

func TestPackagedClaude(t *testing.T) {
	t.Parallel()
	local := t.TempDir()
	if got := packagedClaude(local); got != "" {
		t.Errorf("without a package: %s", got)
	}
	dir := filepath.Join(local, "Packages", "Claude_x", "LocalCache", "Roaming", "Claude")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	dirs := directories{appData: local, os: "windows", moved: map[string]string{"claude-desktop": packagedClaude(local)}}
	c, err := clientNamed("claude-desktop")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := dirs.file(c), filepath.Join(dir, "claude_desktop_config.json"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
