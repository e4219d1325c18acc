package binding

import (
	"bytes"
	"regexp"
	"strings"

	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// conditions are clauses for what a schema demands besides a type: the caller may have broken
// any of them.
func conditions(k keywords) []string {
	var out []string
	if raw, ok := k.get("not"); ok {
		out = append(out, notWords(parseKeywords(raw)))
	}
	for raw := range jsontext.Elements(mustGet(k, "allOf")) {
		out = append(out, clause(k, raw))
	}
	if raw, ok := k.get("anyOf"); ok && string(raw) != ipFormats {
		var options []string
		for option := range jsontext.Elements(raw) {
			options = append(options, clause(k, option))
		}
		out = append(out, strings.Join(options, " or "))
	}
	return out
}

// clause words a schema that is a part of k, without repeating k: "text that ends with ..."
// becomes "that ends with ...".
func clause(k keywords, part []byte) string {
	inner := parseKeywords(part)
	if raw, ok := k.get("type"); ok && !inner.has("type") {
		inner.set("type", raw)
	}
	var kind keywords
	kind.set("type", mustGet(inner, "type"))
	words := describeValue(inner)
	switch rest, is := strings.CutPrefix(words, headWords(kind)+" "); {
	case is:
		return rest
	case inner.has("const"), len(elementTexts(mustGet(inner, "enum"))) == 1:
		return "equal to " + words
	}
	return "that is " + words
}

// notWords is the clause for values that are excluded.
func notWords(k keywords) string {
	switch {
	case k.has("const"):
		return "other than " + string(mustGet(k, "const"))
	case k.has("enum"):
		return "other than " + strings.Join(capped(elementTexts(mustGet(k, "enum"))), ", ")
	case k.has("pattern"):
		return patternClause(k.text("pattern"), "that does not begin with ", "that does not end with ", "that does not contain ", "that does not match ")
	}
	return ""
}

// elementTexts are the elements of a list as JSON.
func elementTexts(raw []byte) []string {
	var out []string
	for item := range jsontext.Elements(raw) {
		out = append(out, string(bytes.TrimSpace(item)))
	}
	return out
}

// patternWords explains the patterns that come from rules.
func patternWords(pattern string) string {
	for name, p := range patterns {
		if p == pattern {
			if words, ok := patternNames[name]; ok {
				return words
			}
		}
	}
	return patternClause(pattern, "that begins with ", "that ends with ", "that contains ", "that matches ")
}

// patternClause words a pattern for a plain text, or says matches and the pattern.
func patternClause(pattern, begins, ends, contains, matches string) string {
	text, plain := literal(pattern)
	from, to := strings.HasPrefix(pattern, "^"), strings.HasSuffix(pattern, "$")
	switch quoted := quoteShort(text); {
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

// literal is the text of a pattern that is only one: ^prefix, suffix$.
func literal(pattern string) (string, bool) {
	text := strings.TrimSuffix(strings.TrimPrefix(pattern, "^"), "$")
	text = strings.ReplaceAll(text, `\x2d`, "-")
	plain := escaped.ReplaceAllString(text, "$1")
	return plain, regexp.QuoteMeta(plain) == strings.ReplaceAll(text, `\/`, "/")
}

var patternNames = map[string]string{
	"alpha": "of letters a-z only", "alphanum": "of letters a-z and digits only", "numeric": "that is a number",
	"number": "of digits only", "hexadecimal": "of hexadecimal digits", "alphaspace": "of letters a-z and spaces only",
	"alphanumspace": "of letters a-z, digits and spaces only", "semver": "that is a semantic version such as 1.2.3",
	"e164": "that is a phone number such as +4930123456", "hexcolor": "that is a colour such as #ff8800",
}
