package main

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/kagami-mcp/kagami/framework/serve/surface"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// toolArguments returns the arguments object of a call. args are one JSON object, or key=value
// pairs whose values get the types of the schema. A value that does not fit is sent as text,
// because the server gives the best error for it.
//
// The argument "-" and the value "@-" stand for the content of in. "@FILE" stands for the content
// of a file.
func toolArguments(inputSchema json.RawMessage, args []string, in io.Reader) (json.RawMessage, error) {
	if len(args) == 1 && (args[0] == "-" || strings.HasPrefix(args[0], "@")) {
		whole, err := contents(strings.TrimPrefix(args[0], "@"), in)
		if err != nil {
			return nil, err
		}
		args = []string{string(jsontext.TrimBOM(whole))}
		if !strings.HasPrefix(strings.TrimSpace(args[0]), "{") {
			return nil, errors.New("want one JSON object")
		}
	}
	if len(args) == 1 && strings.HasPrefix(strings.TrimSpace(args[0]), "{") {
		if !json.Valid([]byte(args[0])) {
			return nil, notObject(args[0])
		}
		return json.RawMessage(args[0]), nil
	}
	schema, err := surface.ParseSchema(inputSchema)
	if err != nil { // the tool can still be called if its schema is invalid
		schema = &surface.Schema{}
	}
	root := &node{in: in}
	for _, arg := range args {
		key, value, ok := strings.Cut(arg, "=")
		if !ok || key == "" {
			return nil, fmt.Errorf("want key=value or one JSON object, got %q", arg)
		}
		root.put(schema, key, value)
	}
	if len(args) == 0 {
		return json.RawMessage("{}"), nil
	}
	return root.encode(schema, "")
}

func notObject(text string) error {
	if strings.Contains(text, `"`) {
		return errors.New("the argument is not a valid JSON object")
	}
	return errors.New("the argument is not a valid JSON object; the shell may have removed its quotes: give key=value or @FILE")
}

// promptArguments returns the arguments of a prompt. MCP sends them as strings, so no value is
// converted.
func promptArguments(args []string, in io.Reader) (map[string]string, error) {
	values := make(map[string]string, len(args))
	for _, arg := range args {
		key, value, ok := strings.Cut(arg, "=")
		if !ok || key == "" {
			return nil, fmt.Errorf("want key=value, got %q", arg)
		}
		if _, twice := values[key]; twice {
			return nil, fmt.Errorf("%s is given twice", key)
		}
		text, err := given(&surface.Schema{}, value, in)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		values[key] = text
	}
	return values, nil
}

// node is a value on the command line. It has texts, or members that were given with dotted keys.
type node struct {
	texts   []string
	names   []string // names of the members, in order
	members []*node
	in      io.Reader // for "@-"
}

// put stores a value under key. A dot separates the names of nested members. It does not if the
// schema has a member with exactly this name, or wants no object there.
func (n *node) put(s *surface.Schema, key, value string) {
	head, rest, dotted := strings.Cut(key, ".")
	if dotted && head != "" && rest != "" && !slices.Contains(s.Names(), key) {
		if inner, _ := s.Property(head); inner.Resolve().Allows("object") {
			n.member(head).put(inner.Resolve(), rest, value)
			return
		}
	}
	m := n.member(key)
	m.texts = append(m.texts, value)
}

func (n *node) member(name string) *node {
	if i := slices.Index(n.names, name); i >= 0 {
		return n.members[i]
	}
	m := &node{in: n.in}
	n.names, n.members = append(n.names, name), append(n.members, m)
	return m
}

// encode returns the value as JSON. path is the value's position, for errors.
func (n *node) encode(s *surface.Schema, path string) (json.RawMessage, error) {
	s = s.Resolve()
	switch err := n.fetch(s); {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", path, err)
	case len(n.members) > 0 && len(n.texts) > 0:
		return nil, fmt.Errorf("%s is given both as a whole and by its members", path)
	case len(n.members) > 0:
		return n.encodeObject(s, path)
	case len(n.texts) == 1:
		return coerce(s, n.texts[0], path)
	case !s.Allows("array"):
		return nil, fmt.Errorf("%s is given %d times", path, len(n.texts))
	}
	return encodeList(itemsOf(s), n.texts, path)
}

// fetch replaces "@FILE" and "@-" by the contents that they stand for.
func (n *node) fetch(s *surface.Schema) error {
	if items := itemsOf(s); len(n.texts) > 1 && items != nil {
		s = items.Resolve()
	}
	for i := range n.texts {
		text, err := given(s, n.texts[i], n.in)
		if err != nil {
			return err
		}
		n.texts[i] = text
	}
	return nil
}

// given returns the value that a text of the command line stands for. If the schema wants base64,
// bytes are encoded.
func given(s *surface.Schema, text string, in io.Reader) (string, error) {
	name, isFile := strings.CutPrefix(text, "@")
	if !isFile || strings.HasPrefix(name, "@") {
		return name, nil
	}
	raw, err := contents(name, in)
	switch {
	case err != nil:
		return "", fmt.Errorf("%w (for a text that begins with @, write @@)", err)
	case wantsBytes(s) && (!takesText(s) || !utf8.Valid(raw)):
		return base64.StdEncoding.EncodeToString(raw), nil
	case !utf8.Valid(raw):
		return "", fmt.Errorf("%s is not UTF-8 text", name)
	}
	return string(jsontext.TrimBOM(raw)), nil
}

// contents reads a file, or all of in if the name is "-".
func contents(name string, in io.Reader) ([]byte, error) {
	if name != "-" {
		return os.ReadFile(name)
	}
	if in == nil {
		return nil, nil
	}
	return io.ReadAll(in)
}

func (n *node) encodeObject(s *surface.Schema, path string) (json.RawMessage, error) {
	out := []byte{'{'}
	for i, name := range n.names {
		if i > 0 {
			out = append(out, ',')
		}
		inner, _ := s.Property(name)
		value, err := n.members[i].encode(inner, strings.TrimPrefix(path+"."+name, "."))
		if err != nil {
			return nil, err
		}
		out = append(append(append(out, jsontext.Quote(nil, name)...), ':'), value...)
	}
	return append(out, '}'), nil
}

// itemsOf returns the schema of a list's items, also if the list is one of several alternatives, such as a
// list or null.
func itemsOf(s *surface.Schema) *surface.Schema {
	for _, one := range alternatives(s) {
		if one.Items != nil {
			return one.Items
		}
	}
	return nil
}

// alternatives returns a schema and its direct alternatives, without references.
func alternatives(s *surface.Schema) []*surface.Schema {
	all := slices.Concat([]*surface.Schema{s}, s.AnyOf, s.OneOf)
	for i := range all {
		all[i] = all[i].Resolve()
	}
	return all
}

// wantsBytes reports whether a text, or the items of a list, are bytes in base64.
func wantsBytes(s *surface.Schema) bool {
	all := append(alternatives(s), itemsOf(s).Resolve())
	return slices.ContainsFunc(all, func(one *surface.Schema) bool { return one.Encoding == "base64" })
}

// takesText reports whether a text without an encoding is one of the alternatives.
func takesText(s *surface.Schema) bool {
	return slices.ContainsFunc(alternatives(s), func(one *surface.Schema) bool {
		return one.Encoding == "" && slices.Contains(one.Types, "string")
	})
}

func encodeList(items *surface.Schema, texts []string, path string) (json.RawMessage, error) {
	out := []byte{'['}
	for i, text := range texts {
		if i > 0 {
			out = append(out, ',')
		}
		value, err := coerce(items, text, fmt.Sprintf("%s[%d]", path, i))
		if err != nil {
			return nil, err
		}
		out = append(out, value...)
	}
	return append(out, ']'), nil
}

// coerce converts a text to the type that the schema wants. If the schema allows several types,
// coerce prefers a type other than string if the text is JSON of that type.
func coerce(s *surface.Schema, text, path string) (json.RawMessage, error) {
	s = s.Resolve()
	if member, ok := enumMember(s, text); ok {
		return member, nil
	}
	kind := jsonKind(text)
	if kind != "" && kind != "string" && s.Allows(kind) {
		return json.RawMessage(strings.TrimSpace(text)), nil
	}
	switch {
	case s.Allows("string"):
		return jsontext.Quote(nil, text), nil
	case s.Allows("array"):
		return coerceList(s, text, kind, path)
	case s.Allows("object"):
		return nil, fmt.Errorf("%s wants a JSON object or dotted keys (%s.name=value)", path, path)
	}
	return jsontext.Quote(nil, text), nil
}

// coerceList converts a text to a list. The items are the parts between commas, or one object.
func coerceList(s *surface.Schema, text, kind, path string) (json.RawMessage, error) {
	if strings.TrimSpace(text) == "" {
		return json.RawMessage("[]"), nil
	}
	if kind == "object" {
		return encodeList(itemsOf(s), []string{text}, path)
	}
	parts := strings.Split(text, ",")
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	return encodeList(itemsOf(s), parts, path)
}

func enumMember(s *surface.Schema, text string) (json.RawMessage, bool) {
	for _, member := range s.Enum {
		var plain string
		if string(member) == text || json.Unmarshal(member, &plain) == nil && plain == text {
			return member, true
		}
	}
	return nil, false
}

// jsonKind returns the JSON type of a text, or "" if the text is not JSON. A number without a
// fraction and an exponent is an "integer".
func jsonKind(text string) string {
	text = strings.TrimSpace(text)
	if text == "" || !json.Valid([]byte(text)) {
		return ""
	}
	switch text[0] {
	case '{':
		return "object"
	case '[':
		return "array"
	case '"':
		return "string"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	}
	if strings.ContainsAny(text, ".eE") {
		return "number"
	}
	return "integer"
}
