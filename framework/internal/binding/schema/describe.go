package schema

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/kagami-mcp/kagami/framework/internal/binding/report"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// MemberWords describes the members of an object.
func MemberWords(names []string, some bool) string {
	if !some {
		return " without members"
	}
	return " with " + strings.Join(report.Capped(names), ", ")
}

// Describe returns what a schema wants, in words. It understands only keywords that this package writes. The
// description contains the rest.
func Describe(k Keywords) string {
	text := describeValue(k)
	if note := k.Text("description"); note != "" {
		first, _, _ := strings.Cut(note, " ")
		if (text == "text" || text == formatWords[k.Text("format")]) && (first == "A" || first == "An" || first == "The") {
			// The description of a type with a text form, or of a special format, is a name for the value.
			return strings.ToLower(note[:1]) + strings.TrimSuffix(note[1:], ".")
		}
		text += ". " + strings.TrimSuffix(note, ".")
	}
	return text
}

// describeValue is Describe without the description.
func describeValue(k Keywords) string {
	if raw, ok := k.Get("type"); ok && jsontext.KindOf(raw) == jsontext.KindArray {
		for first := range jsontext.Elements(raw) {
			inner := append(Keywords{}, k...)
			inner.Set("type", first)
			return describeValue(inner) + " or null"
		}
	}
	text := headWords(k)
	for i, condition := range conditions(k) {
		first, _, _ := strings.Cut(condition, " ") // such as "that" or "of"
		if i > 0 || strings.Contains(text, " "+first+" ") {
			text += " and"
		}
		text += " " + condition
	}
	if k.Text("type") == "array" && !k.Has("enum") && !k.Has("const") {
		text += itemWords(k)
	}
	return text
}

// headWords describes a value without its conditions.
func headWords(k Keywords) string {
	if raw, ok := k.Get("enum"); ok {
		items := report.Capped(ElementTexts(raw))
		if len(items) == 1 {
			return items[0]
		}
		return "one of " + strings.Join(items, ", ")
	}
	if raw, ok := k.Get("const"); ok {
		return string(raw)
	}
	switch k.Text("type") {
	case "integer":
		return "a whole number" + rangeWords(k)
	case "number":
		return "a number" + rangeWords(k)
	case "boolean":
		return "true or false"
	case "string":
		return stringWords(k)
	case "array":
		return "a list" + countWords(k, "minItems", "maxItems", "item")
	case "object":
		return "an object" + propertyWords(k)
	}
	if k.Has("$ref") {
		return "an object"
	}
	return AnyValue
}

// AnyValue describes a schema without demands.
const AnyValue = "any value"

func propertyWords(k Keywords) string {
	var names []string
	for key := range jsontext.Members(Value(k, "properties")) {
		names = append(names, key.String())
	}
	if len(names) > 0 {
		return MemberWords(names, true)
	}
	count, some := strings.CutPrefix(countWords(k, "minProperties", "maxProperties", "member"), " of ")
	if !some {
		return ""
	}
	return " with " + count
}

// rangeWords describes the range of a number. It leaves out bounds that are only the limits of a 64-bit type.
func rangeWords(k Keywords) string {
	low, hasLow := Bound(k, "minimum")
	high, hasHigh := Bound(k, "maximum")
	above, hasAbove := Bound(k, "exclusiveMinimum")
	below, hasBelow := Bound(k, "exclusiveMaximum")
	var parts []string
	switch {
	case hasLow && hasHigh:
		parts = append(parts, "from "+low+" to "+high)
	case hasLow:
		parts = append(parts, "of at least "+low)
	case hasHigh:
		parts = append(parts, "of at most "+high)
	}
	if hasAbove {
		parts = append(parts, "above "+above)
	}
	if hasBelow {
		parts = append(parts, "below "+below)
	}
	if step, ok := k.Get("multipleOf"); ok {
		parts = append(parts, "that is a multiple of "+string(step))
	}
	if len(parts) == 0 {
		return ""
	}
	return " " + strings.Join(parts, " and ")
}

// Bound returns the number of a keyword. It returns false if the keyword is absent, or if the number is only
// the limit of a 64-bit type.
func Bound(k Keywords, name string) (string, bool) {
	raw, ok := k.Get(name)
	if !ok {
		return "", false
	}
	if f, err := strconv.ParseFloat(string(raw), 64); err == nil && math.Abs(f) >= math.MaxInt64 {
		return "", false
	}
	return string(raw), true
}

var formatWords = map[string]string{
	"email": "an email address", "uri": "a URL", "uuid": "a UUID", "ipv4": "an IPv4 address", "ipv6": "an IPv6 address",
	"hostname": "a host name", "date": "a date such as 2026-01-31", "date-time": "a time such as 2026-01-31T15:04:05Z",
}

func stringWords(k Keywords) string {
	text := "text"
	if words, ok := formatWords[k.Text("format")]; ok {
		text = words
	}
	if k.Text("contentEncoding") == "base64" {
		text = "base64 text"
	}
	if string(Value(k, "anyOf")) == IPFormats && !k.Has("description") {
		text = "an IP address"
	}
	text += countWords(k, "minLength", "maxLength", "character")
	if pattern := k.Text("pattern"); pattern != "" && pattern != DurationPattern {
		text += " " + patternWords(pattern)
	}
	return text
}

func countWords(k Keywords, low, high, unit string) string {
	from, hasLow := k.Int(low)
	to, hasHigh := k.Int(high)
	switch {
	case hasLow && hasHigh && from == to:
		return fmt.Sprintf(" of exactly %s", plural(from, unit))
	case hasLow && hasHigh:
		return fmt.Sprintf(" of %d to %s", from, plural(to, unit))
	case hasLow:
		return " of at least " + plural(from, unit)
	case hasHigh:
		return " of at most " + plural(to, unit)
	}
	return ""
}

func plural(n int, unit string) string {
	if n == 1 {
		return "1 " + unit
	}
	return fmt.Sprintf("%d %ss", n, unit)
}

// itemWords describes the items of a list. The description follows the conditions of the list
// itself.
func itemWords(k Keywords) (text string) {
	if raw, ok := k.Get("items"); ok && string(raw) != "{}" {
		text += ", each " + Describe(Parse(raw))
	}
	if k.Has("uniqueItems") {
		text += ", all different"
	}
	return text
}
