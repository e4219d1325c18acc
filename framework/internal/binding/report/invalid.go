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
	Path string `json:"path"`           // JSON pointer; "" for the whole value
	Got  string `json:"got,omitempty"`  // what was sent, in words
	Want string `json:"want,omitempty"` // what is wanted, in words
	Hint string `json:"hint,omitempty"` // more sentences: the default, the nearest name, the existing names
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
	Try    string  // a corrected call that passes, as JSON, or as a URI for a template; may be ""

	// Examples are JSON pointers of values in Try that are only examples: the call does not show which values the
	// caller wants.
	Examples []string

	// Stopped reports that reading stopped after the last fault, so there may be more faults.
	Stopped bool

	// Cause is only for the log: the first *Panic of the program's own methods while the values were read, or the
	// causes of the errors that its Validate returned. It may be nil.
	Cause error
}

// NewInvalid returns an error for issues found elsewhere.
func NewInvalid(issues ...Issue) *Invalid {
	total := len(issues)
	return &Invalid{Issues: issues[:min(total, MaxIssues)], Total: total}
}

// Error returns the whole text, without the name of the called component.
func (e *Invalid) Error() string { return e.text("") }

// Text returns the whole text for a call of name.
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

// examples returns the line that names the examples in Try. If there are no examples, it returns "".
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
