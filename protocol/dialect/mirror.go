package dialect

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// MirrorPrefix is the prefix of headers that repeat an argument.
const MirrorPrefix = "Mcp-Param-"

// Mirror is one argument of a tool that HTTP requests repeat in a header, for proxies that route
// without reading bodies (2026-07-28 basic/transports/streamable-http "Custom Headers from Tool
// Parameters"). Mirrors are immutable.
type Mirror struct {
	Header  string   // in any case, because header names are case-insensitive
	Path    []string // names of members, from the arguments inwards
	Integer bool     // compared as a number: 42.0 equals 42
}

// Mirrors returns the arguments that a tool's input schema declares with x-mcp-header, in the order
// of the schema. If a declaration breaks a rule, the error names the rule. Such a tool must not be
// served over HTTP, and clients ignore it.
func Mirrors(inputSchema []byte) ([]Mirror, error) {
	w := mirrorWalk{seen: map[string]bool{}}
	if err := w.schema(inputSchema, nil, true); err != nil {
		return nil, err
	}
	return w.found, nil
}

// Bounds of Mirrors, because clients read schemas of unknown servers. HTTP servers take fewer header
// fields than maxMirrors. Declarations below deepestMirrors levels of schemas are not seen.
const (
	maxMirrors     = 128
	deepestMirrors = 64
)

type mirrorWalk struct {
	found []Mirror
	seen  map[string]bool // lower-case names
	depth int
}

// schema examines one subschema. reachable means that only properties lead to it, so that its
// position in the arguments is known.
func (w *mirrorWalk) schema(schema []byte, path []string, reachable bool) error {
	if w.depth == deepestMirrors {
		return nil
	}
	w.depth++
	defer func() { w.depth-- }()
	switch jsontext.KindOf(schema) {
	case jsontext.KindArray:
		for item := range jsontext.Elements(schema) {
			if err := w.schema(item, path, false); err != nil {
				return err
			}
		}
	case jsontext.KindObject:
		return w.object(schema, path, reachable)
	}
	return nil
}

func (w *mirrorWalk) object(schema []byte, path []string, reachable bool) error {
	if name, ok := jsontext.Member(schema, "x-mcp-header"); ok {
		if err := w.declare(name, schema, path, reachable); err != nil {
			return err
		}
	}
	for key, value := range jsontext.Members(schema) {
		name := key.String()
		var err error
		switch name {
		case "properties":
			err = w.properties(value, path, reachable)
		case "$defs", "definitions", "patternProperties", "dependentSchemas":
			err = w.properties(value, path, false) // the names are not keywords
		case "default", "const", "enum", "examples":
			// values, not schemas
		default:
			err = w.schema(value, path, false)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *mirrorWalk) properties(members []byte, path []string, reachable bool) error {
	if jsontext.KindOf(members) != jsontext.KindObject {
		return nil
	}
	for key, value := range jsontext.Members(members) {
		below := append(path, key.String()) //nolint:gocritic // all members share the memory: declare makes a copy
		if err := w.schema(value, below, reachable); err != nil {
			return err
		}
	}
	return nil
}

var headerToken = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$") // RFC 9110 section 5.6.2

func (w *mirrorWalk) declare(raw, schema []byte, path []string, reachable bool) error {
	name, isText := jsontext.String(raw)
	kind, _ := jsontext.Member(schema, "type")
	typ, _ := jsontext.String(kind)
	at := strings.Join(path, ".")
	switch {
	case len(w.found) == maxMirrors:
		return fmt.Errorf("%s: more than %d properties have x-mcp-header", at, maxMirrors)
	case !isText || !headerToken.MatchString(name):
		return fmt.Errorf("%s: x-mcp-header %s is not a header name", at, raw)
	case !reachable || len(path) == 0:
		return fmt.Errorf("%s: x-mcp-header %s is not on a property that properties alone lead to", at, raw)
	case typ != "string" && typ != "integer" && typ != "boolean":
		return fmt.Errorf("%s: x-mcp-header %s is on a property of type %s", at, raw, kind)
	case w.seen[strings.ToLower(name)]:
		return fmt.Errorf("%s: x-mcp-header %s is declared twice", at, raw)
	}
	w.seen[strings.ToLower(name)] = true
	w.found = append(w.found, Mirror{Header: MirrorPrefix + name, Path: slices.Clone(path), Integer: typ == "integer"})
	return nil
}

// Value returns the text of the header before encoding. It returns false if the arguments have no
// such value, or null.
func (m *Mirror) Value(arguments []byte) (text string, present bool) {
	value := arguments
	for _, name := range m.Path {
		inner, ok := objectIn(value)
		if !ok {
			return "", false
		}
		if value, ok = jsontext.Member(inner, name); !ok {
			return "", false
		}
	}
	if len(value) == 0 || jsontext.KindOf(value) == jsontext.KindNull {
		return "", false
	}
	if text, isText := jsontext.String(value); isText {
		return text, true
	}
	return string(value), true
}

// objectIn returns value if it is an object, or the object that a text contains. Models write objects
// as texts, and servers read them, so their members count as sent.
func objectIn(value []byte) ([]byte, bool) {
	if text, ok := jsontext.Text(value); ok {
		value = bytes.Trim(text, " \t\r\n")
		if jsontext.Check(value, jsontext.DefaultLimits()) != nil {
			return nil, false
		}
	}
	return value, jsontext.KindOf(value) == jsontext.KindObject
}

// Same reports whether a decoded header equals the argument.
func (m *Mirror) Same(header, argument string) bool {
	if header == argument {
		return true
	}
	if !m.Integer {
		return false
	}
	a, okA := jsontext.Int64([]byte(header)) // 42, 42.0 and 4.2e1 are the same number
	b, okB := jsontext.Int64([]byte(argument))
	return okA && okB && a == b
}

// Markers around a base64 text. They are case-sensitive.
const (
	sentinelOpen  = "=?base64?"
	sentinelClose = "?="
)

var errMirrorEncoding = errors.New("malformed base64 between =?base64? and ?=")

// EncodeMirror returns text in a form that is valid in a header. If text is unambiguous in a
// header, it is returned unchanged, and otherwise as base64 between markers.
func EncodeMirror(text string) string {
	encoded := strings.HasPrefix(text, sentinelOpen) && strings.HasSuffix(text, sentinelClose)
	if plainHeader(text) && !encoded {
		return text
	}
	return sentinelOpen + base64.StdEncoding.EncodeToString([]byte(text)) + sentinelClose
}

// plainHeader reports whether text is visible ASCII, with spaces only inside.
func plainHeader(text string) bool {
	for i := range len(text) {
		if text[i] < ' ' || text[i] > '~' {
			return false
		}
	}
	return text == strings.TrimSpace(text)
}

// DecodeMirror returns the text that a header represents. Without both markers it is the value
// itself. Between markers, the base64 must be padded and canonical. Otherwise DecodeMirror returns
// an error.
func DecodeMirror(value string) (string, error) {
	inner, ok := strings.CutPrefix(value, sentinelOpen)
	if ok {
		inner, ok = strings.CutSuffix(inner, sentinelClose)
	}
	if !ok {
		if !plainHeader(value) {
			return "", errors.New("characters that a header cannot carry")
		}
		return value, nil
	}
	if strings.ContainsAny(inner, "\r\n") { // the decoder skips them
		return "", errMirrorEncoding
	}
	text, err := base64.StdEncoding.Strict().DecodeString(inner)
	if err != nil {
		return "", errMirrorEncoding
	}
	return string(text), nil
}

// MirrorName returns the text that the Mcp-Name header of a request must repeat. It returns false
// if the method has none. The text is empty if params lack it.
func MirrorName(method string, params []byte) (text string, ok bool) {
	member := mirroredMember(method)
	value, _ := jsontext.Member(params, member)
	text, _ = jsontext.String(value)
	return text, member != ""
}

// MirrorsName reports in ok whether the method has a name that Mcp-Name repeats, and in same
// whether text equals that name. It does not copy the name.
func MirrorsName(method string, params jsontext.Object, text string) (same, ok bool) {
	member := mirroredMember(method)
	if member == "" {
		return false, false
	}
	value, _ := params.Member(member)
	name, _ := jsontext.Text(value)
	return string(name) == text, true
}

// mirroredMember returns the name of the member that Mcp-Name repeats, or "" if the method has
// none.
func mirroredMember(method string) string {
	if m := methodsByName[method]; m != nil {
		return m.mirrored
	}
	return ""
}
