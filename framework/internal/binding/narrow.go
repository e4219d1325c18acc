package binding

import (
	"bytes"
	"slices"
	"strings"

	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// Narrowing names what a listed schema must not have. The narrowed schema accepts all arguments that the wide
// one accepts, and may accept more, because the plan validates arguments in any case.
type Narrowing struct {
	Refs       bool // $ref: definitions are written where they are used, recursive ones to a depth
	Unions     bool // anyOf and oneOf: the alternatives become one schema; includes Refs
	Root       bool // oneOf, anyOf and allOf at the root
	Nulls      bool // lists of types, and null, which an optional member has by being left out
	Exclusives bool // exclusive bounds and propertyNames
	Shapeless  bool // objects without properties, and arrays without items
}

// Schema narrows the schema of arguments.
func (n Narrowing) Schema(schema []byte) []byte {
	if n == (Narrowing{}) {
		return schema
	}
	if n.Refs || n.Unions || n.Root && hasAlternatives(schema) { // alternatives may be references
		schema = unroll(schema)
	}
	if n.Root {
		k := parseKeywords(schema)
		for _, name := range alternatively {
			k = withAlternatives(k, name)
		}
		schema = k.render()
	}
	return eachSchema(schema, n.narrow)
}

// alternatively are the keywords whose values are schemas for the same value.
var alternatively = []string{"oneOf", "anyOf", "allOf"}

func hasAlternatives(schema []byte) bool {
	return slices.ContainsFunc(alternatively, parseKeywords(schema).has)
}

func (n Narrowing) narrow(k keywords) keywords {
	if n.Nulls {
		k = withoutNull(k)
	}
	if n.Unions {
		k = asOne(asOne(k, "anyOf"), "oneOf")
	}
	if n.Exclusives {
		k = withoutExclusives(k)
	}
	if n.Shapeless {
		k = shaped(k)
	}
	return k
}

// withoutNull drops null from the types, the enum and the alternatives of a schema.
func withoutNull(k keywords) keywords {
	if raw, _ := k.get("type"); jsontext.KindOf(raw) == jsontext.KindArray {
		types := notNull(raw, `"null"`)
		if len(types) > 0 {
			k.set("type", types[0]) // another type is converted, if it can be
		}
		if enum, has := k.get("enum"); has {
			k.set("enum", list(notNull(enum, "null")))
		}
	}
	options, has := k.get("anyOf")
	if !has {
		return k
	}
	others := notNull(options, `{"type":"null"}`)
	if len(others) != 1 {
		k.set("anyOf", list(others))
		return k
	}
	k.drop("anyOf")
	return over(parseKeywords(others[0]), k)
}

// notNull returns the elements of an array but those that read like null.
func notNull(array []byte, null string) [][]byte {
	var out [][]byte
	for item := range jsontext.Elements(array) {
		if item = bytes.TrimSpace(item); string(item) != null {
			out = append(out, item)
		}
	}
	return out
}

// over returns the schema below with the keywords of above, which replace its own.
func over(below, above keywords) keywords {
	out := slices.Clone(below)
	for _, w := range above {
		out.set(w.name, w.value)
	}
	return out
}

// withoutExclusives writes bounds that the number itself does not reach as a sentence.
func withoutExclusives(k keywords) keywords {
	for _, bound := range []struct{ exclusive, keyword, words string }{
		{"exclusiveMinimum", "minimum", "Greater than "}, {"exclusiveMaximum", "maximum", "Less than "},
	} {
		raw, has := k.get(bound.exclusive)
		if !has {
			continue
		}
		k.drop(bound.exclusive)
		if !k.has(bound.keyword) {
			k.set(bound.keyword, raw)
		}
		k.note(bound.words + string(raw) + ".")
	}
	if names, has := k.get("propertyNames"); has {
		k.drop("propertyNames")
		if enum, listed := parseKeywords(names).get("enum"); listed {
			k.note("The names are " + strings.Join(elementTexts(enum), ", ") + ".")
		}
	}
	return k
}

// shaped gives an object properties, and an array items.
func shaped(k keywords) keywords {
	switch k.text("type") {
	case "object":
		if more := mustGet(k, "additionalProperties"); !k.has("properties") && jsontext.KindOf(more) != jsontext.KindObject {
			k.set("properties", []byte("{}"))
		}
	case "array":
		if !k.has("items") && !k.has("prefixItems") {
			k.set("items", []byte("{}"))
		}
	}
	return k
}
