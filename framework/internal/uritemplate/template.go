package uritemplate

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
)

// Template is a parsed URI template. The zero Template is of no use; get one
// from [Parse]. It is immutable and safe for concurrent use.
type Template struct {
	raw      string
	parts    []part
	prefix   string         // literal bytes that every matching URI begins with
	pattern  *regexp.Regexp // of a whole URI, with one group a capture; nil where split does without
	captures []capture
}

// part is a literal, or an expression when it has variables.
type part struct {
	literal string
	op      byte // 0 for simple expansion
	vars    []variable
}

// variable is a varspec of RFC 6570 §2.3.
type variable struct {
	name    string
	max     int // characters of the prefix modifier, 0 for none
	explode bool
}

// operator is one column of the table in RFC 6570 appendix A.
type operator struct {
	first    string // before the first defined variable
	sep      string // between variables
	named    bool   // name=value
	ifEmpty  string // follows the name when the value is empty
	reserved bool   // reserved characters and escapes pass unencoded
}

// operators are those that RFC 6570 §2.2 defines, by their characters; 0 is simple expansion.
var operators = map[byte]operator{
	0:   {sep: ","},
	'+': {sep: ",", reserved: true},
	'#': {first: "#", sep: ",", reserved: true},
	'.': {first: ".", sep: "."},
	'/': {first: "/", sep: "/"},
	';': {first: ";", sep: ";", named: true},
	'?': {first: "?", sep: "&", named: true, ifEmpty: "="},
	'&': {first: "&", sep: "&", named: true, ifEmpty: "="},
}

// isQuery reports whether the expression takes its variables from a query.
func (p part) isQuery() bool { return p.op == '?' || p.op == '&' }

// String returns the template as it was parsed.
func (t *Template) String() string { return t.raw }

// Prefix returns what every URI of the template begins with, byte for byte: Match
// need not be called for others.
func (t *Template) Prefix() string { return t.prefix }

// Variables returns the names of the variables, each once, in the order of their
// first appearance. The slice is the caller's.
func (t *Template) Variables() []string {
	var names []string
	for _, p := range t.parts {
		for _, v := range p.vars {
			if !slices.Contains(names, v.name) {
				names = append(names, v.name)
			}
		}
	}
	return names
}

// Optional reports whether a URI can match without the variable. It can if the variable appears only in
// {?...} and {&...}. Optional returns true for unknown names.
func (t *Template) Optional(name string) bool {
	for _, p := range t.parts {
		if !p.isQuery() && slices.ContainsFunc(p.vars, func(v variable) bool { return v.name == name }) {
			return false
		}
	}
	return true
}

// AllowSlashes returns the template with variables whose values may have slashes, which Expand
// escapes. Match still refuses what could climb out of a directory.
func (t *Template) AllowSlashes(names ...string) *Template {
	wider := *t
	wider.captures = slices.Clone(t.captures)
	for i, c := range wider.captures {
		if c.query == nil && slices.Contains(names, c.name) {
			wider.captures[i].may = path
		}
	}
	return &wider
}

// Build is like Expand, but returns an error if Match would not give the same values for the URI.
func (t *Template) Build(values map[string]string) (string, error) {
	uri, err := t.Expand(values)
	if err != nil {
		return "", err
	}
	found, ok, err := t.Match(uri)
	switch {
	case err == nil && !ok:
		err = errors.New("the URI is not of the template")
	case err == nil && !maps.Equal(found, values):
		err = errors.New("the values would be read as others")
	}
	if err != nil {
		return "", fmt.Errorf("building a URI of %q: %w", t.raw, err)
	}
	return uri, nil
}

// Specificity orders templates that match the same URI: the greatest wins. More
// literal bytes are more specific; among equals a template whose variables stay
// within one path segment beats one whose variables take several.
func (t *Template) Specificity() int {
	const steps = 4
	literal, narrow := 0, steps-1
	for _, p := range t.parts {
		literal += len(p.literal)
		for _, v := range p.vars {
			switch {
			case operators[p.op].reserved:
				narrow = 0 // anything
			case p.op == '/' && v.explode:
				narrow = min(narrow, 1) // several segments
			default:
				narrow = min(narrow, 2) // within a segment
			}
		}
	}
	return literal*steps + narrow
}
