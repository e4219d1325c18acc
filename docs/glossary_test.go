package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	glossaryRow = regexp.MustCompile(`(?m)^\| <a id="([^"]+)"></a>([^|]+) \|`)
	brackets    = regexp.MustCompile(`\(.*\)`)
)

// TestGlossary: each term of the guides is used in a guide, and each term of the code in the code.
func TestGlossary(t *testing.T) {
	t.Parallel()
	glossary, err := os.ReadFile("glossary.md")
	if err != nil {
		t.Fatal(err)
	}
	guides, code, cut := strings.Cut(string(glossary), "\n## Terms of the code\n")
	if !cut {
		t.Fatal("glossary.md has no terms of the code")
	}
	pages := termGuides(t)
	unused(t, guides, func(term string) bool {
		words := strings.ReplaceAll(regexp.QuoteMeta(term), " ", "[ -]")
		return regexp.MustCompile(`(?i)(^|[^#a-z])` + words + `(s|ed|ing)?([^a-z]|$)`).MatchString(pages)
	})
	sources := strings.ToLower(codeText(t))
	unused(t, code, func(term string) bool {
		return strings.Contains(sources, term) || strings.Contains(sources, strings.ReplaceAll(term, " ", ""))
	})
}

// termGuides returns the guides without the generated lists of names and messages.
func termGuides(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	paths, err := filepath.Glob("*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		if !slices.Contains([]string{"glossary.md", "api.md", "messages.md"}, path) {
			all.WriteString(read(t, path))
		}
	}
	return all.String()
}

// codeText returns the Go code, of which the terms are names and words of comments.
func codeText(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	for _, dir := range []string{"framework", "protocol", "transport"} {
		err := filepath.WalkDir(filepath.Join("..", dir), func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.IsDir() && entry.Name() == "node_modules" {
				return fs.SkipDir
			}
			if err == nil && !entry.IsDir() && strings.HasSuffix(path, ".go") {
				all.WriteString(read(t, path))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all.String()
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path) //nolint:gosec // a file of the repository
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// unused reports the terms of a table that used rejects.
func unused(t *testing.T, table string, used func(term string) bool) {
	t.Helper()
	rows := glossaryRow.FindAllStringSubmatch(table, -1)
	if len(rows) < 20 {
		t.Errorf("found %d terms", len(rows))
	}
	for _, row := range rows {
		for term := range strings.SplitSeq(brackets.ReplaceAllString(row[2], ""), ",") {
			if !used(strings.ToLower(strings.TrimSpace(term))) {
				t.Errorf("glossary.md explains %q, which is used nowhere", term)
			}
		}
	}
}
