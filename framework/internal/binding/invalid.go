package binding

import (
	"fmt"
	"strings"

	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// Issue is one fault of a call. Texts name no Go types.
type Issue struct {
	Path string `json:"path"`           // JSON pointer; "" is the whole
	Got  string `json:"got,omitempty"`  // what was sent, in words
	Want string `json:"want,omitempty"` // what is wanted, in words
	Hint string `json:"hint,omitempty"` // more sentences: the default, the nearest name, the names there are
	Rule string `json:"rule"`           // one of the Rule constants, or the name of a validate tag
}

// Bounds of what a caller is told: enough to mend a call, not enough to be
// used as an amplifier.
const (
	maxIssues = 20
	maxText   = 4 << 10
)

// Invalid is the teaching error: all faults of a call at once, in the order of
// the caller's document, what is missing last.
type Invalid struct {
	Issues []Issue // at most 20
	Total  int     // faults there were
	Try    string  // a corrected call that passes, as JSON (of a template: a URI); "" if none is known

	// Examples are JSON pointers of values in Try that are no more than examples: the call did not say
	// what they should be.
	Examples []string

	// Panic is the first panic of the program's own methods while the values were read; nil: there
	// was none. It is not among the texts.
	Panic *Panic
}

// NewInvalid is an error for issues found elsewhere.
func NewInvalid(issues ...Issue) *Invalid {
	total := len(issues)
	return &Invalid{Issues: issues[:min(total, maxIssues)], Total: total}
}

// Error is the whole text, without the name of what was called.
func (e *Invalid) Error() string { return e.text("") }

// Text is the whole text for a call of name.
func (e *Invalid) Text(name string) string { return e.text(name + ": ") }

func (e *Invalid) text(prefix string) string {
	var out strings.Builder
	out.WriteString(prefix)
	if e.Total == 1 {
		out.WriteString("1 problem.")
	} else {
		fmt.Fprintf(&out, "%d problems.", e.Total)
	}
	shown := 0
	for i, issue := range e.Issues {
		line := fmt.Sprintf("\n%d. %s", i+1, issue)
		if out.Len()+len(line) > maxText-len(e.Try)-len(e.examples())-64 {
			break
		}
		out.WriteString(line)
		shown++
	}
	if rest := e.Total - shown; rest > 0 {
		fmt.Fprintf(&out, "\nAnd %d more.", rest)
	}
	if e.Try != "" {
		out.WriteString(e.examples() + "\nTry: " + e.Try)
	}
	return out.String()
}

// examples is the line that names the examples in Try; "" if there are none.
func (e *Invalid) examples() string {
	switch {
	case len(e.Examples) == 0:
		return ""
	case e.Examples[0] == "":
		return "\nWhat is not of your call is an example, to be replaced."
	}
	return "\nExamples, to be replaced: " + strings.Join(e.Examples, ", ")
}

// String is the issue as one line.
func (i Issue) String() string {
	var text string
	switch i.Rule {
	case ruleUnknown:
		text = "no such argument."
		if strings.Count(i.Path, "/") > 1 {
			text = "no such member."
		}
	case ruleRequired:
		text = "missing."
	case ruleDuplicate:
		text = "given twice."
		if i.Got != "" {
			text = "a name is given twice in it."
		}
	case rulePanic:
		text = "cannot be checked."
	default:
		if i.Got != "" {
			text = "got " + i.Got + "."
		}
	}
	if i.Want != "" {
		text = joinSentences(text, "Want "+strings.TrimSuffix(i.Want, ".")+".")
	}
	text = joinSentences(text, i.Hint)
	if i.Path != "" {
		return i.Path + ": " + text
	}
	return text
}

func joinSentences(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + " " + b
}

// gotWords is a value as it was sent, cut short, with its kind.
func gotWords(raw []byte) string {
	if kind, ok := kindNames[jsontext.KindOf(raw)]; ok {
		return shortJSON(raw) + " (" + kind + ")"
	}
	return shortJSON(raw) // null
}

var kindNames = map[jsontext.Kind]string{
	jsontext.KindString: "text", jsontext.KindNumber: "number", jsontext.KindBool: "bool", jsontext.KindArray: "list", jsontext.KindObject: "object",
}

// shortJSON is the beginning of a value without the space between its parts.
func shortJSON(raw []byte) string {
	const shown, read = 40, 400
	if len(raw) > read {
		return clip(oneLine(strings.ToValidUTF8(string(raw[:read]), "")), shown)
	}
	return clip(string(jsontext.Compact(nil, raw)), shown)
}

// shortPath cuts the names in a pointer that the caller chose, and the pointer.
func shortPath(path string) string {
	const name, whole = 64, 400
	if len(path) <= name {
		return path
	}
	parts := strings.Split(clip(path, 4*whole), "/")
	for i := range parts {
		parts[i] = clip(parts[i], name)
	}
	return clip(strings.Join(parts, "/"), whole)
}

// clip cuts s to about n bytes at a rune's boundary.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n] + "…"
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// quoteShort quotes a name from the caller's text.
func quoteShort(s string) string { return string(jsontext.Quote(nil, clip(s, 40))) }

// capped shows a long list of names by its beginning.
func capped(names []string) []string {
	const most = 24
	if len(names) <= most {
		return names
	}
	return append(names[:most:most], fmt.Sprintf("and %d more", len(names)-most))
}
