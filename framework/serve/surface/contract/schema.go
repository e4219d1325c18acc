package contract

import (
	"maps"
	"slices"
	"strings"
)

// maxRefs bounds a chain of references.
const maxRefs = 16

// walker compares two schemas. Whether there is more or less room for values decides
// the level, by who has to keep to it.
type walker struct {
	r             *report
	side          string // "input" or "output"
	output        bool
	before, after any // the documents
	seen          map[string]bool
	path          string // JSON pointer of the values; * stands for any item or value
}

// schema compares the schemas of what a tool takes or returns.
func (r *report) schema(side string, output bool, before, after any) {
	w := &walker{r: r, side: side, output: output, before: before, after: after, seen: map[string]bool{}}
	w.compare(before, after)
}

func (w walker) add(level Level, format string, args ...any) {
	where := w.r.where + ", " + w.side
	if w.path != "" {
		where += " " + w.path
	}
	w.r.at(where).add(level, format, args...)
}

// narrower: fewer values fit.
func (w walker) narrower(format string, args ...any) {
	if w.output {
		w.add(Additive, format, args...)
	} else {
		w.add(Breaking, format, args...)
	}
}

// wider: more values fit.
func (w walker) wider(format string, args ...any) {
	if w.output {
		w.add(Breaking, format, args...)
	} else {
		w.add(Additive, format, args...)
	}
}

// below is the walker for what is inside.
func (w walker) below(step string) walker {
	w.path += "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(step)
	return w
}

// resolve follows references and puts what stands beside them over what they lead
// to. The second result names where it has been.
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
		merged := object{}
		maps.Copy(merged, asObject(lookUp(document, ref)))
		for name, v := range node {
			if name != "$ref" {
				merged[name] = v
			}
		}
		node = merged
	}
	return node, been
}

// lookUp finds a JSON pointer of the same document; others allow everything.
func lookUp(document any, ref string) any {
	pointer, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil
	}
	at := document
	for step := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		if step == "" {
			continue
		}
		at = asObject(at)[strings.NewReplacer("~1", "/", "~0", "~").Replace(step)]
	}
	return at
}

// compare one place. A pair of references is compared once: it may lead back to itself.
func (w walker) compare(before, after any) {
	old, oldRefs := resolve(w.before, before)
	now, newRefs := resolve(w.after, after)
	if oldRefs != "" && newRefs != "" {
		key := oldRefs + "|" + newRefs
		if w.seen[key] {
			return
		}
		w.seen[key] = true
	}
	if refuses(old) || refuses(now) {
		w.never(old, now)
		return
	}
	if alternating(old) != alternating(now) {
		w.alternatives(old, now)
		w.annotations(old, now)
		return
	}
	if !w.types(old, now) {
		return
	}
	w.properties(old, now)
	w.required(old, now)
	w.values(old, now)
	w.lower(old, now)
	w.upper(old, now)
	w.alternatives(old, now)
	for _, name := range differing(old, now) {
		w.keyword(name, old[name], now[name])
	}
}

// refuses is the schema false.
func refuses(o object) bool {
	not, ok := o["not"].(object)
	return ok && len(not) == 0
}

func (w walker) never(before, after object) {
	switch {
	case !refuses(before):
		w.narrower("nothing is allowed any more")
	case !refuses(after):
		w.wider("values are allowed now")
	}
}

// types compares what kinds of values there are. False: they have nothing in common,
// and there is no sense in going on.
func (w walker) types(before, after object) bool {
	old, now := typesOf(before), typesOf(after)
	if canonical(old) == canonical(now) {
		return true
	}
	lost, gained := lacking(old, now), lacking(now, old)
	switch {
	case len(lost) > 0 && len(gained) > 0:
		w.add(Breaking, "type changed from %s to %s", typeNames(old), typeNames(now))
		return len(lost) < len(old)
	case len(lost) > 0:
		w.narrower("type narrowed from %s to %s", typeNames(old), typeNames(now))
	case len(gained) > 0:
		w.wider("type widened from %s to %s", typeNames(old), typeNames(now))
	}
	return true
}

var allTypes = []string{"array", "boolean", "null", "number", "object", "string"}

func typeNames(types []string) string {
	if len(types) == len(allTypes) {
		return "anything"
	}
	return strings.Join(types, " or ")
}

// typesOf says which types a schema names, in order; all where it names none, or
// leaves that to its alternatives.
func typesOf(o object) []string {
	switch t := o["type"].(type) {
	case string:
		return []string{t}
	case []any:
		var all []string
		for _, item := range t {
			if name, ok := item.(string); ok {
				all = append(all, name)
			}
		}
		slices.Sort(all)
		return all
	}
	return allTypes
}

// lacking are those of a whose values are none of b's: every integer is a number.
func lacking(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(t string) bool {
		return slices.Contains(b, t) || t == "integer" && slices.Contains(b, "number")
	})
}

// properties compares declared members.
func (w walker) properties(before, after object) {
	old, now := asObject(before["properties"]), asObject(after["properties"])
	required := map[string]bool{}
	for _, name := range texts(after["required"]) {
		required[name] = !w.output
	}
	for _, name := range union(old, now) {
		at := w.below(name)
		_, had := old[name]
		_, has := now[name]
		switch {
		case had && has:
			at.compare(old[name], now[name])
		case had:
			at.add(Breaking, "removed")
		case required[name]:
			at.add(Breaking, "added, and required")
		default:
			at.add(Additive, "added")
		}
	}
}

// required compares which members must be there, of those that both know.
func (w walker) required(before, after object) {
	old, now := texts(before["required"]), texts(after["required"])
	for _, name := range without(now, old) {
		if w.added(name, before, after) {
			continue
		}
		w.below(name).narrower("required now")
	}
	for _, name := range without(old, now) {
		if w.added(name, after, before) {
			continue
		}
		if w.output {
			w.below(name).wider("may be absent now")
		} else {
			w.below(name).wider("optional now")
		}
	}
}

// added says that a member is declared in b alone, of which properties has told.
func (walker) added(name string, a, b object) bool {
	_, had := asObject(a["properties"])[name]
	_, has := asObject(b["properties"])[name]
	return has && !had
}

func texts(v any) []string {
	var all []string
	items, _ := v.([]any)
	for _, item := range items {
		if text, ok := item.(string); ok {
			all = append(all, text)
		}
	}
	return all
}
