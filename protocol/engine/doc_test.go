package engine_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestReadingOrder compares the files that the package comment lists with the files that there are.
func TestReadingOrder(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]int{}
	for _, name := range regexp.MustCompile(`\b[a-z_]+\.go\b`).FindAllString(string(doc), -1) {
		listed[name]++
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		small := strings.HasSuffix(name, "_test.go") || name == "doc.go"
		if !small && listed[name] != 1 {
			t.Errorf("doc.go names %s %d times, want once", name, listed[name])
		}
		delete(listed, name)
	}
	for name := range listed {
		t.Errorf("doc.go names %s, which is not there", name)
	}
}
