package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// codeOfPages has, for each page with Go blocks, the directories that the blocks are taken from.
var codeOfPages = map[string]string{
	"start.md": "code/start", "tools.md": "code/tools ../cmd/kagami/testdata/documented", "apps.md": "code/tools", "validation.md": "code/tools", "resources.md": "code/resources",
	"prompts.md": "code/prompts", "http.md": "code/http", "asking.md": "code/asking", "tasks.md": "code/tasks", "testing.md": "code/testing",
	"middleware.md": "code/middleware", "page.md": "../framework/serve/page", "auth.md": "code/auth", "authserver.md": "../middleware/authserver",
	"porting.md":   "code/porting code/proxy ../testkit/interop/ported",
	"extending.md": "../transport/stdio code/testing", "client.md": "code/client", "login.md": "../protocol/client/oauth", "files.md": "code/files", "fx.md": "code/fx", "../README.md": "../examples/hello",
}

// TestPagesShowCodeThatRuns holds each Go block of each guide against the code
// under docs/code and the rest of the repository that tests compile and run: a
// block must stand there verbatim, indentation aside.
func TestPagesShowCodeThatRuns(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range append(pages, "../README.md") {
		blocks := goBlocks(t, page)
		dir, known := codeOfPages[page]
		if len(blocks) > 0 && !known {
			t.Errorf("%s has Go blocks, but no directory that they come from: add it to this test", page)
			continue
		}
		code := normalize(goFiles(t, dir))
		for _, block := range blocks {
			if !strings.Contains(code, normalize(block)) {
				t.Errorf("%s shows code that is not in %s:\n%s", page, dir, block)
			}
		}
	}
}

// TestLineEnds: a checkout has LF on every system, also of a module of kagami new. The tests compare
// files with what the code writes.
func TestLineEnds(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"../.gitattributes", "../cmd/kagami/template/gitattributes.tmpl"} {
		text, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(text), "\n* text=auto eol=lf\n") {
			t.Errorf("%s: %v\n%s", path, err, text)
		}
	}
}

func goBlocks(t *testing.T, page string) []string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var blocks []string
	for _, part := range strings.Split(string(text), "```go\n")[1:] {
		block, _, closed := strings.Cut(part, "```")
		if !closed {
			t.Fatalf("%s: a block is not closed", page)
		}
		blocks = append(blocks, block)
	}
	return blocks
}

func goFiles(t *testing.T, dirs string) string {
	t.Helper()
	var files []string
	for dir := range strings.FieldsSeq(dirs) {
		found, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	var all strings.Builder
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	return all.String()
}

// normalize takes the indentation away.
func normalize(code string) string {
	lines := strings.Split(strings.TrimSpace(code), "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return strings.Join(lines, "\n")
}

// TestRulesNameTheirTests: each test that login.md names is there.
func TestRulesNameTheirTests(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("login.md")
	if err != nil {
		t.Fatal(err)
	}
	code := goFiles(t, "../protocol/client/oauth")
	names := regexp.MustCompile("`(Test[A-Za-z0-9_]+)`").FindAllSubmatch(page, -1)
	if len(names) < 15 {
		t.Errorf("%d tests are named", len(names))
	}
	for _, name := range names {
		if !strings.Contains(code, "func "+string(name[1])+"(") {
			t.Errorf("login.md names %s, which is not there", name[1])
		}
	}
}

// TestRulesNameTests: each test that auth-rules.md links to is in its file.
func TestRulesNameTests(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("auth-rules.md")
	if err != nil {
		t.Fatal(err)
	}
	links := regexp.MustCompile(`\[(Test\w+)\]\((\S+)\)`).FindAllSubmatch(page, -1)
	if len(links) < 80 {
		t.Errorf("%d links", len(links))
	}
	for _, link := range links {
		file, err := os.ReadFile(string(link[2]))
		if err != nil || !strings.Contains(string(file), "\nfunc "+string(link[1])+"(") {
			t.Errorf("%s is not in %s: %v", link[1], link[2], err)
		}
	}
}
