package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestLockAndDiff(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "mcp.lock")
	if _, errs, code := kagami(t, "lock", everything, "--output", file); code != 0 {
		t.Fatalf("lock: exit code %d\n%s", code, errs)
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if out, errs, code := kagami(t, "lock", everything); code != 0 || out != string(raw) {
		t.Errorf("to stdout: exit code %d\n%s\n%s", code, out, errs)
	}
	l := writeLocks(t, dir, raw)
	tests := []struct {
		name string
		args []string
		code int
		out  string // part of stdout; "": stdout must be empty
		errs string
	}{
		{"same", []string{file, everything}, 0, "", ""},
		{"same, after dashes", []string{file, "--", everything, "--stdio"}, 0, "", ""},
		{"byte order mark", []string{l.marked, file}, 0, "", ""},
		{"UTF-16", []string{file, l.wide}, 1, "", "use lock --output"},
		{"two files", []string{file, file}, 0, "", ""},
		{"text", []string{l.text, everything}, 6, "text: tool slow: title changed from \"Crawl\" to ", ""},
		{"text allowed", []string{l.text, everything, "--allow", "text"}, 0, "text: tool slow: title", ""},
		{"additive", []string{l.wider, file}, 6, "additive: tool ", ""},
		{"additive allowed", []string{l.wider, file, "--allow", "additive"}, 0, "minimum lowered from 1 to 0", ""},
		{"breaking", []string{l.renamed, file}, 6, "breaking: tool sleepy: renamed to slow\n", ""},
		{"breaking, though additive is allowed", []string{l.renamed, file, "--allow", "additive"}, 6, "breaking: ", ""},
		{"breaking, of a task", []string{l.optional, everything}, 6, "breaking: tool ", ""},
		{"breaking allowed", []string{l.renamed, file, "--allow", "breaking"}, 0, "breaking: ", ""},
		{"wrong file", []string{l.wrong, everything}, 1, "", "its form is number 0"},
		{"no file", []string{filepath.Join(dir, "no.lock"), everything}, 1, "", "no such file"},
		{"one side", []string{file}, 2, "", "want OLD and NEW"},
		{"wrong level", []string{file, file, "--allow", "none"}, 2, "", "want text, additive or breaking"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			out, errs, code := kagami(t, append([]string{"diff"}, tt.args...)...)
			if code != tt.code || tt.out == "" && out != "" || !strings.Contains(out, tt.out) || !strings.Contains(errs, tt.errs) {
				t.Errorf("exit code %d, want %d\n%s\n%s", code, tt.code, out, errs)
			}
		})
	}
	out, _, code := kagami(t, "diff", l.renamed, file, "--json")
	var list []struct{ Level, Where, What string }
	if err := json.Unmarshal([]byte(out), &list); err != nil || code != 6 || len(list) != 1 || list[0].Level != "breaking" || list[0].Where != "tool sleepy" {
		t.Errorf("--json: exit code %d, %v\n%s", code, err, out)
	}
}

// locks are files that differ from a lock file in one respect.
type locks struct{ text, renamed, wider, optional, wrong, marked, wide string }

func writeLocks(t *testing.T, dir string, raw []byte) locks {
	t.Helper()
	write := func(name string, data []byte) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	changed := func(name, old, now string) string {
		t.Helper()
		if !bytes.Contains(raw, []byte(old)) {
			t.Fatalf("the lock file lacks %s", old)
		}
		return write(name, bytes.ReplaceAll(raw, []byte(old), []byte(now)))
	}
	return locks{
		text:     changed("text.lock", `"title": "Slow",`, `"title": "Crawl",`),
		renamed:  changed("renamed.lock", `"name": "slow",`, `"name": "sleepy",`),
		wider:    changed("wider.json", `"minimum": 0`, `"minimum": 1`), // the old minimum is higher, so the tool now accepts more
		optional: changed("optional.lock", `"tasks": "required"`, `"tasks": "optional"`),
		wrong:    write("wrong.lock", []byte(`{}`)),
		marked:   write("marked.lock", append([]byte("\ufeff"), raw...)), // with the byte order mark that Windows PowerShell writes
		wide:     write("wide.json", []byte("\xff\xfe{\x00}\x00")),
	}
}

// TestLockBuildsOnce checks that kagami lock builds a package once, although it reads the server at
// two revisions.
func TestLockBuildsOnce(t *testing.T) {
	program, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	log := filepath.Join(dir, "log")
	script := fmt.Sprintf("#!/bin/sh\necho \"$1\" >>%s\nexec %s \"$@\"\n", log, program)
	if err := os.WriteFile(filepath.Join(dir, "go"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
	temp := filepath.Join(dir, "a[1]") // no pattern
	if err := os.Mkdir(temp, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", temp)
	if out, errs, code := kagami(t, "lock", "../../examples/everything"); code != 0 || !strings.Contains(out, `"tasks": "required"`) {
		t.Fatalf("exit code %d\n%s%s", code, out, errs)
	}
	if ran, err := os.ReadFile(log); err != nil || string(ran) != "build\n" {
		t.Errorf("go ran with %q, %v", ran, err)
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) != 0 {
		t.Errorf("programs are left: %v, %v", left, err)
	}
}

// TestListsAreRaw checks that --json shows exactly what the server has sent, including members that
// later revisions do not have.
func TestListsAreRaw(t *testing.T) {
	t.Parallel()
	out, errs, code := kagami(t, "tools", everything, "--json", "--revision", "2025-11-25")
	var doc struct {
		Tools []struct {
			Name      string
			Execution struct{ TaskSupport string }
		}
	}
	if err := json.Unmarshal([]byte(out), &doc); err != nil || code != 0 {
		t.Fatalf("exit code %d, %v\n%s\n%s", code, err, out, errs)
	}
	support := map[string]int{}
	for _, tool := range doc.Tools {
		support[tool.Execution.TaskSupport]++
	}
	if support["optional"] == 0 || support["required"] == 0 {
		t.Errorf("task support %v in\n%s", support, out)
	}
	newest, _, _ := kagami(t, "tools", everything, "--json")
	if strings.Contains(newest, "taskSupport") || !strings.Contains(newest, `"name": "slow"`) {
		t.Errorf("at the newest revision: %s", newest)
	}
}

// TestDiffOfPipe checks that a lock may come from a pipe, as a shell gives the output of another command.
func TestDiffOfPipe(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("pipes have no path")
	}
	lock, errs, code := kagami(t, "lock", weather)
	if code != 0 {
		t.Fatalf("exit code %d\n%s", code, errs)
	}
	for text, want := range map[string]int{lock: 0, "{}\n": 1} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			_, _ = w.WriteString(text)
			_ = w.Close()
		}()
		if out, errs, code := kagami(t, "diff", fmt.Sprintf("/dev/fd/%d", r.Fd()), weather); code != want || out != "" {
			t.Errorf("%.20s: exit code %d\n%s%s", text, code, out, errs)
		}
		_ = r.Close()
	}
}

// TestDiffByName checks that both sides may be names, and that the environment of one does not reach the other.
func TestDiffByName(t *testing.T) {
	ownHome(t)
	t.Chdir(t.TempDir())
	project := `{"mcpServers":{"shop":{"command":"` + everything + `","args":["--stdio"]},"broken":{"command":"` + everything + `","args":[],"env":{"KAGAMI_LOG_LEVEL":"nope"}}}}`
	if err := os.WriteFile("mcp.json", []byte(project), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, errs, code := kagami(t, "lock", "shop", "-o", "mcp.lock"); code != 0 {
		t.Fatalf("lock: exit code %d\n%s", code, errs)
	}
	for _, args := range [][]string{{"mcp.lock", "shop"}, {"shop", "mcp.lock"}, {"shop", "shop"}} {
		if out, errs, code := kagami(t, append([]string{"diff"}, args...)...); code != 0 || out != "" {
			t.Errorf("%s: exit code %d\n%s%s", args, code, out, errs)
		}
	}
	a := &cli{out: &shared{}, errs: &shared{}}
	_, _ = a.side(t.Context(), []string{"broken"})
	if len(a.serverEnv) != 0 {
		t.Errorf("left for the other side: %q", a.serverEnv)
	}
}

// TestDiffIsNotPrinted checks that changes that cannot be printed are not reported as printed.
func TestDiffIsNotPrinted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	old, now := filepath.Join(dir, "old.lock"), filepath.Join(dir, "new.lock")
	if _, errs, code := kagami(t, "lock", everything, "--output", old); code != 0 {
		t.Fatalf("lock: exit code %d\n%s", code, errs)
	}
	raw, err := os.ReadFile(old)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(now, []byte(strings.ReplaceAll(string(raw), `"title": "Slow",`, `"title": "Crawl",`)), 0o600); err != nil {
		t.Fatal(err)
	}
	full, err := os.Open(os.DevNull) // cannot be written to
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = full.Close() }()
	for _, args := range [][]string{{"diff", old, now}, {"diff", old, now, "--json"}} {
		var errs shared
		if code := (&cli{out: full, errs: &errs}).run(t.Context(), args); code != 1 || !strings.Contains(errs.String(), "write ") {
			t.Errorf("%s: exit code %d, %q", args, code, errs.String())
		}
	}
}
