package record

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/kagami-mcp/kagami/framework/internal/secretname"
	"github.com/kagami-mcp/kagami/protocol"
)

// normal replaces secrets, and values that differ from run to run, in the frames of a session.
type normal struct {
	secret []string          // names of members, from Redact
	names  map[string]string // placeholders by value: "<taskId 1>", or Redacted
	last   map[string]int    // last number of a placeholder, by member
	long   []string          // values that are also replaced inside other texts, longest first
}

// newNormal collects the values to replace from all frames. A value may occur in a text before the
// member that identifies it.
func newNormal(secret []string, frames []Frame) *normal {
	n := &normal{secret: secret, names: make(map[string]string), last: make(map[string]int)}
	for _, f := range frames {
		if v, err := decodeAny(f.Text); err == nil {
			for _, called := range calledComponents(v) {
				delete(called, "name")
			}
			n.collect("", shown, v)
		}
	}
	for value, name := range maps.Clone(n.names) {
		if name == Redacted || len(value) >= shortestName {
			n.replaces(value, name)
		}
	}
	slices.SortFunc(n.long, func(a, b string) int { return len(b) - len(a) }) // a value may be a part of another one
	return n
}

// replaces adds a value to those that are replaced inside texts: as it is, and as it stands in JSON
// inside a text, or in JSON inside that.
func (n *normal) replaces(value, name string) {
	for range 3 {
		n.names[value] = name
		n.long = append(n.long, value)
		quoted := encodeAny(value)
		if value = quoted[1 : len(quoted)-1]; n.names[value] != "" {
			return
		}
	}
}

// frame returns the JSON of a frame with its placeholders. If the frame is not JSON, it returns a
// string.
func (n *normal) frame(text []byte) any {
	v, err := decodeAny(text)
	if err != nil {
		return n.part(string(text))
	}
	out := n.walk("", shown, v)
	before := calledComponents(v)
	for i, called := range calledComponents(out) {
		called["name"] = before[i]["name"]
	}
	return out
}

// calledComponents returns the objects in a frame that name the tools, prompts and arguments of its
// requests. Such a name is not a value of the app, and a server cannot serve the request without
// it.
func calledComponents(v any) (all []map[string]any) {
	batch, ok := v.([]any)
	if !ok {
		batch = []any{v}
	}
	for _, v := range batch {
		request, _ := v.(map[string]any)
		params, _ := request["params"].(map[string]any)
		named := []any{}
		switch request["method"] {
		case protocol.MethodCallTool, protocol.MethodGetPrompt:
			named = append(named, params)
		case protocol.MethodComplete:
			named = append(named, params["ref"], params["argument"])
		}
		for _, v := range named {
			if called, ok := v.(map[string]any); ok && called["name"] != nil {
				all = append(all, called)
			}
		}
	}
	return all
}

func decodeAny(text []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err = d.Decode(&v); err == nil && d.More() {
		err = fmt.Errorf("more than one JSON text: %s", text)
	}
	return v, err
}

// cover is the kind of values that are hidden.
type cover int

const (
	shown     cover = iota
	noStrings       // strings are hidden, because the name suggests a secret
	noValues        // strings and numbers are hidden, because Redact lists the name
	schema          // nothing is hidden, because names in a schema of a form or tool are not names of values
)

// under returns the cover of a member. outer is the cover of the value that contains it.
func (n *normal) under(outer cover, member string) cover {
	switch {
	case outer == schema || member == "inputSchema" || member == "outputSchema" || member == "requestedSchema":
		return schema
	case outer == noValues || slices.ContainsFunc(n.secret, func(s string) bool { return strings.EqualFold(s, member) }):
		return noValues
	case outer == noStrings || speaksOfSecrets(member):
		return noStrings
	}
	return shown
}

// collect adds placeholders for all values that vary or are hidden.
func (n *normal) collect(member string, c cover, v any) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			n.collect(member, c, e)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			n.collect(name, n.under(c, name), v[name])
		}
	case json.Number:
		if c.hides(v) {
			n.hide(v.String())
		}
	case string:
		switch inner, ok := jsonIn(v); {
		case v != "" && slices.Contains(Varying(), member):
			n.name(member, v)
		case c.hides(v):
			n.hide(v)
		case ok:
			n.collect(member, c, inner)
		}
	}
}

// jsonIn decodes a text that is a JSON object or array.
func jsonIn(text string) (v any, ok bool) {
	if begin := strings.TrimLeft(text, " \t\r\n"); !strings.HasPrefix(begin, "{") && !strings.HasPrefix(begin, "[") {
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
		n.names[value] = Redacted
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
			return Redacted
		}
	}
	return v
}

// text returns a string with its placeholders.
func (n *normal) text(member string, c cover, value string) string {
	switch member {
	case "method", "protocolVersion", "io.modelcontextprotocol/protocolVersion": // values that a server must understand
		return value
	}
	if name, ok := n.names[value]; ok {
		return name
	}
	if c.hides(value) {
		return Redacted
	}
	if _, ok := jsonIn(value); ok {
		value = n.inner(value)
	}
	return n.part(value)
}

// part replaces the values with placeholders, bearer tokens and times inside a text.
func (n *normal) part(value string) string {
	for _, long := range n.long {
		value = replaced(value, long, n.names[long])
	}
	return clock.ReplaceAllString(bearer.ReplaceAllString(value, Redacted), Sometime)
}

// replaced replaces a value in a text. Digits in the middle of a time are not replaced: they are
// there by chance, and the time itself is replaced in any case.
func replaced(text, value, name string) string {
	if !strings.Contains(text, value) {
		return text
	}
	times := clock.FindAllStringIndex(text, -1)
	var out strings.Builder
	for at := 0; ; {
		i := strings.Index(text[at:], value)
		if i < 0 {
			return out.String() + text[at:]
		}
		from, to := at+i, at+i+len(value)
		out.WriteString(text[at:from])
		if slices.ContainsFunc(times, func(t []int) bool { return t[0] <= from && to <= t[1] && to-from < t[1]-t[0] }) {
			out.WriteString(value)
		} else {
			out.WriteString(name)
		}
		at = to
	}
}

// inner replaces the hidden values in a text that is JSON. Such a text is, for example, a
// structured result on revisions that have none. Nothing else in the text changes.
func (n *normal) inner(text string) string {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var out strings.Builder
	var value func(c cover)
	// next copies the text before a token, and the token or its placeholder.
	next := func(hidden func(any) bool) json.Token {
		from := d.InputOffset()
		token, _ := d.Token() // it was decoded before
		raw := text[from:d.InputOffset()]
		if bare := strings.TrimLeft(raw, " \t\r\n,:"); hidden(token) {
			raw = strings.TrimSuffix(raw, bare) + encodeAny(Redacted)
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

// hides reports whether a value other than an object or array is hidden.
func (c cover) hides(value any) bool {
	switch value.(type) {
	case string:
		return c == noStrings || c == noValues
	case json.Number:
		return c == noValues
	}
	return false
}

// Only values of at least shortestName bytes, and secrets of at least shortestSecret bytes, are
// replaced inside other texts. Shorter values may occur there by chance.
const (
	shortestName   = 12
	shortestSecret = 4
)

// speaksOfSecrets reports whether logs hide the values of a member with this name. The
// progressToken, which every request has, is not a secret.
func speaksOfSecrets(member string) bool {
	return secretname.Is(member) && !strings.EqualFold(member, "progressToken")
}

// bearer matches a probable token: a text after the word "bearer", or a JWT.
var bearer = regexp.MustCompile(`(?i:\bbearer\s+)[\w.~+/=-]{8,}|\beyJ[\w-]{8,}\.[\w-]+\.[\w-]+`)

// clock matches a time (RFC 3339).
var clock = regexp.MustCompile(`\b\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)`)
