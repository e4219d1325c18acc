package dialect

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

var (
	errSchemaKind = errors.New("must be a JSON object")
	errSchemaType = errors.New(`must have "type": "object" at its root`)
)

// WrapsOutput reports whether an output schema does not describe an object: its root type is
// neither "object" nor "object" with "null". 2025-06-18 and 2025-11-25 allow only objects, so the
// schema and the structured content are wrapped there as {"result": …} (server/tools "Output
// Schema"). A CallToolResult of such a tool needs Wrapped. Without a schema, WrapsOutput returns
// false.
//
// Functions that return pointers have an object that may be null. Its schema is not wrapped on
// those revisions: the value is the object, or {"result": null}.
func WrapsOutput(schema []byte) bool {
	types := rootTypes(schema)
	others := func(name string) bool { return name != "object" && name != "null" }
	return len(schema) > 0 && (!slices.Contains(types, "object") || slices.ContainsFunc(types, others))
}

// rootTypes returns the types that a schema has at its root, in either form of the keyword.
func rootTypes(schema []byte) (types []string) {
	v, _ := jsontext.Member(schema, "type")
	if name, ok := jsontext.String(v); ok {
		return []string{name}
	}
	for e := range jsontext.Elements(v) {
		name, _ := jsontext.String(e)
		types = append(types, name)
	}
	return types
}

// inputSchema writes an input schema. Arguments are always an object, so a root without a type gets
// "type":"object" (2025-11-25 server/tools "Tool").
func (w *writer) inputSchema(v []byte) error {
	if len(v) == 0 {
		v = []byte("{}")
	}
	if jsontext.KindOf(v) != jsontext.KindObject {
		return errSchemaKind
	}
	root, typed := jsontext.Member(v, "type")
	if name, _ := jsontext.String(root); typed && name != "object" {
		return errSchemaType
	}
	w.objectSchema(v, !typed)
	return nil
}

// objectSchema writes a schema of an object. Before 2026-07-28 the official schema requires each
// property to be an object, so true and false are written as objects.
func (w *writer) objectSchema(v []byte, addType bool) {
	w.open('{')
	if addType {
		w.str("type", "object")
	}
	for key, e := range jsontext.Members(v) {
		w.keyOf(key.String())
		if key.Is("type") {
			w.raw([]byte(`"object"`))
			continue
		}
		if key.Is("properties") && !anyStructured.has(w.d) {
			w.properties(e)
			continue
		}
		w.raw(e)
	}
	w.shut('}')
}

func (w *writer) properties(v []byte) {
	if jsontext.KindOf(v) != jsontext.KindObject {
		w.raw(v)
		return
	}
	w.open('{')
	for key, e := range jsontext.Members(v) {
		w.keyOf(key.String())
		w.raw(spelled(e))
	}
	w.shut('}')
}

// spelled returns a schema as an object: {} for true, and {"not":{}} for false.
func spelled(schema []byte) []byte {
	switch string(schema) {
	case "true":
		return []byte("{}")
	case "false":
		return []byte(`{"not":{}}`)
	}
	return schema
}

func (w *writer) outputSchema(v []byte) error {
	v = spelled(v)
	if jsontext.KindOf(v) != jsontext.KindObject {
		return errSchemaKind
	}
	switch {
	case anyStructured.has(w.d):
		w.raw(v)
	case WrapsOutput(v):
		w.wrappedSchema(v)
	case slices.Contains(rootTypes(v), "null"):
		w.nullableSchema(v)
	default:
		w.objectSchema(v, false)
	}
	return nil
}

// wrappedSchema puts a schema under the property result. Its definitions move to the new root, so
// that "#/$defs/…" still finds them. Other references into the document are rewritten. A schema
// with an $id stays unchanged, because it is a document of its own.
func (w *writer) wrappedSchema(v []byte) {
	w.root(v)
	w.key("properties")
	w.open('{')
	w.key("result")
	w.rest(v)
	w.shut('}')
	w.texts("required", []string{"result"})
	w.shut('}')
}

// nullResult is the schema of the object that replaces null on revisions where structured content
// is an object.
const nullResult = `{"properties":{"result":{"type":"null"}},"required":["result"],"additionalProperties":false}`

// nullableSchema writes a schema that accepts the object or nullResult, for a schema of an object
// or null. On these revisions null is sent wrapped, and clients check results against the schema of
// the list.
func (w *writer) nullableSchema(v []byte) {
	w.base = "#/anyOf/0"
	w.root(v)
	w.key("anyOf")
	w.open('[')
	w.rest(v)
	w.comma()
	w.raw([]byte(nullResult))
	w.shut(']')
	w.shut('}')
	w.base = ""
}

// hoists reports whether a member must be at the root of a schema document.
func hoists(key jsontext.Key) bool {
	return key.Is("$schema") || key.Is("$defs") || key.Is("definitions")
}

// root begins the new root of a document, an object, with the members of v that must be there.
func (w *writer) root(v []byte) {
	w.open('{')
	if _, own := jsontext.Member(v, "$id"); !own {
		for key, e := range jsontext.Members(v) {
			if hoists(key) {
				name := key.String()
				w.keyOf(name)
				w.moved(e, holdsNames(name))
			}
		}
	}
	w.str("type", "object")
}

// rest writes the schema v without what root has written of it.
func (w *writer) rest(v []byte) {
	if _, own := jsontext.Member(v, "$id"); own {
		w.raw(v)
		return
	}
	w.open('{')
	for key, e := range jsontext.Members(v) {
		switch {
		case hoists(key):
		case key.Is("type") && w.base != "": // beside the branch for null
			w.str("type", "object")
		default:
			w.movedMember(key.String(), e)
		}
	}
	w.shut('}')
}

// moved writes a schema, or an object of named schemas, and rewrites its references.
func (w *writer) moved(v []byte, names bool) {
	switch jsontext.KindOf(v) {
	case jsontext.KindObject:
		w.open('{')
		for key, e := range jsontext.Members(v) {
			if names {
				w.keyOf(key.String())
				w.moved(e, false)
				continue
			}
			w.movedMember(key.String(), e)
		}
		w.shut('}')
	case jsontext.KindArray:
		w.open('[')
		for e := range jsontext.Elements(v) {
			w.comma()
			w.moved(e, false)
		}
		w.shut(']')
	default:
		w.raw(v)
	}
}

// movedMember writes one keyword. References are rewritten, and data is written unchanged. Any
// other value may contain schemas.
func (w *writer) movedMember(name string, v []byte) {
	w.keyOf(name)
	ref, isText := jsontext.String(v)
	switch name {
	case "$ref", "$dynamicRef":
		if isText {
			w.b = jsontext.Quote(w.b, movedRef(ref, cmp.Or(w.base, "#/properties/result")))
			return
		}
	case "const", "enum", "default", "examples":
		w.raw(v)
		return
	}
	w.moved(v, holdsNames(name))
}

// holdsNames reports whether the members of a keyword's value are names instead of keywords.
func holdsNames(keyword string) bool {
	switch keyword {
	case "properties", "patternProperties", "dependentSchemas", "$defs", "definitions":
		return true
	}
	return false
}

// movedRef returns ref as it must be after its schema has moved to base.
func movedRef(ref, base string) string {
	switch {
	case strings.HasPrefix(ref, "#/$defs/"), strings.HasPrefix(ref, "#/definitions/"):
		return ref
	case ref == "#", strings.HasPrefix(ref, "#/"):
		return base + ref[1:]
	}
	return ref
}
