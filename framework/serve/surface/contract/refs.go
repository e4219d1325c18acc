package contract

import (
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// maxRefs bounds a chain of references.
const maxRefs = 16

// resolve follows references. Members next to a reference replace members of its target. If they do
// not replace its texts only, both apply, and the target is also a part of allOf. The second result
// names the references that resolve has followed.
func resolve(document, schema any) (object, string) {
	node, isObject := schema.(object)
	if !isObject {
		if schema == false {
			return object{"not": object{}}, ""
		}
		return object{}, ""
	}
	been := ""
	for range maxRefs {
		ref, ok := node["$ref"].(string)
		if !ok {
			return node, been
		}
		been += ref + " "
		target, own, merged := asObject(lookUp(document, ref)), beside(node), object{}
		maps.Copy(merged, target)
		maps.Copy(merged, own)
		if clash(target, own) {
			merged["allOf"] = append(slices.Clip(asList(own["allOf"])), object{"$ref": ref})
			been += "beside " // the target itself is compared as a part of allOf
		}
		node = merged
	}
	return node, been
}

// clash reports whether a member next to a reference restricts values in another way than the same
// member of its target.
func clash(target, own object) bool {
	for name, v := range own {
		switch name {
		case "title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly",
			"$comment", "$schema", "$id", "$anchor", "$defs", "definitions":
			continue
		}
		if other, both := target[name]; both && !strings.HasPrefix(name, "x-") && canonical(other) != canonical(v) {
			return true
		}
	}
	return false
}

// beside returns the members next to a reference.
func beside(schema any) object {
	own := maps.Clone(asObject(schema))
	delete(own, "$ref")
	return own
}

// lookUp returns the target of a JSON pointer in the same document. For other references it returns
// nil, which allows everything.
func lookUp(document any, ref string) any {
	if !points(ref) {
		return nil
	}
	pointer, err := url.PathUnescape(ref[1:])
	if err != nil {
		pointer = ref[1:]
	}
	at := document
	for step := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		if step == "" {
			continue
		}
		step = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
		if list := asList(at); list != nil {
			at = nil
			if i, err := strconv.Atoi(step); err == nil && 0 <= i && i < len(list) {
				at = list[i]
			}
			continue
		}
		at = asObject(at)[step]
	}
	return at
}

// points reports whether a reference is a JSON pointer in the same document.
func points(ref string) bool { return ref == "#" || strings.HasPrefix(ref, "#/") }

// refers reports whether a schema contains references.
func refers(v any) bool { return anyRef(v, func(string) bool { return true }) }

// strays reports whether a schema contains references that lookUp does not follow.
func strays(v any) bool { return anyRef(v, func(ref string) bool { return !points(ref) }) }

func anyRef(v any, is func(ref string) bool) bool {
	switch v := v.(type) {
	case []any:
		return slices.ContainsFunc(v, func(item any) bool { return anyRef(item, is) })
	case object:
		for name, inner := range v {
			switch ref, ok := inner.(string); {
			case ok && name == "$ref" && is(ref), ok && name == "$dynamicRef" && is("dynamic"), ok && name == "$recursiveRef" && is("recursive"):
				return true
			case anyRef(inner, is):
				return true
			}
		}
	}
	return false
}

// definitions returns the schemas that only references use.
func definitions(schema any) []any {
	o := asObject(schema)
	return []any{o["$defs"], o["definitions"]}
}

// unlike returns the names of keywords that differ, or that may differ in meaning because they
// contain references.
func unlike(before, after object) []string {
	differ := differing(before, after)
	for name, v := range before {
		switch name {
		case "items", "additionalItems", "unevaluatedItems", "contains", "prefixItems", "additionalProperties",
			"unevaluatedProperties", "propertyNames", "patternProperties", "dependentSchemas", "allOf",
			"not", "if", "then", "else":
			if !slices.Contains(differ, name) && refers(v) {
				differ = append(differ, name)
			}
		}
	}
	slices.Sort(differ)
	return differ
}

// alike calls compare for the schemas that both lists have, if they contain references.
func (w walker) alike(old, now []any, compare func(before, after any)) {
	changed := map[string]bool{}
	for _, s := range without(old, now) {
		changed[canonical(s)] = true
	}
	for _, s := range old {
		if refers(s) && !changed[canonical(s)] {
			compare(s, s)
		}
	}
}

// behind compares the targets of equal references. If they differ, it reports a breaking change,
// because the direction of the change cannot be judged here.
func (w walker) behind(name string, schema any) {
	var changes []Change
	aside := w
	aside.r, aside.seen = &report{w.r.where, &changes}, w.aside
	aside.compare(schema, schema)
	if Worst(changes) > Text {
		w.add(Breaking, "what %s refers to has changed, which cannot be judged", name)
	}
}
