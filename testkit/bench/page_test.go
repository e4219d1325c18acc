package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// pagesIn copies the pages into a directory of their own.
func pagesIn(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	from := pathsOf(filepath.Join("..", "..", "docs"))
	for i, path := range pathsOf(dir) {
		page, err := os.ReadFile(from[i])
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, page, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestPrepare: what would make a long run useless is said before it begins.
func TestPrepare(t *testing.T) {
	t.Parallel()
	dir, none := pagesIn(t), filepath.Join(t.TempDir(), "none")
	stdio := filepath.Join(t.TempDir(), "stdio.json")
	r := results{}
	r.add("stdio add depth 1", nameKagami, metricCPU, 1)
	if err := r.keep(stdio); err != nil {
		t.Fatal(err)
	}
	others := func(but string) []string {
		var all []string
		for _, name := range names() {
			if name != but {
				all = append(all, name)
			}
		}
		return all
	}
	for name, tt := range map[string]struct {
		options options
		want    string // in the error; empty for none
	}{
		"nothing":               {options{}, ""},
		"all":                   {options{out: dir}, ""},
		"no page":               {options{out: none}, "performance.md"},
		"some groups":           {options{only: []string{"stdio"}}, ""},
		"a page of some groups": {options{out: dir, only: []string{"stdio"}}, "http-json"},
		"no growth":             {options{out: dir, only: others("growth")}, "growth"},
		"some, and the others":  {options{out: dir, only: others("stdio"), data: stdio}, ""},
		"no place for data":     {options{data: filepath.Join(none, "x.json")}, "x.json"},
		"profiles":              {options{profile: filepath.Join(t.TempDir(), "a", "b")}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := tt.options.prepare()
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
			if tt.options.profile != "" {
				if _, err := os.Stat(tt.options.profile); err != nil {
					t.Error(err)
				}
			}
		})
	}
	if kept, err := earlier(stdio); err != nil || len(kept) != 1 {
		t.Errorf("%v, %v", kept, err)
	}
}

// TestShow prints what was measured, and nothing else.
func TestShow(t *testing.T) {
	t.Parallel()
	r := results{}
	r.add("stdio add depth 1", nameKagami, metricP50, 20)
	r.add("stdio add depth 1", namePipes, metricP50, 10)
	var out bytes.Buffer
	if err := show(r, "", &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"## goals\n", "round trip of a small call, p50 | ≤ 2× bare pipes | 2× |", "## stdio\n", "20 (2×) |", "## machine\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, &out)
		}
	}
	if strings.Count(out.String(), "## ") != 3 || strings.Contains(out.String(), unknown) {
		t.Errorf("something was not measured:\n%s", &out)
	}
}
