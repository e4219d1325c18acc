package report

import (
	"fmt"
	"strings"
)

// Rules of issues, for machines. A failed validate tag has its own name.
const (
	RuleType      = "type"      // wrong JSON type, or not readable as the Go type
	RuleRange     = "range"     // outside of the Go type's range
	RuleRequired  = "required"  // missing
	RuleUnknown   = "unknown"   // no such member
	RuleDuplicate = "duplicate" // given twice
	RuleEnum      = "enum"      // not one of the type's values
	RuleLength    = "length"    // wrong number of array items
	RuleSchema    = "schema"    // a keyword of a jsonschema tag or a raw schema
	RuleCustom    = "custom"    // the type's own Validate or Unmarshal method
	RulePanic     = "panic"     // a check could not be carried out on this value
)

// Issue is one fault of a call. Texts name no Go types.
type Issue struct {
	Path string `json:"path"`           // JSON pointer; "" is the whole
	Got  string `json:"got,omitempty"`  // what was sent, in words
	Want string `json:"want,omitempty"` // what is wanted, in words
	Hint string `json:"hint,omitempty"` // more sentences: the default, the nearest name, the names there are
	Rule string `json:"rule"`           // one of the Rule constants, or the name of a validate tag
}

// Bounds of an error text: enough to correct a call, and not enough to turn a small request into a large
// answer.
const (
	MaxIssues = 20
	maxText   = 4 << 10
)

// Invalid is the error of a refused call. It has all faults at once, in the order of
// the caller's document. Missing members come last.
type Invalid struct {
	Issues []Issue // at most 20
	Total  int     // faults that were found
	Try    string  // a corrected call that passes, as JSON (of a template: a URI); "" if none is known

	// Examples are JSON pointers of values in Try that are no more than examples: the call did not say
	// what they should be.
	Examples []string

	// Stopped says that reading stopped after the last fault: there may be more.
	Stopped bool

	// Cause is for the log, and not among the texts: the first *Panic of the program's own methods
	// while the values were read, or what its Validate keeps. It may be nil.
	Cause error
}

// NewInvalid is an error for issues found elsewhere.
func NewInvalid(issues ...Issue) *Invalid {
	total := len(issues)
	return &Invalid{Issues: issues[:min(total, MaxIssues)], Total: total}
}

// Error is the whole text, without the name of what was called.
func (e *Invalid) Error() string { return e.text("") }

// Text is the whole text for a call of name.
func (e *Invalid) Text(name string) string { return e.text(name + ": ") }

func (e *Invalid) text(prefix string) string {
	var out strings.Builder
	out.WriteString(prefix)
	if e.Stopped {
		out.WriteString("At least ")
	}
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
	switch rest := e.Total - shown; {
	case rest > 0 && e.Stopped:
		fmt.Fprintf(&out, "\nAnd at least %d more.", rest)
	case rest > 0:
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
	case RuleUnknown:
		text = "no such argument."
		if strings.Count(i.Path, "/") > 1 {
			text = "no such member."
		}
	case RuleRequired:
		text = "missing."
	case RuleDuplicate:
		text = "given twice."
		if i.Got != "" {
			text = "a name is given twice in it."
		}
	case RulePanic:
		text = "cannot be checked."
	default:
		if i.Got != "" {
			text = "got " + i.Got + "."
		}
	}
	if i.Want != "" {
		text = JoinSentences(text, "Want "+strings.TrimSuffix(i.Want, ".")+".")
	}
	text = JoinSentences(text, i.Hint)
	if i.Path != "" {
		return i.Path + ": " + text
	}
	return text
}
