package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const documented = "testdata/documented"

// TestGen checks that the generated file in testdata is current, and that clients see its
// descriptions.
func TestGen(t *testing.T) {
	t.Parallel()
	if out, errs, code := kagami(t, "gen", "--check", documented); code != 0 || out+errs != "" {
		t.Fatalf("exit code %d: %s%s", code, out, errs)
	}
	out, errs, code := kagami(t, "tools", documented, "--json", "-q")
	var compact bytes.Buffer
	if err := json.Compact(&compact, []byte(out)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"description":"Finds orders by the name of the customer.\nIt returns the newest first."`,
		`"query":{"type":"string","description":"A part of the customer's name."}`,
		`"description":"the state that the orders have. draft: not sent yet. sent: waits for the \"yes\" of the shop."`,
		`"enum":["draft","sent","done"]`, `"description":"how many at most"`, `"description":"Counts orders."`,
	} {
		if !strings.Contains(compact.String(), want) {
			t.Errorf("there is no %s in\n%s", want, compact.String())
		}
	}
	if code != 0 || strings.Contains(errs, "Port") {
		t.Errorf("exit code %d\n%s", code, errs)
	}
}

// TestGenChanges covers a file that is stale, a file that is no longer needed, and a file that gen
// did not write.
func TestGenChanges(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	source, generated := filepath.Join(dir, "a.go"), filepath.Join(dir, "kagami_docs.go")
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := func(want int, says string, args ...string) {
		t.Helper()
		if out, errs, code := kagami(t, append([]string{"gen", dir}, args...)...); code != want || !strings.Contains(errs, says) || out != "" {
			t.Fatalf("exit code %d, want %d and %q: %s%s", code, want, says, out, errs)
		}
	}
	write(source, "package a\n\ntype In struct {\n\tX int // the one\n}\n")
	run(1, "stale: run kagami gen", "--check")
	run(0, "wrote ")
	run(0, "", "--check")
	text, err := os.ReadFile(generated)
	if err != nil {
		t.Fatal(err)
	}
	write(generated, strings.ReplaceAll(string(text), "\n", "\r\n"))
	run(0, "", "--check")
	write(source, "package a\n\ntype In struct {\n\tX int // the other\n}\n")
	run(1, "stale", "--check")
	write(source, "package a\n\ntype In struct{ X int }\n")
	run(0, "removed ")
	if _, err := os.Stat(generated); err == nil {
		t.Error("the file is still there")
	}
	run(0, "nothing to describe")
	write(generated, "package a\n")
	run(1, "was not written by kagami gen")
	write(source, "package a\n\nfunc {\n")
	run(1, "a.go:3:6")
	if _, errs, code := kagami(t, "gen", filepath.Join(dir, "none")); code != 1 || !strings.Contains(errs, "none") {
		t.Errorf("exit code %d: %s", code, errs)
	}
}
