package main

import (
	"context"
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/protocol"
)

// TestNew checks that each kind of module compiles, is formatted, and passes its tests without
// changes.
func TestNew(t *testing.T) {
	t.Parallel()
	inProcesses(t)
	for _, flags := range []string{"", "--http --auth --task", "--fx --task", "--fx --auth --task --http"} {
		t.Run(flags, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "notes")
			args := append([]string{"new", dir, "--module", "example.com/notes", "--kagami", filepath.Join("..", "..")}, strings.Fields(flags)...)
			out, errs, code := kagami(t, args...)
			if code != 0 || !strings.Contains(out, "notes is ready.") {
				t.Fatalf("exit code %d\n%s%s", code, out, errs)
			}
			for _, command := range []string{"gofmt -l .", "go vet ./...", "go test -v ./..."} {
				words := strings.Fields(command)
				run := exec.CommandContext(t.Context(), words[0], words[1:]...)
				run.Dir = dir
				out, err := run.CombinedOutput()
				if err != nil || words[0] == "gofmt" && len(out) > 0 {
					t.Errorf("%s: %v\n%s", command, err, out)
				}
				if words[1] == "test" {
					atEachRevision(t, string(out), strings.Contains(flags, "--task"))
				}
			}
			if lock, err := os.ReadFile(filepath.Join(dir, "mcp.lock")); err != nil || !strings.Contains(string(lock), `"add_note"`) {
				t.Errorf("mcp.lock: %v\n%s", err, lock)
			}
			if compose, err := os.ReadFile(filepath.Join(dir, "compose.yaml")); err != nil || !strings.Contains(string(compose), "\n    stop_grace_period: 30s #") {
				t.Errorf("compose.yaml: %v\n%s", err, compose)
			}
			readme, err := os.ReadFile(filepath.Join(dir, "README.md"))
			if named := strings.Contains(string(readme), "`.env`"); err != nil || named != strings.Contains(flags, "--auth") {
				t.Errorf("README.md names .env: %v, %v", named, err)
			}
			if ignored, err := os.ReadFile(filepath.Join(dir, ".gitignore")); err != nil || !strings.Contains(string(ignored), ".exe\n") || !strings.Contains(string(readme), ".exe`") {
				t.Errorf("the files do not name the program of Windows: %v\n%s", err, ignored)
			}
			noLeftovers(t, dir)
			alignedComments(t, dir)
			useNew(t, dir)
			if strings.HasPrefix(flags, "--http --auth") { // a program of serve.Main
				diagnoseNew(t, dir)
			}
		})
	}
}

// atEachRevision checks in the output of go test that the tools were called at each revision.
func atEachRevision(t *testing.T, out string, task bool) {
	t.Helper()
	for _, revision := range protocol.Revisions() {
		if !strings.Contains(out, "--- PASS: TestAddAndFind/"+revision.String()+" ") {
			t.Errorf("TestAddAndFind does not run at %s:\n%s", revision, out)
		}
		if task && !strings.Contains(out, "--- PASS: TestCheck/"+revision.String()+" ") {
			t.Errorf("TestCheck does not run at %s:\n%s", revision, out)
		}
	}
}

// noLeftovers looks for parts of templates that were not replaced.
func noLeftovers(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err == nil && (strings.Contains(string(text), "<%") || strings.Contains(string(text), "<no value>") || len(text) == 0) {
			t.Errorf("%s:\n%s", path, text)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// diagnoseNew checks that doctor says what it could not try behind the login.
func diagnoseNew(t *testing.T, dir string) {
	t.Helper()
	program := filepath.Join(dir, "notes.bin")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".")
	build.Dir = dir
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	const login = "a restart was not tried, because the server wants a login over HTTP"
	if out, errs, code := kagami(t, "doctor", "--", program, "--store", "memory:"); code != 0 || !strings.Contains(out, login) {
		t.Errorf("doctor: exit code %d\n%s%s", code, out, errs)
	}
}

// useNew runs the commands of the module's README.
func useNew(t *testing.T, dir string) {
	t.Helper()
	if out, errs, code := kagami(t, "call", dir, "add_note", "text=Buy tea"); code != 0 || !strings.Contains(out, "Buy tea") {
		t.Errorf("call: exit code %d\n%s%s", code, out, errs)
	}
	if out, errs, code := kagami(t, "diff", filepath.Join(dir, "mcp.lock"), dir); code != 0 {
		t.Errorf("diff: exit code %d\n%s%s", code, out, errs)
	}
	if _, errs, code := kagami(t, "new", dir); code != 1 || !strings.Contains(errs, "is not empty") {
		t.Errorf("again: exit code %d\n%s", code, errs)
	}
}

// alignedComments checks that the comments of a block of commands in the README are in one column.
func alignedComments(t *testing.T, dir string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range strings.Split(string(text), "```sh\n")[1:] {
		column := -1
		for line := range strings.Lines(block[:strings.Index(block, "```")]) {
			at := strings.Index(line, " # ")
			if at >= 0 && column >= 0 && at != column {
				t.Errorf("the comments are not aligned:\n%s", block)
			}
			column = max(column, at)
		}
	}
}

// With --json, the output is one object: what was made, where, and the next commands.
func TestNewJSON(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "notes")
	out, errs, code := kagami(t, "new", dir, "--http", "--json", "--module", "example.com/notes", "--kagami", filepath.Join("..", ".."))
	var made struct {
		Name, Module, Directory, Kagami string
		Files, Next                     []string
	}
	if err := json.Unmarshal([]byte(out), &made); err != nil || code != 0 {
		t.Fatalf("exit code %d, %v\n%s%s", code, err, out, errs)
	}
	if made.Name != "notes" || made.Module != "example.com/notes" || made.Directory != dir || made.Kagami == "" || len(made.Next) != 3 || made.Next[0] != "cd "+dir {
		t.Errorf("got %+v", made)
	}
	for _, file := range made.Files {
		if _, err := os.Stat(filepath.Join(dir, file)); err != nil {
			t.Error(err)
		}
	}
}

func TestNewUsage(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"new": "want one NAME", "new a b": "want one NAME", "new Bad!": "is not a name for a server", "new ..": "is not a name for a server",
		"new notes --kagami /none": "/none is not a clone of Kagami\nTry: kagami new --help",
		"new all --kagami ../..":   "go uses the name all itself", "new context --kagami ../..": "go uses the name context itself: choose a path with --module, such as example.com/context",
		"new main --kagami ../..": "the tests of a module main do not compile: choose another path with --module, such as example.com/main",
		"new con --kagami ../..":  "--module: malformed module path", "new notes --module Ünï --kagami ../..": "invalid char",
		"new notes --module /notes --kagami ../..": "--module: malformed module path", "new notes --module ./notes --kagami ../..": "--module: ",
	} {
		out, errs, code := kagami(t, strings.Fields(args)...)
		if code != 2 || out != "" || !strings.Contains(errs, want) {
			t.Errorf("%s: exit code %d\n%s", args, code, errs)
		}
	}
	if _, err := os.Stat("notes"); err == nil {
		t.Error("something was written")
	}
}

// TestNewInterrupted checks that an interrupted command removes its files, and keeps the files that
// were there before.
func TestNewInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, before := range []string{"", ".", "LICENSE", ".github/CODEOWNERS"} {
		p := &project{Name: "notes", Module: "notes", target: filepath.Join(t.TempDir(), "notes"), Dir: filepath.Join("..", "..")}
		kept := filepath.Join(p.target, filepath.FromSlash(before))
		if before != "" && os.MkdirAll(filepath.Dir(kept), 0o750) != nil || before == "." && os.Mkdir(p.target, 0o750) != nil {
			t.Fatal("no directory")
		}
		if filepath.Base(before) != "." {
			if err := os.WriteFile(kept, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		files, err := p.files()
		if err != nil {
			t.Fatal(err)
		}
		if err := (&cli{errs: io.Discard}).write(ctx, p, files); err == nil {
			t.Error("no error")
		}
		left, err := os.ReadDir(p.target)
		if len(left) > 1 || (len(left) == 1) != (filepath.Base(before) != ".") || (err == nil) != (before != "") {
			t.Errorf("with %q: left %v, %v", before, left, err)
		}
	}
}

// TestNewBesideProgram checks that a module with the name of a program in PATH is not mistaken for
// the program, and that its directory is quoted where the shell needs it.
func TestNewBesideProgram(t *testing.T) {
	inProcesses(t)
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	if out, errs, code := kagami(t, "new", "test", "--kagami", root); code != 0 || !strings.Contains(out, "\n  cd test\n") {
		t.Errorf("exit code %d\n%s%s", code, out, errs)
	}
	target := filepath.Join("my servers", "notes")
	if out, errs, code := kagami(t, "new", target, "--kagami", root); code != 0 || !strings.Contains(out, "\n  cd '"+target+"'\n") {
		t.Errorf("exit code %d\n%s%s", code, out, errs)
	}
	if _, errs, code := kagami(t, "new", filepath.Join("test", "go.mod", "notes"), "--kagami", root); code != 1 || strings.Count(errs, "\n") != 1 {
		t.Errorf("below a file: exit code %d\n%s", code, errs)
	}
	t.Setenv("PATH", t.TempDir())
	if _, errs, code := kagami(t, "new", "other", "--kagami", root); code != 1 || !strings.Contains(errs, "no program go in PATH") {
		t.Errorf("without go: exit code %d\n%s", code, errs)
	}
}

// TestNewInWorkspace checks that a module can be made below a go.work, which does not have it yet.
func TestNewInWorkspace(t *testing.T) {
	inProcesses(t)
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	if err := os.WriteFile("go.work", []byte("go 1.26.0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, errs, code := kagami(t, "new", "notes", "--kagami", root)
	if code != 0 || !strings.Contains(out, "\n  cd notes\n  go work use .\n  go test ./...\n") {
		t.Errorf("exit code %d\n%s%s", code, out, errs)
	}
	if _, err := os.Stat(filepath.Join("notes", "mcp.lock")); err != nil {
		t.Error(err)
	}
}

// TestNewAsks checks that the answers in a terminal decide what the module has.
func TestNewAsks(t *testing.T) {
	t.Parallel()
	var asked strings.Builder
	p := &project{}
	if err := (&cli{in: strings.NewReader("y\n\nYES\nno\n"), errs: &asked}).choose(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	if !p.HTTP || p.Auth || !p.Task || p.FX || strings.Count(asked.String(), "[y/N]") != 4 {
		t.Errorf("%+v after\n%s", p, asked.String())
	}
	if err := (&cli{in: strings.NewReader("y\n"), errs: &asked}).choose(t.Context(), p); err == nil {
		t.Error("the end of the input is an answer")
	}
}

// TestNewAsksForFX checks that the README has the flags of fx if the user chooses it in the terminal.
func TestNewAsksForFX(t *testing.T) {
	t.Parallel()
	p := &project{Name: "notes", Dir: "../.."}
	if err := p.source(); err != nil { // as kagami new does before it asks
		t.Fatal(err)
	}
	if err := (&cli{in: strings.NewReader("y\n\n\ny\n"), errs: io.Discard}).choose(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	files, err := p.files()
	if err != nil {
		t.Fatal(err)
	}
	if readme := string(files["README.md"]); !strings.Contains(readme, "go run . -http :8080 ") {
		t.Error(readme)
	}
}

// TestNewInRepository checks that a module can be created in the clone of a new repository, and in no
// directory that has other files.
func TestNewInRepository(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{".git", "LICENSE", "LICENSE.md"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if name := occupied(dir); name != "" {
		t.Errorf("a new repository has %s", name)
	}
	if err := os.WriteFile(filepath.Join(dir, "README.md"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if name := occupied(dir); name != "README.md" {
		t.Errorf("got %q", name)
	}
}
