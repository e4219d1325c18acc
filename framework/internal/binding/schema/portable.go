package schema

import (
	"slices"
	"strconv"

	"github.com/kagami-mcp/kagami/framework/internal/binding/jsonedit"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// Portable writes a schema with the keywords that clients and model APIs have in common. The new
// schema accepts the same values:
//
//   - a constant is an enum of one value, because some readers do not support const;
//   - a whole number has minimum and maximum instead of exclusive bounds;
//   - every branch of anyOf has a type, and no type stands beside anyOf: some readers read only that
//     type, and others skip a branch without one.
func Portable(schema []byte) []byte {
	return eachSchema(schema, portably)
}

func portably(k Keywords) Keywords {
	if value, ok := k.Get("const"); ok {
		k.Drop("const")
		k.Set("enum", jsonedit.List([][]byte{value}))
	}
	if k.Text("type") == "integer" {
		inclusive(&k, "exclusiveMinimum", "minimum", 1)
		inclusive(&k, "exclusiveMaximum", "maximum", -1)
	}
	if options, ok := k.Get("anyOf"); ok && k.Has("type") {
		k.Set("anyOf", typedOptions(options, Value(k, "type")))
		k.Drop("type")
	}
	return k
}

// inclusive replaces an exclusive bound of whole numbers by the next allowed number, if the bound is a whole
// number.
func inclusive(k *Keywords, exclusive, keyword string, step int64) {
	raw, _ := k.Get(exclusive)
	bound, whole := jsontext.Int64(raw)
	if !whole || step > 0 && bound+step < bound || step < 0 && bound+step > bound {
		return
	}
	k.Drop(exclusive)
	tighten := k.Raise
	if step < 0 {
		tighten = k.Lower
	}
	tighten(keyword, strconv.AppendInt(nil, bound+step, 10))
}

// typedOptions gives the branches of anyOf the type that stood beside anyOf. A branch that consists only of
// alternatives is replaced by them.
func typedOptions(options, typ []byte) []byte {
	var all [][]byte
	for option := range jsontext.Elements(options) {
		branch := Parse(option)
		if !branch.Has("type") && !branch.Has("$ref") {
			branch = portably(slices.Insert(branch, 0, Keyword{"type", typ}))
		}
		if inner, ok := branch.Get("anyOf"); ok && len(branch) == 1 {
			for each := range jsontext.Elements(inner) {
				all = append(all, each)
			}
			continue
		}
		all = append(all, branch.Render())
	}
	return jsonedit.List(all)
}

// eachSchema changes a schema and all schemas inside it, the inner ones first.
func eachSchema(raw []byte, change func(Keywords) Keywords) []byte {
	if jsontext.KindOf(raw) != jsontext.KindObject {
		return raw
	}
	return change(eachInside(raw, func(inner []byte) []byte { return eachSchema(inner, change) })).Render()
}

// eachInside returns a schema, with the schemas directly inside it changed.
func eachInside(raw []byte, change func([]byte) []byte) Keywords {
	var out Keywords
	for key, value := range jsontext.Members(raw) {
		name := key.String()
		switch {
		case schemaValued[name]:
			value = change(value)
		case schemaLists[name]:
			var items [][]byte
			for item := range jsontext.Elements(value) {
				items = append(items, change(item))
			}
			value = jsonedit.List(items)
		case schemaMaps[name]:
			var members Keywords
			for k, item := range jsontext.Members(value) {
				members = append(members, Keyword{k.String(), change(item)})
			}
			value = RenderMembers(members)
		}
		out = append(out, Keyword{name, value})
	}
	return out
}
