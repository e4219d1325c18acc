package testkit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/kagami-mcp/kagami/framework"
)

// What stands in a record for what must not, or cannot, be there.
const (
	redacted = "<redacted>"
	sometime = "<time>"
)

// normal makes frames the same in each run.
type normal struct {
	secret []string
	names  map[string]string // by value: "<taskId 1>", or redacted
	last   map[string]int    // by member: the last number that was given
	long   []string          // the values that have their name in other texts, too, the longest first
}

// newNormal knows what all frames of a session name and hide: a text may come before the
// member that says what it is.
func newNormal(secret []string, frames []frame) *normal {
	n := &normal{secret: secret, names: make(map[string]string), last: make(map[string]int)}
	for _, f := range frames {
		if v, err := decodeAny(f.text); err == nil {
			n.collect("", shown, v)
		}
	}
	for value, name := range n.names {
		if name == redacted || len(value) >= shortestName {
			n.long = append(n.long, value)
		}
	}
	slices.SortFunc(n.long, func(a, b string) int { return len(b) - len(a) }) // one may be a part of another
	return n
}

// frame is its JSON with names for what varies, or a string.
func (n *normal) frame(text []byte) any {
	v, err := decodeAny(text)
	if err != nil {
		return n.part(string(text))
	}
	return n.walk("", shown, v)
}

func decodeAny(text []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err = d.Decode(&v); err == nil && d.More() {
		err = fmt.Errorf("more than one JSON text: %s", text)
	}
	return v, err
}

// cover is what is hidden of a value.
type cover int

const (
	shown     cover = iota
	noStrings       // under a name that speaks of secrets
	noValues        // under one of Redact: numbers neither
	schema          // of a form or a tool: its names are no reason to hide what is under them
)

// under is the cover of a member, given that of what it is in.
func (n *normal) under(outer cover, member string) cover {
	switch {
	case outer == schema || member == "inputSchema" || member == "outputSchema" || member == "requestedSchema":
		return schema
	case outer == noValues || n.asked(member):
		return noValues
	case outer == noStrings || speaksOfSecrets(member):
		return noStrings
	}
	return shown
}

// varies says whether a member is another in each run.
func varies(member string) bool { return slices.Contains(varying(), member) }

func varying() []string { return []string{"taskId", "requestState", "elicitationId", "sessionId"} }

// collect names what varies or is hidden, so that it has its name wherever it is.
func (n *normal) collect(member string, c cover, v any) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			n.collect(member, c, e)
		}
	case map[string]any:
		for _, name := range sortedKeys(v) {
			n.collect(name, n.under(c, name), v[name])
		}
	case json.Number:
		if c.hides(v) {
			n.hide(v.String())
		}
	case string:
		switch inner, ok := jsonIn(v); {
		case v != "" && varies(member):
			n.name(member, v)
		case c.hides(v):
			n.hide(v)
		case ok:
			n.collect(member, c, inner)
		}
	}
}

// jsonIn is the object or list that a text is.
func jsonIn(text string) (v any, ok bool) {
	if !strings.HasPrefix(text, "{") && !strings.HasPrefix(text, "[") {
		return nil, false
	}
	v, err := decodeAny([]byte(text))
	return v, err == nil
}

func (n *normal) name(member, value string) {
	if _, known := n.names[value]; known {
		return
	}
	n.last[member]++
	n.names[value] = fmt.Sprintf("<%s %d>", member, n.last[member])
}

func (n *normal) hide(value string) {
	if len(value) >= shortestSecret {
		n.names[value] = redacted
	}
}

func (n *normal) walk(member string, c cover, v any) any {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = n.walk(member, c, e)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, e := range v {
			out[name] = n.walk(name, n.under(c, name), e)
		}
		return out
	case string:
		return n.text(member, c, v)
	case json.Number:
		if c.hides(v) {
			return redacted
		}
	}
	return v
}

// text is a string as it may be kept.
func (n *normal) text(member string, c cover, value string) string {
	if member == "method" {
		return value
	}
	if name, ok := n.names[value]; ok {
		return name
	}
	if c.hides(value) {
		return redacted
	}
	if _, ok := jsonIn(value); ok {
		value = n.inner(value)
	}
	return n.part(value)
}

// part is a text without what is named or hidden elsewhere, tokens and times.
func (n *normal) part(value string) string {
	for _, long := range n.long {
		value = strings.ReplaceAll(value, long, n.names[long])
	}
	return clock().ReplaceAllString(bearer().ReplaceAllString(value, redacted), sometime)
}

// inner is JSON that is a text, such as the structured result of a tool at revisions that
// have none, without the values that are hidden. Nothing else of the text changes.
func (n *normal) inner(text string) string {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var out strings.Builder
	var value func(c cover)
	// next copies what is before a token, and the token or what stands for it.
	next := func(hidden func(any) bool) json.Token {
		from := d.InputOffset()
		token, _ := d.Token() // it was decoded before
		raw := text[from:d.InputOffset()]
		if bare := strings.TrimLeft(raw, " \t\r\n,:"); hidden(token) {
			raw = strings.TrimSuffix(raw, bare) + encodeAny(redacted)
		}
		out.WriteString(raw)
		return token
	}
	plain := func(any) bool { return false }
	value = func(c cover) {
		switch token := next(c.hides); token {
		case json.Delim('{'):
			for d.More() {
				name, _ := next(plain).(string)
				value(n.under(c, name))
			}
			next(plain)
		case json.Delim('['):
			for d.More() {
				value(c)
			}
			next(plain)
		}
	}
	value(shown)
	return out.String() + text[d.InputOffset():]
}

// hides says whether a value is hidden that is no object or list.
func (c cover) hides(value any) bool {
	switch value.(type) {
	case string:
		return c == noStrings || c == noValues
	case json.Number:
		return c == noValues
	}
	return false
}

// shortestName is how long a value is at least that has its name also as a part of
// another, and shortestSecret one that is redacted there: shorter ones are there by
// chance.
const (
	shortestName   = 12
	shortestSecret = 4
)

// speaksOfSecrets is the judgement of logs, but for what each request has.
func speaksOfSecrets(member string) bool {
	return framework.SecretName(member) && !strings.EqualFold(member, "progressToken")
}

// asked says whether Redact has the name.
func (n *normal) asked(member string) bool {
	return slices.ContainsFunc(n.secret, func(s string) bool { return strings.EqualFold(s, member) })
}

// bearer is what looks like a token wherever it is: after the word, or a JWT.
func bearer() *regexp.Regexp {
	return regexp.MustCompile(`(?i:\bbearer\s+)[\w.~+/=-]{8,}|\beyJ[\w-]{8,}\.[\w-]+\.[\w-]+`)
}

// clock is a time (RFC 3339).
func clock() *regexp.Regexp {
	return regexp.MustCompile(`\b\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)`)
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
