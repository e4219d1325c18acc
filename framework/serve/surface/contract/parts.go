package contract

import (
	"slices"
)

// tools compares two versions of a tool.
func tools(r *report, before, after object) {
	for _, name := range differing(before, after) {
		old, now := before[name], after[name]
		switch name {
		case "inputSchema":
			r.schema(input, old, now)
		case "outputSchema":
			r.output(old, now)
		case "annotations":
			r.hints(asObject(old), asObject(now))
		default:
			r.member(name, old, now)
		}
	}
}

func (r *report) output(before, after any) {
	switch {
	case before == nil:
		r.add(Additive, "has an output schema")
	case after == nil:
		r.add(Breaking, "output schema removed")
	default:
		r.schema(output, before, after)
	}
}

// hints compares a tool's hints. An absent hint has a default (server/tools "ToolAnnotations"). A
// weaker promise is a breaking change.
func (r *report) hints(before, after object) {
	for _, name := range differing(before, after) {
		var absent, stronger bool
		switch name {
		case "readOnlyHint", "idempotentHint":
			stronger = true
		case "destructiveHint", "openWorldHint":
			absent = true
		default:
			r.add(Text, "annotation %s changed from %s to %s", name, short(before[name]), short(after[name]))
			continue
		}
		value := func(side object) bool {
			if name != "openWorldHint" && flag(side["readOnlyHint"], false) {
				return stronger // the hint has no meaning then, or is readOnlyHint
			}
			return flag(side[name], absent)
		}
		was, is := value(before), value(after)
		switch {
		case was == is:
			r.add(Text, "%s is said otherwise, and is %t as before", name, is)
		case is == stronger:
			r.add(Additive, "%s is %t now", name, is)
		default:
			r.add(Breaking, "%s is %t now", name, is)
		}
	}
}

func flag(v any, absent bool) bool {
	if b, ok := v.(bool); ok {
		return b
	}
	return absent
}

// resources compares two versions of a resource or template.
func resources(r *report, before, after object) {
	for _, name := range differing(before, after) {
		old, now := before[name], after[name]
		switch {
		case name == "uriTemplate":
			was, _ := old.(string)
			is, _ := now.(string)
			r.template(was, is)
		case name != "mimeType":
			r.member(name, old, now)
		case old == nil:
			r.add(Additive, "mimeType is %s", short(now))
		default:
			r.add(Breaking, "mimeType changed from %s to %s", short(old), short(now))
		}
	}
}

// prompts compares two versions of a prompt.
func prompts(r *report, before, after object) {
	for _, name := range differing(before, after) {
		if name == "arguments" {
			r.arguments(named(before[name]), named(after[name]))
			continue
		}
		r.member(name, before[name], after[name])
	}
}

// named returns a prompt's arguments by name.
func named(v any) object {
	all := object{}
	for _, item := range asList(v) {
		if name, ok := asObject(item)["name"].(string); ok {
			all[name] = item
		}
	}
	return all
}

func (r *report) arguments(before, after object) {
	for _, name := range differing(before, after) {
		at := r.at(r.where + ", argument " + name)
		old, now := asObject(before[name]), asObject(after[name])
		required := flag(now["required"], false)
		switch {
		case now == nil:
			at.add(Breaking, "removed")
		case old == nil && required:
			at.add(Breaking, "added, and required")
		case old == nil:
			at.add(Additive, "added")
		default:
			at.argument(old, now)
		}
	}
}

func (r *report) argument(before, after object) {
	for _, name := range differing(before, after) {
		was, is := flag(before[name], false), flag(after[name], false)
		switch {
		case name != "required":
			r.member(name, before[name], after[name])
		case is && !was:
			r.add(Breaking, "required now")
		case was && !is:
			r.add(Additive, "optional now")
		default:
			r.add(Text, "required is said otherwise, and is %t as before", is)
		}
	}
}

// member compares a member that this package does not know.
func (r *report) member(name string, before, after any) {
	texts := []string{"name", "title", "description", "icons", "size", "annotations"}
	switch {
	case name == "_meta":
		r.meta(asObject(before), asObject(after))
	case slices.Contains(texts, name):
		r.add(Text, "%s changed from %s to %s", name, short(before), short(after))
	case before == nil:
		r.add(Additive, "%s is %s", name, short(after))
	default:
		r.add(Breaking, "%s changed from %s to %s", name, short(before), short(after))
	}
}

func (r *report) meta(before, after object) {
	for _, name := range differing(before, after) {
		if _, had := before[name]; !had {
			r.add(Additive, "_meta %s added", name)
			continue
		}
		r.add(Breaking, "_meta %s changed from %s to %s", name, short(before[name]), short(after[name]))
	}
}

// asList returns v as an array, or nil if it is not one.
func asList(v any) []any {
	list, _ := v.([]any)
	return list
}

// asObject returns v as an object, or nil if it is not one.
func asObject(v any) object {
	o, _ := v.(object)
	return o
}
