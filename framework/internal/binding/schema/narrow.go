package schema

import (
	"slices"
	"strings"

	"github.com/kagami-mcp/kagami/framework/internal/binding/jsonedit"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// Narrowing lists what a schema for clients must not have. The narrowed schema accepts what the wide one accepts, and
// may accept more, because the plan validates arguments in any case. Alternatives of different types may accept
// less if Texts is not set.
type Narrowing struct {
	Refs       bool // $ref: definitions are written where they are used, recursive ones to a depth
	Unions     bool // anyOf and oneOf: the alternatives become one schema without null; includes Refs
	Root       bool // oneOf, anyOf and allOf at the root
	Nulls      bool // lists of types, and null: an optional member can be left out instead
	Exclusives bool // exclusive bounds and propertyNames
	Shapeless  bool // objects without properties, and arrays without items
	Texts      bool // texts are converted, so that members of several types become text
}

// Schema narrows the schema of arguments.
func (n Narrowing) Schema(schema []byte) []byte {
	if n == (Narrowing{Texts: n.Texts}) {
		return schema
	}
	if n.Refs || n.Unions || n.Root && slices.ContainsFunc(alternatively, Parse(schema).Has) { // alternatives may be references
		schema = unroll(schema)
	}
	if n.Root {
		k := Parse(schema)
		for _, name := range alternatively {
			k = n.withAlternatives(k, name)
		}
		schema = k.Render()
	}
	return eachSchema(schema, n.narrow)
}

// alternatively are the keywords with several schemas for the same value.
var alternatively = []string{"oneOf", "anyOf", "allOf"}

func (n Narrowing) narrow(k Keywords) Keywords {
	if n.Nulls {
		k = withoutNull(k)
	}
	if n.Unions {
		k = n.withParts(k)
		k = n.asOne(n.asOne(k, "anyOf", false), "oneOf", false) // these come from hooks and tags, which do not convert texts
	}
	if n.Exclusives {
		k = withoutExclusives(k)
	}
	if n.Shapeless {
		k = shaped(k)
	}
	return k
}

// withoutNull drops null from the types, the enum, the default and the alternatives of a schema.
func withoutNull(k Keywords) Keywords {
	if jsontext.KindOf(Value(k, "default")) == jsontext.KindNull && k.Text("type") != "null" {
		k.Drop("default")
	}
	if raw, _ := k.Get("type"); jsontext.KindOf(raw) == jsontext.KindArray {
		types := notNull(raw, `"null"`)
		if len(types) > 0 {
			k.Set("type", types[0]) // another type is converted, if it can be
		}
		if enum, has := k.Get("enum"); has {
			k.Set("enum", jsonedit.List(notNull(enum, "null")))
		}
	}
	return withoutNullOption(withoutNullOption(k, "anyOf"), "oneOf")
}

// withoutNullOption drops null from the alternatives under a keyword. If that leaves one alternative, it takes the
// place of the keyword.
func withoutNullOption(k Keywords, name string) Keywords {
	all := slices.Collect(jsontext.Elements(Value(k, name)))
	others := slices.DeleteFunc(slices.Clone(all), func(o []byte) bool { return Parse(o).Text("type") == "null" })
	if len(others) == 0 && len(all) > 0 { // only null is allowed
		others = all[:1]
	}
	switch {
	case len(others) == 1 && !k.Has("properties"):
		k.Drop(name)
		return over(Parse(others[0]), k)
	case len(others) < len(all):
		k.Set(name, jsonedit.List(others))
	}
	return k
}

// notNull returns the elements of an array, except those that are equal to null.
func notNull(array []byte, null string) [][]byte {
	var out [][]byte
	for item := range jsontext.Elements(array) {
		if string(item) != null {
			out = append(out, item)
		}
	}
	return out
}

// over returns the keywords of below and above. If both have a keyword, the one of above stays.
func over(below, above Keywords) Keywords {
	out := slices.Clone(below)
	for _, w := range above {
		out.Set(w.Name, w.Value)
	}
	return out
}

// withoutExclusives writes exclusive bounds as inclusive bounds with a sentence, and propertyNames as a
// sentence.
func withoutExclusives(k Keywords) Keywords {
	for _, bound := range []struct{ exclusive, keyword, words string }{
		{"exclusiveMinimum", "minimum", "Greater than "}, {"exclusiveMaximum", "maximum", "Less than "},
	} {
		raw, has := k.Get(bound.exclusive)
		if !has {
			continue
		}
		k.Drop(bound.exclusive)
		if !k.Has(bound.keyword) {
			k.Set(bound.keyword, raw)
		}
		k.Note(bound.words + string(raw) + ".")
	}
	if names, has := k.Get("propertyNames"); has {
		k.Drop("propertyNames")
		if enum, listed := Parse(names).Get("enum"); listed {
			k.Note("The names are " + strings.Join(ElementTexts(enum), ", ") + ".")
		}
	}
	return k
}

// shaped adds properties to an object without them, and items to an array without them.
func shaped(k Keywords) Keywords {
	switch k.Text("type") {
	case "object":
		if more := Value(k, "additionalProperties"); !k.Has("properties") && jsontext.KindOf(more) != jsontext.KindObject {
			k.Set("properties", []byte("{}"))
		}
	case "array":
		if !k.Has("items") && !k.Has("prefixItems") {
			k.Set("items", []byte("{}"))
		}
	}
	return k
}
