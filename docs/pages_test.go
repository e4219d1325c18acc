package docs_test

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var onePage = flag.String("page", "", "check only this page, as docs/tools.md")

// What a reader takes in at once, in words.
const (
	maxSentence  = 30
	maxParagraph = 80
)

var (
	inlineCode = regexp.MustCompile("`[^`]*`")
	link       = regexp.MustCompile(`!?\[([^\]]*)\](\([^)]*\)|\[[^\]]*\])?`)
	listItem   = regexp.MustCompile(`^\s*([-*]|\d+\.)\s+`)
	fullStop   = regexp.MustCompile(`[.!?]["')*]*\s+`)
)

// guideParts are the parts that each guide must have: a sentence about what the reader will have,
// and the next page.
var guideParts = map[string]*regexp.Regexp{
	"a sentence with \"After this page\" or \"At the end of this page\"": regexp.MustCompile(`(After|At the end of) this page`),
	"a line \"Next: [page](page.md)\"":                                   regexp.MustCompile(`(?m)(^|\. )Next: \[[^\]]+\]\([^)]+\)`),
}

// TestPages looks for long paragraphs, long sentences and the banned constructions in the guides.
func TestPages(t *testing.T) {
	t.Parallel()
	checked := 0
	for _, page := range pages(t) {
		name := filepath.ToSlash(strings.TrimPrefix(page, ".."+string(filepath.Separator)))
		if *onePage != "" && *onePage != name {
			continue
		}
		checked++
		source, err := os.ReadFile(page) //nolint:gosec // a page of the repository
		if err != nil {
			t.Fatal(err)
		}
		if filepath.Base(filepath.Dir(page)) == "docs" {
			for what, needed := range guideParts {
				if !needed.Match(source) {
					t.Errorf("%s: a guide needs %s", name, what)
				}
			}
		}
		for _, fault := range proseFaults(string(source)) {
			t.Errorf("%s: %s", name, fault)
		}
	}
	if checked == 0 && *onePage != "" {
		t.Fatalf("there is no page %s", *onePage)
	}
}

// pages returns the Markdown files that people read: the guides, the decisions and those at the top.
func pages(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, pattern := range []string{"../*.md", "*.md", "adr/*.md", "performance/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, page := range found {
			if !strings.HasPrefix(page, "..") {
				page = filepath.Join("..", "docs", page)
			}
			all = append(all, page)
		}
	}
	return all
}

// proseFaults returns what is wrong with the paragraphs of a page, each with its beginning.
func proseFaults(source string) []string {
	var faults []string
	fault := func(what, text string) {
		if len(text) > 100 {
			text = text[:100] + "…"
		}
		faults = append(faults, what+": "+text)
	}
	for _, paragraph := range paragraphs(source) {
		if words := len(strings.Fields(paragraph)); words > maxParagraph {
			fault("a long paragraph", paragraph)
		}
		for _, sentence := range fullStop.Split(paragraph, -1) {
			if words := len(strings.Fields(sentence)); words > maxSentence {
				fault("a long sentence", sentence)
			}
		}
		plain := paragraph
		for _, right := range accepted {
			plain = strings.ReplaceAll(plain, right, "")
		}
		if found := banned.FindString(plain); found != "" {
			fault("has "+found, paragraph)
		}
	}
	return faults
}

// paragraphs returns the running text of a page: each paragraph and each item of a list in one line,
// with code as one word and links as their text. Code blocks, tables, headings and HTML are left out.
func paragraphs(source string) []string {
	var all []string
	var current []string
	end := func() {
		if len(current) > 0 {
			text := strings.Join(current, " ")
			text = inlineCode.ReplaceAllString(text, "code")
			all = append(all, link.ReplaceAllString(text, "$1"))
		}
		current = nil
	}
	fenced := false
	for line := range strings.SplitSeq(source, "\n") {
		trimmed := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(trimmed, "```"):
			fenced = !fenced
			end()
		case fenced:
		case trimmed == "", strings.HasPrefix(trimmed, "#"), strings.HasPrefix(trimmed, "|"), strings.HasPrefix(trimmed, "<"):
			end()
		case listItem.MatchString(line):
			end()
			current = []string{listItem.ReplaceAllString(line, "")}
		default:
			current = append(current, trimmed)
		}
	}
	end()
	return all
}
