package binding

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// wanted says in words what n wants under rules c.
func (p *core) wanted(n node, c *constraints) string {
	if words := c.checkWords(); words != "" {
		return words
	}
	switch inner := bare(n).(type) {
	case *structNode:
		return "an object" + memberWords(inner.names(), len(inner.fields) > 0)
	case *unionNode:
		return inner.words()
	case *anyNode:
		if inner.t.NumMethod() > 0 { // of a result: arguments are refused at Build
			return "null: what stands behind " + inner.t.String() + " is known only to handles of an app with framework.OneOf"
		}
	case *arrayNode:
		return fmt.Sprintf("a list of exactly %d items", inner.t.Len())
	}
	k := p.words(n, c)
	if k.has("enum") { // the values say what the type is called
		k.unsay(p.words(n, nil).text("description"))
	}
	return describe(k)
}

// inWords is the description of a member for readers who see no schema: what it is, what
// is wanted where that is not any text, and the default.
func (p *core) inWords(f *field) string {
	if p.mode != Strings {
		return ""
	}
	var k keywords
	k.note(f.doc)
	if words := p.wanted(f.node, f.c); words != "text" {
		_, first := utf8.DecodeRuneInString(words)
		k.note(strings.ToUpper(words[:first]) + words[first:] + ".")
	}
	k.note(f.defaultWords())
	return k.text("description")
}

func memberWords(names []string, some bool) string {
	if !some {
		return " without members"
	}
	return " with " + strings.Join(capped(names), ", ")
}

// words renders the schema of a value for a text. It never touches the plan's
// own state, which is shared by concurrent calls.
func (s *schemer) words(n node, c *constraints) keywords {
	local := *s
	local.done = map[string][]byte{}
	local.size = 0
	return local.of(bare(n), c)
}

// words renders the schema of n with its rules, for a text. It is safe for concurrent use.
func (p *core) words(n node, c *constraints) keywords { return p.printer.words(n, c) }

// describe says in words what a schema wants. Only keywords that this package
// writes are known; the description carries the rest.
func describe(k keywords) string {
	text := describeValue(k)
	if note := k.text("description"); note != "" {
		first, _, _ := strings.Cut(note, " ")
		if (text == "text" || text == formatWords[k.text("format")]) && (first == "A" || first == "An" || first == "The") {
			// The description of a type with a text form is what to call it, as is what is special.
			return strings.ToLower(note[:1]) + strings.TrimSuffix(note[1:], ".")
		}
		text += ". " + strings.TrimSuffix(note, ".")
	}
	return text
}

// describeValue is describe without the description.
func describeValue(k keywords) string {
	if raw, ok := k.get("type"); ok && jsontext.KindOf(raw) == jsontext.KindArray {
		for first := range jsontext.Elements(raw) {
			inner := append(keywords{}, k...)
			inner.set("type", first)
			return describeValue(inner) + " or null"
		}
	}
	text := headWords(k)
	for i, condition := range conditions(k) {
		if i > 0 || strings.HasPrefix(condition, "that ") && strings.Contains(text, " that ") {
			text += " and"
		}
		text += " " + condition
	}
	return text
}

// headWords say what a value is, before its conditions.
func headWords(k keywords) string {
	if raw, ok := k.get("enum"); ok {
		items := capped(elementTexts(raw))
		if len(items) == 1 {
			return items[0]
		}
		return "one of " + strings.Join(items, ", ")
	}
	if raw, ok := k.get("const"); ok {
		return string(raw)
	}
	switch k.text("type") {
	case "integer":
		return "a whole number" + rangeWords(k)
	case "number":
		return "a number" + rangeWords(k)
	case "boolean":
		return "true or false"
	case "string":
		return stringWords(k)
	case "array":
		return arrayWords(k)
	case "object":
		return "an object" + propertyWords(k)
	}
	if k.has("$ref") {
		return "an object"
	}
	return anyValue
}

// anyValue are the words of a schema that says nothing.
const anyValue = "any value"

func propertyWords(k keywords) string {
	var names []string
	for key := range jsontext.Members(mustGet(k, "properties")) {
		names = append(names, key.String())
	}
	if len(names) > 0 {
		return memberWords(names, true)
	}
	count, some := strings.CutPrefix(countWords(k, "minProperties", "maxProperties", "member"), " of ")
	if !some {
		return ""
	}
	return " with " + count
}

// rangeWords leaves out bounds that are only those of the Go type, where these
// are larger than anybody means.
func rangeWords(k keywords) string {
	low, hasLow := bound(k, "minimum")
	high, hasHigh := bound(k, "maximum")
	above, hasAbove := bound(k, "exclusiveMinimum")
	below, hasBelow := bound(k, "exclusiveMaximum")
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
	if step, ok := k.get("multipleOf"); ok {
		parts = append(parts, "that is a multiple of "+string(step))
	}
	if len(parts) == 0 {
		return ""
	}
	return " " + strings.Join(parts, " and ")
}

func bound(k keywords, name string) (string, bool) {
	raw, ok := k.get(name)
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

func stringWords(k keywords) string {
	text := "text"
	if words, ok := formatWords[k.text("format")]; ok {
		text = words
	}
	if k.text("contentEncoding") == "base64" {
		text = "base64 text"
	}
	if string(mustGet(k, "anyOf")) == ipFormats && !k.has("description") {
		text = "an IP address"
	}
	text += countWords(k, "minLength", "maxLength", "character")
	if pattern := k.text("pattern"); pattern != "" && pattern != durationPattern {
		text += " " + patternWords(pattern)
	}
	return text
}

func countWords(k keywords, low, high, unit string) string {
	lowRaw, hasLow := k.get(low)
	highRaw, hasHigh := k.get(high)
	from, _ := jsontext.Int64(lowRaw)
	to, _ := jsontext.Int64(highRaw)
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

func plural(n int64, unit string) string {
	if n == 1 {
		return "1 " + unit
	}
	return fmt.Sprintf("%d %ss", n, unit)
}

func arrayWords(k keywords) string {
	text := "a list" + countWords(k, "minItems", "maxItems", "item")
	if raw, ok := k.get("items"); ok && string(raw) != "{}" {
		text += ", each " + describe(parseKeywords(raw))
	}
	if k.has("uniqueItems") {
		text += ", all different"
	}
	return text
}
