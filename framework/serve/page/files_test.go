package page

import (
	"bytes"
	"io/fs"
	"path"
	"regexp"
	"strings"
	"testing"
)

// TestAssets keeps the budget of the page, and that it needs no network.
func TestAssets(t *testing.T) {
	t.Parallel()
	f := load()
	total := 0
	for _, text := range f.gzip {
		total += len(text)
	}
	t.Logf("%d files, %d bytes compressed", len(f.gzip), total)
	for name := range f.gzip {
		if types[path.Ext(name)] == "" {
			t.Errorf("%s has no media type", name)
		}
	}
	if total > 90<<10 {
		t.Errorf("the assets are %d bytes compressed, at most 90 KB are allowed", total)
	}
	elsewhere := regexp.MustCompile(`https?://[^\s"'` + "`" + `)]+`)
	err := fs.WalkDir(embedded, "assets", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := embedded.ReadFile(name)
		if err != nil || strings.HasPrefix(name, "assets/vendor/LICENSE") {
			return err
		}
		if lines := bytes.Count(text, []byte("\n")); lines > 400 && strings.HasSuffix(name, ".js") {
			t.Errorf("%s has %d lines, at most 400 are allowed", name, lines)
		}
		for _, found := range elsewhere.FindAllString(string(text), -1) {
			if !strings.HasPrefix(found, "http://www.w3.org/") { // names of XML
				t.Errorf("%s names %s", name, found)
			}
		}
		for _, forbidden := range []string{"innerHTML", "dangerouslySetInnerHTML", "eval(", "document.write", "style="} {
			if !strings.HasPrefix(name, "assets/vendor/") && bytes.Contains(text, []byte(forbidden)) {
				t.Errorf("%s has %s", name, forbidden)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
