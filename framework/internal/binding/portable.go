package binding

import (
	"bytes"
	"slices"
	"strconv"

	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// portable writes a schema in the words that clients and model APIs have in common. It accepts the
// same values:
//
//   - a constant is an enum of one, which readers of a smaller JSON Schema know;
//   - a whole number has minimum and maximum instead of exclusive bounds;
//   - every branch of anyOf has a type, and there is none beside it: some readers take the type
//     for all there is, others skip what has none.
func portable(schema []byte) []byte {
	return eachSchema(schema, portably)
}

func portably(k keywords) keywords {
	if value, ok := k.get("const"); ok {
		k.drop("const")
		k.set("enum", list([][]byte{value}))
	}
	if k.text("type") == "integer" {
		inclusive(&k, "exclusiveMinimum", "minimum", 1)
		inclusive(&k, "exclusiveMaximum", "maximum", -1)
	}
	if options, ok := k.get("anyOf"); ok && k.has("type") {
		k.set("anyOf", typedOptions(options, mustGet(k, "type")))
		k.drop("type")
	}
	return k
}

// inclusive writes a bound of whole numbers, if it is one itself, as the next one that is allowed.
func inclusive(k *keywords, exclusive, keyword string, step int64) {
	raw, _ := k.get(exclusive)
	bound, whole := jsontext.Int64(raw)
	if !whole || step > 0 && bound+step < bound || step < 0 && bound+step > bound {
		return
	}
	k.drop(exclusive)
	tighten := k.raise
	if step < 0 {
		tighten = k.lower
	}
	tighten(keyword, strconv.AppendInt(nil, bound+step, 10))
}

// typedOptions gives the branches of anyOf the type that stood beside them. A branch that is
// nothing but alternatives is replaced by these.
func typedOptions(options, typ []byte) []byte {
	var all [][]byte
	for option := range jsontext.Elements(options) {
		branch := parseKeywords(option)
		if !branch.has("type") && !branch.has("$ref") {
			branch = portably(slices.Insert(branch, 0, keyword{"type", typ}))
		}
		if inner, ok := branch.get("anyOf"); ok && len(branch) == 1 {
			for each := range jsontext.Elements(inner) {
				all = append(all, each)
			}
			continue
		}
		all = append(all, branch.render())
	}
	return list(all)
}

// eachSchema changes a schema and all that it contains, the inner ones first.
func eachSchema(raw []byte, change func(keywords) keywords) []byte {
	if jsontext.KindOf(raw) != jsontext.KindObject {
		return raw
	}
	return change(eachInside(raw, func(inner []byte) []byte { return eachSchema(inner, change) })).render()
}

// eachInside returns a schema with the ones directly inside of it changed.
func eachInside(raw []byte, change func([]byte) []byte) keywords {
	var out keywords
	for key, value := range jsontext.Members(raw) {
		name := key.String()
		value = bytes.TrimSpace(value)
		switch {
		case schemaValued[name]:
			value = change(value)
		case schemaLists[name]:
			var items [][]byte
			for item := range jsontext.Elements(value) {
				items = append(items, change(item))
			}
			value = list(items)
		case schemaMaps[name]:
			var members keywords
			for k, item := range jsontext.Members(value) {
				members = append(members, keyword{k.String(), change(item)})
			}
			value = renderMembers(members)
		}
		out = append(out, keyword{name, value})
	}
	return out
}
