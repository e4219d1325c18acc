package schema

import (
	"regexp"
	"strings"

	"github.com/kagami-mcp/kagami/framework/internal/binding/report"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// conditions returns a clause for each demand of a schema other than its type. The caller may have violated
// any of them.
func conditions(k Keywords) []string {
	var out []string
	if raw, ok := k.Get("not"); ok {
		out = append(out, notWords(Parse(raw)))
	}
	for raw := range jsontext.Elements(Value(k, "allOf")) {
		out = append(out, clause(k, raw))
	}
	if raw, ok := k.Get("anyOf"); ok && string(raw) != IPFormats {
		var options []string
		for option := range jsontext.Elements(raw) {
			options = append(options, clause(k, option))
		}
		out = append(out, strings.Join(options, " or "))
	}
	return out
}

// clause describes a schema that is a part of k, without repeating k: "text that ends with ..."
// becomes "that ends with ...".
func clause(k Keywords, part []byte) string {
	inner := Parse(part)
	if raw, ok := k.Get("type"); ok && !inner.Has("type") {
		inner.Set("type", raw)
	}
	var kind Keywords
	kind.Set("type", Value(inner, "type"))
	words := describeValue(inner)
	switch rest, is := strings.CutPrefix(words, headWords(kind)+" "); {
	case is:
		return rest
	case inner.Has("const"), len(ElementTexts(Value(inner, "enum"))) == 1:
		return "equal to " + words
	}
	return "that is " + words
}

// notWords returns the clause for excluded values.
func notWords(k Keywords) string {
	switch {
	case k.Has("const"):
		return "other than " + string(Value(k, "const"))
	case k.Has("enum"):
		return "other than " + strings.Join(report.Capped(ElementTexts(Value(k, "enum"))), ", ")
	case k.Has("pattern"):
		return patternClause(k.Text("pattern"), "that does not begin with ", "that does not end with ", "that does not contain ", "that does not match ")
	}
	return ""
}

// ElementTexts returns the elements of a list as JSON texts.
func ElementTexts(raw []byte) []string {
	var out []string
	for item := range jsontext.Elements(raw) {
		out = append(out, string(item))
	}
	return out
}

// patternWords describes the patterns that come from rules.
func patternWords(pattern string) string {
	for name, p := range Patterns {
		if p == pattern {
			if words, ok := patternNames[name]; ok {
				return words
			}
		}
	}
	return patternClause(pattern, "that begins with ", "that ends with ", "that contains ", "that matches ")
}

// patternClause describes a pattern. If the pattern is not a plain text, it returns matches and the pattern.
func patternClause(pattern, begins, ends, contains, matches string) string {
	text, plain := Literal(pattern)
	from, to := strings.HasPrefix(pattern, "^"), strings.HasSuffix(pattern, "$")
	switch quoted := report.QuoteShort(text); {
	case !plain, text == "", from && to:
		return matches + pattern
	case from:
		return begins + quoted
	case to:
		return ends + quoted
	default:
		return contains + quoted
	}
}

var escaped = regexp.MustCompile(`\\([\^$\\.*+?()\[\]{}|/])`)

// Literal returns the text of a pattern without its anchors, as in ^prefix and suffix$. It returns false if
// the pattern is not a plain text.
func Literal(pattern string) (string, bool) {
	text := strings.TrimSuffix(strings.TrimPrefix(pattern, "^"), "$")
	text = strings.ReplaceAll(text, `\x2d`, "-")
	plain := escaped.ReplaceAllString(text, "$1")
	return plain, regexp.QuoteMeta(plain) == strings.ReplaceAll(text, `\/`, "/")
}

var patternNames = map[string]string{
	"alpha": "of letters a-z only", "alphanum": "of letters a-z and digits only", "numeric": "that is a number",
	"number": "of digits only", "hexadecimal": "of hexadecimal digits", "alphaspace": "of letters a-z and spaces only",
	"alphanumspace": "of letters a-z, digits and spaces only", "semver": "that is a semantic version such as 1.2.3",
	"e164": "that is a phone number such as +4930123456", "hexcolor": "that is a color such as #ff8800",
}
