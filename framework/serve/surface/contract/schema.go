package contract

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// walker compares two schemas. The level of a change depends on whether more or fewer values fit,
// and on whether the client or the server must obey the schema.
type walker struct {
	r             *report
	side          string          // "input" or "output"
	narrow, wide  Level           // levels of a change after which fewer values fit, or more
	before, after any             // the documents
	seen          map[string]bool // pairs of references that were compared
	aside         map[string]bool // same for behind, which only asks whether they differ
	path          string          // JSON pointer of the values; * means any item or value
}

// input and output are the sides of a tool. A client must obey the schema of the input, and relies on
// the schema of the output.
const input, output = "input", "output"

// schema compares the input or output schemas of a tool.
func (r *report) schema(side string, before, after any) {
	w := &walker{r: r, side: side, narrow: Breaking, wide: Additive, before: before, after: after, seen: map[string]bool{}, aside: map[string]bool{}}
	if side == output {
		w.narrow, w.wide = w.wide, w.narrow
	}
	w.compare(before, after)
	if old, now := definitions(before), definitions(after); canonical(old) != canonical(now) && (strays(before) || strays(after)) {
		w.add(Breaking, "the definitions changed, and references by anchor or id cannot be followed")
	}
}

func (w walker) add(level Level, format string, args ...any) {
	where := w.r.where + ", " + w.side
	if w.path != "" {
		where += " " + w.path
	}
	w.r.at(where).add(level, format, args...)
}

// narrower reports that fewer values fit.
func (w walker) narrower(format string, args ...any) { w.add(w.narrow, format, args...) }

// wider reports that more values fit.
func (w walker) wider(format string, args ...any) { w.add(w.wide, format, args...) }

// compareRule reports that a rule was added or removed, with one of the texts.
func (w walker) compareRule(was, is bool, added, removed string) {
	switch {
	case is && !was:
		w.narrower("%s", added)
	case was && !is:
		w.wider("%s", removed)
	}
}

// below returns the walker for a nested place.
func (w walker) below(step string) walker {
	w.path = jsontext.Pointer(w.path, step)
	return w
}

// again reports whether a pair was already compared with the same levels.
func (w walker) again(before, after string) bool {
	key := fmt.Sprint(w.narrow, w.wide, before, "|", after)
	again := w.seen[key]
	w.seen[key] = true
	return again
}

// compare compares one place. The targets of a pair of references are compared once, because they
// may be recursive. So is a pair of schemas if only one of them is a reference.
func (w walker) compare(before, after any) {
	old, oldRefs := resolve(w.before, before)
	now, newRefs := resolve(w.after, after)
	if oldRefs != "" && newRefs != "" {
		if w.again(oldRefs, newRefs) {
			old, now = beside(before), beside(after)
		}
	} else if oldRefs+newRefs != "" && w.again(canonical(before), canonical(after)) {
		return
	}
	if refuses(old) || refuses(now) {
		w.compareRule(refuses(old), refuses(now), "nothing is allowed any more", "values are allowed now")
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
	w.patterns(old, now)
	w.required(old, now)
	w.values(old, now)
	w.limits(old, now, "minimum", "exclusiveMinimum", true)
	w.limits(old, now, "maximum", "exclusiveMaximum", false)
	w.alternatives(old, now)
	for _, name := range differing(spare(old), spare(now)) {
		w.add(Breaking, "%s changed beside other alternatives, which cannot be judged", name)
	}
	for _, name := range union(spare(old), nil) {
		if v := old[name]; refers(v) && canonical(v) == canonical(spare(now)[name]) {
			w.behind(name, object{name: v})
		}
	}
	for _, name := range unlike(old, now) {
		switch name {
		case "default":
			w.defaults(old, now)
		case "contains":
			w.contains(old, now)
		default:
			w.keyword(name, old[name], now[name])
		}
	}
}

// refuses reports whether the schema is the schema false.
func refuses(o object) bool {
	not, ok := o["not"].(object)
	return ok && len(not) == 0
}

// types compares the allowed types. If the sides have no type in common, it returns false, and
// there is nothing more to compare.
func (w walker) types(before, after object) bool {
	old, now := typesOf(before), typesOf(after)
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

// typesOf returns the types that a schema names, or else the types of its values, sorted. If the
// schema allows any type, or only its alternatives restrict the type, typesOf returns all types.
func typesOf(o object) []string {
	switch t := o["type"].(type) {
	case string:
		return []string{t}
	case []any:
		return slices.Sorted(slices.Values(texts(t)))
	}
	if _, only := o["const"]; !only && o["enum"] == nil {
		return allTypes
	}
	values, _ := valuesOf(o)
	if len(values) == 0 {
		return allTypes
	}
	all := make([]string, len(values))
	for i, v := range values {
		all[i] = typeOf(v)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// typeOf returns the type of a value that is written as JSON.
func typeOf(value string) string {
	kind := jsontext.KindOf([]byte(value))
	if kind == jsontext.KindNumber && !strings.ContainsAny(value, ".eE") {
		return "integer"
	}
	return kind.String()
}

// lacking returns the types of a that b does not allow. An integer is also a number.
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
		required[name] = w.side == input
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
		case !patterned(before, name) && len(asObject(others(before))) > 0 && !closed(before):
			at.compare(others(before), now[name])
		case closed(before) && !patterned(before, name):
			at.add(min(w.narrow, w.wide), "added") // breaking if only one alternative may fit
		default:
			at.add(Additive, "added")
		}
	}
}

// closed reports whether a schema refuses members that it does not declare.
func closed(schema object) bool {
	rest := others(schema)
	return rest == false || refuses(asObject(rest))
}

// patterned reports whether a pattern of the schema applies to a member. A pattern that cannot be
// compiled applies to none.
func patterned(schema object, name string) bool {
	for pattern := range asObject(schema["patternProperties"]) {
		if re, err := regexp.Compile(pattern); err == nil && re.MatchString(name) {
			return true
		}
	}
	return false
}

// required compares the lists of required members, for the members that both sides declare.
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
		if w.side == output {
			w.below(name).wider("may be absent now")
		} else {
			w.below(name).wider("optional now")
		}
	}
}

// added reports whether only b declares a member; properties has then reported it.
func (walker) added(name string, a, b object) bool {
	_, had := asObject(a["properties"])[name]
	_, has := asObject(b["properties"])[name]
	return has && !had
}

func texts(v any) []string {
	var all []string
	for _, item := range asList(v) {
		if text, ok := item.(string); ok {
			all = append(all, text)
		}
	}
	return all
}
