package testkit

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/kagami-mcp/kagami/framework/serve/surface"
)

// exampleDepth is the depth that an example contains optional members down to.
const exampleDepth = 4

// example returns a value that fits a schema as far as the schema expresses its rules. It may
// break rules that the schema states in words, or not at all.
func example(s *surface.Schema, depth int) any {
	s = s.Resolve()
	if s.Default != nil {
		return decoded(s.Default)
	}
	if s.Const != nil {
		return decoded(s.Const)
	}
	if shown := slices.Concat(s.Enum, s.Examples); len(shown) > 0 {
		return decoded(shown[0])
	}
	for _, branch := range slices.Concat(s.OneOf, s.AnyOf) {
		if r := branch.Resolve(); !slices.Equal(r.Types, surface.Types{"null"}) && depth > 0 {
			return merged(s, example(branch, depth-1), depth)
		}
	}
	switch typeOf(s) {
	case "object":
		return exampleObject(s, depth)
	case "array":
		return exampleArray(s, depth)
	case "integer", "number":
		return exampleNumber(s)
	case "boolean":
		return true
	case "null":
		return nil
	}
	return exampleText(s)
}

// merged adds the members that a schema has next to its alternatives.
func merged(s *surface.Schema, value any, depth int) any {
	o, ok := value.(map[string]any)
	if !ok {
		return value
	}
	maps.Copy(o, exampleObject(s, depth))
	return o
}

func decoded(raw json.RawMessage) any {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return nil
	}
	return v
}

// typeOf returns the first type that is not null.
func typeOf(s *surface.Schema) string {
	for _, t := range s.AllTypes() {
		if t != "null" {
			return t
		}
	}
	if len(s.Properties) > 0 {
		return "object"
	}
	return strings.Join(s.Types, "")
}

// exampleObject has all members while depth is positive, and below that the required ones.
func exampleObject(s *surface.Schema, depth int) map[string]any {
	o := map[string]any{}
	for _, p := range s.Properties {
		if required := slices.Contains(s.Required, p.Name); depth > 0 || required && depth > -exampleDepth {
			o[p.Name] = example(p.Schema, depth-1)
		}
	}
	return o
}

func exampleArray(s *surface.Schema, depth int) []any {
	n := 1
	if least, err := strconv.Atoi(string(s.MinItems)); err == nil {
		n = min(max(least, 1), 100)
	}
	if most, err := strconv.Atoi(string(s.MaxItems)); err == nil {
		n = min(n, most)
	}
	if depth <= 0 && s.MinItems == "" {
		n = 0
	}
	items := make([]any, n)
	for i := range items {
		items[i] = example(s.Items, depth-1)
	}
	return items
}

// exampleNumber returns the first of some likely numbers that fits.
func exampleNumber(s *surface.Schema) json.Number {
	for _, n := range []json.Number{"1", s.Minimum, s.Maximum, next(s.Above, 1), next(s.Below, -1), "0.5"} {
		if n != "" && withinBounds(s, n) && (s.Allows("number") || !strings.ContainsAny(string(n), ".eE")) {
			return n
		}
	}
	return "1"
}

func next(n json.Number, step float64) json.Number {
	f, err := n.Float64()
	if err != nil {
		return ""
	}
	return json.Number(strconv.FormatFloat(f+step, 'f', -1, 64))
}

func withinBounds(s *surface.Schema, n json.Number) bool {
	v, err := n.Float64()
	if err != nil {
		return false
	}
	holds := func(bound json.Number, ok func(b float64) bool) bool {
		b, err := bound.Float64()
		return err != nil || ok(b)
	}
	return holds(s.Minimum, func(b float64) bool { return v >= b }) && holds(s.Maximum, func(b float64) bool { return v <= b }) &&
		holds(s.Above, func(b float64) bool { return v > b }) && holds(s.Below, func(b float64) bool { return v < b })
}

// formats returns an example for each format.
func formats() map[string]string {
	return map[string]string{
		"date-time": "2026-07-28T12:00:00Z", "date": "2026-07-28", "time": "12:00:00Z", "duration": "PT1H",
		"email": "ada@example.com", "uri": "https://example.com/", "uri-reference": "/a", "hostname": "example.com",
		"ipv4": "192.0.2.1", "ipv6": "2001:db8::1", "uuid": "123e4567-e89b-42d3-a456-426614174000",
	}
}

func exampleText(s *surface.Schema) string {
	if text, ok := formats()[s.Format]; ok {
		return text
	}
	if text, ok := matching(s); ok {
		return text
	}
	text := "text"
	if least, err := strconv.Atoi(string(s.MinLength)); err == nil && least > len(text) {
		text += strings.Repeat("x", min(least, 1<<16)-len(text))
	}
	if most, err := strconv.Atoi(string(s.MaxLength)); err == nil && most < len(text) {
		text = text[:max(most, 0)]
	}
	return text
}

// likely returns texts that often satisfy rules which a schema states in words, or by a
// pattern.
func likely() []string {
	return []string{
		"1", "12345", "1h", "90s", "24h", "a", "A", "abc", "ABC", "a1", "123e4567-e89b-42d3-a456-426614174000", "2026-07-28", "2026-07-28T12:00:00Z",
		"12:00", "https://example.com/", "ada@example.com", "example.com", "example.com:443", "192.0.2.1", "2001:db8::1", "10.0.0.0/8", "+491701234567",
		"DE", "DEU", "EUR", "en", "en-US", "Europe/Berlin", "1.2.3", "#aabbcc", "dGV4dA==", "52.5", "/a", "{}", "00:00:5e:00:53:01", "a.txt",
	}
}

// mended returns the call with likely texts where the issues are.
func (j *judge) mended(call json.RawMessage, issues []issue) json.RawMessage {
	for _, i := range issues {
		for _, text := range likely() {
			attempt, ok := withText(call, i.Path, text)
			if !ok {
				break
			}
			blames := func(other issue) bool { return other.Path == i.Path }
			if err := j.check(attempt); err == nil || !slices.ContainsFunc(issuesOf(err), blames) {
				call = attempt
				break
			}
		}
	}
	return call
}

// withText replaces the text at a pointer. It returns false if there is none.
func withText(call json.RawMessage, pointer, text string) (json.RawMessage, bool) {
	root := decoded(call)
	at, found := root, false
	set := func(any) {}
	for step := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		step = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
		switch o := at.(type) {
		case map[string]any:
			at, found = o[step]
			set = func(v any) { o[step] = v }
		case []any:
			i, err := strconv.Atoi(step)
			if found = err == nil && 0 <= i && i < len(o); found {
				at = o[i]
				set = func(v any) { o[i] = v }
			}
		default:
			found = false
		}
	}
	if _, isText := at.(string); !isText || !found {
		return nil, false
	}
	set(text)
	return encodeValue(root), true
}
