package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const weather = "../../examples/weather"

func TestInspectPackage(t *testing.T) {
	t.Parallel()
	plain, errs, code := kagami(t, "inspect", weather)
	from := regexp.MustCompile(`\n    from \S*examples/weather/main\.go:\d+ \(\*weather\)\.Compare, added at \S*examples/weather/main\.go:\d+\n`).FindString(plain)
	if code != 0 || !strings.HasPrefix(plain, "weather ") || from == "" || strings.Contains(plain, "recovery") {
		t.Errorf("exit code %d\n%s%s", code, plain, errs)
	}
	chain, errs, code := kagami(t, "inspect", weather, "--chain")
	const steps = "    chain\n      recovery  engine\n      scopes    engine\n"
	if code != 0 || strings.Count(chain, steps) != 6 || !strings.HasSuffix(chain, "\nLists\n"+steps) || !strings.Contains(chain, from+steps) {
		t.Errorf("exit code %d\n%s%s", code, chain, errs)
	}
	out, errs, code := kagami(t, "inspect", weather, "--json")
	var doc struct {
		Components []struct {
			Name, Added string
			Chain       []struct{ Name string }
		}
	}
	if err := json.Unmarshal([]byte(out), &doc); code != 0 || err != nil || len(doc.Components) != 5 || len(doc.Components[0].Chain) != 2 {
		t.Errorf("exit code %d, %v\n%s%s", code, err, out, errs)
	}
	if built, errs, code := kagami(t, "inspect", "--chain", "--", everything, "--stdio"); code != 0 || !strings.Contains(built, "\nLists\n") {
		t.Errorf("of a command line: exit code %d\n%s%s", code, built, errs)
	}
}

// Programs that do not support --inspect=json are listed through MCP, or refused.
func TestInspectOthers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	program := func(name, script string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		return path
	}
	crashes := filepath.Join(dir, "crashes.go")
	if err := os.WriteFile(crashes, []byte("package main\n\nfunc main() { panic(1) }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	faulty := program("faulty", `echo '{"problems": 1, "faults": []}'; echo "kagami: 1 problem" >&2; exit 2`)
	for name, tt := range map[string]struct {
		args []string
		code int
		err  string
	}{
		"no report":        {[]string{"inspect", program("mute", "echo no such flag >&2; exit 2"), "--chain"}, 1, "package framework/serve/inspect\nno such flag"},
		"other JSON":       {[]string{"inspect", program("other", "echo '{}'"), "--chain"}, 1, "does not support --inspect=json"},
		"a faulty app":     {[]string{"inspect", faulty, "--chain"}, 1, "the server does not start\nkagami: 1 problem"},
		"fails in the end": {[]string{"inspect", program("late", `echo '{"revision":"2026-07-28"}'; echo late >&2; exit 1`), "--chain"}, 4, "exit status 1\nlate"},
		"no such path":     {[]string{"inspect", "./nowhere"}, 4, "want a Go package or a program"},
		"a package":        {[]string{"inspect", crashes}, 4, "connecting to " + crashes + ": "},
		"a URL":            {[]string{"inspect", "http://127.0.0.1:1/mcp", "--chain"}, 2, "does not show its middleware"},
		"a revision":       {[]string{"inspect", everything, "--chain", "--revision", "2025-11-25"}, 2, "the same at all revisions"},
		"no server":        {[]string{"inspect", "--chain"}, 2, "no server"},
		"a bearer":         {[]string{"inspect", weather, "--bearer", "x"}, 2, "for servers at a URL"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, errs, code := kagami(t, tt.args...)
			if code != tt.code || !strings.Contains(errs, tt.err) || out != "" {
				t.Errorf("exit code %d\n%s%s", code, out, errs)
			}
		})
	}
}

// Commands that show a server also show the warnings of Build, and --strict fails because of them.
func TestWarnings(t *testing.T) {
	t.Parallel()
	const warned = "./testdata/warned"
	out, errs, code := kagami(t, "inspect", warned)
	_, section, _ := strings.Cut(out, "\nWarnings\n  tool \"paint\"\n")
	var got []string
	for _, line := range regexp.MustCompile(`(?m)^    (\S+) \(\S*/warned/main\.go:\d+\): (.*?)\. .`).FindAllStringSubmatch(section, -1) {
		got = append(got, line[1]+": "+line[2])
	}
	slices.Sort(got)
	want := []string{
		"paint.Coats: the tag minimum is not read",
		"paint.Color: type main.Color has constants, and its schema does not name them",
		"paint.Note: the JSON of type sql.NullString is an object of its fields",
		"paint.Note: the tag descriptiom is not read",
		"paint.Photo: the JSON of type multipart.FileHeader is an object of its fields",
	}
	if code != 0 || !slices.Equal(got, want) {
		t.Errorf("exit code %d, %q in\n%s%s", code, got, out, errs)
	}
	program := filepath.Join(t.TempDir(), "warned")
	if text, err := exec.Command("go", "build", "-buildvcs=false", "-o", program, warned).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	out, _, _ = kagami(t, "inspect", program, "--strict", "--json")
	var report struct {
		Warnings []struct{ Component, Path, Problem, Fix, Where string }
	}
	if err := json.Unmarshal([]byte(out), &report); err != nil || len(report.Warnings) != len(want) || !strings.Contains(report.Warnings[0].Where, "warned/main.go:") {
		t.Errorf("%v\n%s", err, out)
	}
	for _, command := range []string{"inspect", "tools", "list"} {
		out, errs, code := kagami(t, command, program, "--strict")
		if code != 1 || !strings.Contains(out, "paint") || !strings.Contains(errs, "--strict: the server has 5 warnings\n  tool \"paint\": paint.") {
			t.Errorf("%s --strict: exit code %d\n%s%s", command, code, out, errs)
		}
	}
	if out, errs, code := kagami(t, "tools", everything, "--strict"); code != 0 {
		t.Errorf("exit code %d without warnings\n%s%s", code, out, errs)
	}
	if _, errs, code := kagami(t, "tools", "http://127.0.0.1:1/mcp", "--strict"); code == 0 || !strings.Contains(errs, "does not show its warnings") {
		t.Errorf("exit code %d of a URL\n%s", code, errs)
	}
}

func TestProfiles(t *testing.T) {
	t.Parallel()
	out, errs, code := kagami(t, "inspect", weather, "--profile", "all", "--strict")
	if code != 0 || !strings.Contains(out, "\nProfiles\n  no client refuses or changes anything\n\nTokens ") || !strings.Contains(out, "\n  all tools ") {
		t.Errorf("exit code %d\n%s%s", code, out, errs)
	}
	out, errs, code = kagami(t, "inspect", everything, "--profile", "claude-code,gemini", "--strict")
	if code != 1 || !strings.Contains(out, "\n  claude-code refused\n    tool ") || strings.Contains(out, "\n  cursor") || !strings.Contains(errs, "findings of profiles: ") {
		t.Errorf("exit code %d\n%s%s", code, out, errs)
	}
	out, errs, code = kagami(t, "inspect", everything, "--profile", "openai", "--json")
	var doc struct {
		Tools    []any
		Profiles []struct{ Profile, Level, Where, Source string }
		Tokens   struct{ All int }
	}
	if err := json.Unmarshal([]byte(out), &doc); code != 0 || err != nil || len(doc.Tools) == 0 || doc.Tokens.All == 0 {
		t.Errorf("exit code %d, %v\n%s%s", code, err, out, errs)
	}
	if _, errs, code := kagami(t, "inspect", everything, "--profile", "curser"); code != 2 || !strings.Contains(errs, `got "curser", want claude-code`) {
		t.Errorf("exit code %d\n%s", code, errs)
	}
}
