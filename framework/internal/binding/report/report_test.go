package report_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/framework/internal/binding/report"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

func ExampleInvalid() {
	err := &report.Invalid{
		Issues: []report.Issue{
			{Path: "/limit", Got: "0 (number)", Want: "a whole number of at least 1", Hint: "Default 10.", Rule: "min"},
			{Path: "/qurey", Hint: `Did you mean "query"?`, Rule: report.RuleUnknown},
			{Path: "/query", Want: "text", Rule: report.RuleRequired},
		},
		Total: 4, Try: `{"query":"text"}`, Examples: []string{"/query"},
	}
	fmt.Println(err.Text("search"))
	// Output:
	// search: 4 problems.
	// 1. /limit: got 0 (number). Want a whole number of at least 1. Default 10.
	// 2. /qurey: no such argument. Did you mean "query"?
	// 3. /query: missing. Want text.
	// And 1 more.
	// Examples, to be replaced: /query
	// Try: {"query":"text"}
}

// TestBounds checks that the text is short, counts all issues, and ends with the whole call, however many and
// long the issues are.
func TestBounds(t *testing.T) {
	t.Parallel()
	issues := make([]report.Issue, 100)
	for i := range issues {
		issues[i] = report.Issue{Path: "/a", Got: strings.Repeat("x", 500), Rule: report.RuleType}
	}
	err := report.NewInvalid(issues...)
	err.Try = `{"a":` + strings.Repeat("1", 1000) + `}`
	text := err.Error()
	if len(err.Issues) != report.MaxIssues || len(text) > 4<<10 || !strings.HasPrefix(text, "100 problems.\n1. /a: got x") || !strings.HasSuffix(text, " more.\nTry: "+err.Try) {
		t.Errorf("%d issues, %d bytes: %s", len(err.Issues), len(text), text)
	}
	if text := (&report.Invalid{Issues: issues[:1], Total: 1, Stopped: true}).Error(); !strings.HasPrefix(text, "At least 1 problem.\n") {
		t.Error(text)
	}
}

// TestWords checks that texts of callers are cut at a rune, are on one line, and have a word for their kind.
func TestWords(t *testing.T) {
	t.Parallel()
	for want, got := range map[string]string{
		"ab…":                       jsontext.Clip("abä", 3),
		"ab":                        jsontext.Clip("ab", 2),
		"a b":                       report.OneLine(" a\n\tb "),
		`{"a":1} (object)`:          report.GotWords([]byte(`{ "a" : 1 }`)),
		"null":                      report.GotWords([]byte("null")),
		`"\"x"`:                     report.QuoteShort(`"x`),
		"A. B.":                     report.JoinSentences("A.", "B."),
		"A.":                        report.Sentence("A"),
		"A!":                        report.Sentence("A!"),
		"A…":                        report.Sentence("A…"),
		"\u540d。":                   report.Sentence("\u540d。"),
		"B.":                        report.JoinSentences("", "B."),
		"/a/" + rep("k", 64) + "…":  report.ShortPath("/a/" + rep("k", 1000)),
		rep("a", 24) + "and 1 more": strings.Join(report.Capped(strings.Split(rep("a", 25), "")), ""),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func rep(s string, n int) string { return strings.Repeat(s, n) }

// TestFaults checks that a fault has the path of the current field, and that a warning alone is not a failure.
func TestFaults(t *testing.T) {
	t.Parallel()
	var f report.Faults
	f.At("In", func() {
		f.At("A", func() { f.Warn("it is vague", "Use a struct") })
		if f.Failed() {
			t.Error("a warning fails")
		}
		f.Fault("", "it is wrong", "Remove it")
	})
	if got := fmt.Sprint(f.List[0], "; ", f.List[1]); !f.Failed() || got != "In.A: it is vague. Use a struct; In: it is wrong. Remove it" {
		t.Error(got)
	}
}

// TestRecovered checks that a panic becomes an error with its stack, and that the text of the error is only
// the value.
func TestRecovered(t *testing.T) {
	t.Parallel()
	err := func() (err error) {
		defer report.Recovered(&err)
		panic("no")
	}()
	if p, ok := errors.AsType[*report.Panic](err); !ok || p.Error() != "panic: no" || !strings.Contains(string(p.Stack), "TestRecovered") {
		t.Error(err)
	}
}
