package contract

import (
	"maps"
	"slices"
	"strings"
)

// inside compares the subschemas for items or values, which have no name. An absent subschema
// allows everything.
func (w walker) inside(name string, before, after any) {
	if asList(before) != nil || asList(after) != nil { // before 2020-12, items may be a tuple
		w.tuple(name, before, after)
		return
	}
	at := w.below("*")
	if name == "propertyNames" {
		at.path = w.path + " (names)"
	}
	switch members := strings.HasSuffix(name, "Properties"); {
	case members && after == false:
		w.narrower("other members are refused now")
	case members && before == false:
		w.wider("other members are allowed now")
	default:
		at.compare(orTrue(before), orTrue(after))
	}
}

func orTrue(v any) any {
	if v == nil {
		return true
	}
	return v
}

// named compares a keyword that has a schema for each pattern or name. otherBefore and otherAfter are
// the schemas for what no pattern matches; nil allows everything.
func (w walker) named(name string, before, after object, otherBefore, otherAfter any) {
	for _, pattern := range union(before, after) {
		old, had := before[pattern]
		now, has := after[pattern]
		switch {
		case had && has:
			w.below(pattern).compare(old, now)
		case has && otherBefore != nil:
			w.below(pattern).compare(otherBefore, now)
		case had && otherAfter != nil:
			w.below(pattern).compare(old, otherAfter)
		case has:
			w.narrower("%s %q added", name, pattern)
		default:
			w.wider("%s %q removed", name, pattern)
		}
	}
}

// patterns compares patternProperties. A member that no pattern matches any more is judged like all
// other members, which may be forbidden.
func (w walker) patterns(before, after object) {
	w.named("patternProperties", asObject(before["patternProperties"]), asObject(after["patternProperties"]), others(before), others(after))
}

// others returns the schema for members that are not declared. Without one, it returns nil.
func others(o object) any {
	if v, ok := o["additionalProperties"]; ok {
		return v
	}
	return o["unevaluatedProperties"]
}

// tuple compares item by item.
func (w walker) tuple(name string, before, after any) {
	old, now := asList(before), asList(after)
	for i := range min(len(old), len(now)) {
		w.below("*").compare(old[i], now[i])
	}
	if len(old) != len(now) {
		w.add(Breaking, "%s are %d, before %d", name, len(now), len(old))
	}
}

// all compares allOf. An additional schema makes it narrower.
func (w walker) all(before, after any) {
	old, now := asList(before), asList(after)
	w.alike(old, now, w.compare)
	gone, added := without(old, now), without(now, old)
	if len(gone) == 1 && len(added) == 1 {
		w.compare(gone[0], added[0])
		return
	}
	for _, s := range added {
		w.narrower("must also be %s", short(s))
	}
	for _, s := range gone {
		w.wider("need no longer be %s", short(s))
	}
}

// values compares the values that enum and const, or alternatives with only const, allow.
func (w walker) values(before, after object) {
	old, wasClosed := valuesOf(before)
	now, isClosed := valuesOf(after)
	switch {
	case isClosed && !wasClosed:
		w.narrower("restricted to %s", strings.Join(now, ", "))
	case wasClosed && !isClosed:
		w.wider("no longer restricted to %s", strings.Join(old, ", "))
	case isClosed:
		for _, v := range without(old, now) {
			w.narrower("value %s removed", v)
		}
		for _, v := range without(now, old) {
			w.wider("value %s added", v)
		}
	}
}

func valuesOf(o object) (values []string, closed bool) {
	if v, ok := o["const"]; ok {
		return []string{canonical(v)}, true
	}
	if list, ok := o["enum"].([]any); ok {
		for _, v := range list {
			values = append(values, canonical(v))
		}
		return values, true
	}
	list := branches(o)
	for _, branch := range list {
		v, ok := asObject(branch)["const"]
		if !ok {
			return nil, false
		}
		values = append(values, canonical(v))
	}
	return values, len(list) > 0
}

// spare returns the lists of values and alternatives that valuesOf and branches do not use.
func spare(o object) object {
	others, used := object{}, false
	for _, name := range []string{"const", "enum", "oneOf", "anyOf"} {
		v, ok := o[name]
		if ok && used {
			others[name] = v
		}
		used = used || ok
	}
	return others
}

func branches(o object) []any {
	for _, name := range []string{"oneOf", "anyOf"} {
		if list := asList(o[name]); list != nil {
			return list
		}
	}
	return nil
}

// alternating reports whether a schema has alternatives that are more than a list of values.
func alternating(o object) bool {
	_, closed := valuesOf(o)
	return !closed && branches(o) != nil
}

// annotations compares the annotations next to alternatives.
func (w walker) annotations(before, after object) {
	for _, name := range differing(before, after) {
		switch {
		case name == "default":
			w.defaults(before, after)
		case slices.Contains(forPeople, name):
			w.keyword(name, before[name], after[name])
		}
	}
}

// alternatives compares anyOf and oneOf. A schema without them is one alternative.
func (w walker) alternatives(before, after object) {
	old, now := branches(before), branches(after)
	switch was, is := alternating(before), alternating(after); {
	case !was && !is:
		return
	case !was:
		old = alone(before, after)
	case !is:
		now = alone(after, before)
	}
	if old == nil || now == nil {
		w.add(Breaking, "alternatives changed from %s to %s", short(branches(before)), short(branches(after)))
		return
	}
	gone, added := without(old, now), without(now, old)
	excluded, exclude := exclusive(w.before, before, old), exclusive(w.after, after, now)
	w.alike(old, now, func(a, b any) { w.pair(a, b, excluded, exclude) })
	w.compareRule(excluded, exclude, "only one alternative may fit now, and several can", "several alternatives may fit now")
	if len(gone) == 1 && len(added) == 1 && len(old) == len(now) {
		w.pair(gone[0], added[0], excluded, exclude)
		return
	}
	w.paired(gone, added, excluded, exclude)
}

// pair compares two versions of one alternative. If a value may fit only one alternative, an alternative
// that accepts more also refuses what fits another one, and the reverse. Alternatives with constants that
// distinguish them are not meant to overlap, even if the constant may be absent.
func (w walker) pair(before, after any, excluded, exclude bool) {
	only := w.side == input && exclude || w.side == output && excluded
	if only && len(tags(w.after, after)) == 0 {
		w.narrow, w.wide = Breaking, Breaking
	}
	w.compare(before, after)
}

// contains compares contains. Without the keyword, an array need not contain anything. Beside
// maxContains, a schema that more items fit is not wider.
func (w walker) contains(before, after object) {
	old, had := before["contains"]
	now, has := after["contains"]
	switch {
	case !had || !has:
		w.compareRule(had, has, "must contain "+short(now), "need no longer contain "+short(old))
	case before["maxContains"] != nil || after["maxContains"] != nil:
		w.other("contains", old, now)
	default:
		w.inside("contains", old, now)
	}
}

// paired compares the alternatives that differ, in pairs of equal labels. If excluded and exclude are
// set, a value must fit one alternative only, and may fit several: a further alternative also refuses
// values.
func (w walker) paired(gone, added []any, excluded, exclude bool) {
	labeled := map[string][]int{} // indexes in added of alternatives that have no partner yet
	for i, s := range added {
		l := label(w.after, s)
		labeled[l] = append(labeled[l], i)
	}
	paired := map[int]bool{}
	for _, s := range gone {
		l := label(w.before, s)
		if len(labeled[l]) == 0 {
			w.narrower("alternative %s removed", l)
			if excluded && exclude {
				w.wider("what fits alternative %s and another is allowed now", l)
			}
			continue
		}
		i := labeled[l][0]
		labeled[l], paired[i] = labeled[l][1:], true
		w.pair(s, added[i], excluded, exclude)
	}
	for i, s := range added {
		if !paired[i] {
			w.wider("alternative %s added", label(w.after, s))
			if excluded && exclude {
				w.narrower("what fits alternative %s and another is refused now", label(w.after, s))
			}
		}
	}
}

// mostExclusive is the number of alternatives that exclusive looks at. Of more it assumes that a
// value may fit several.
const mostExclusive = 64

// exclusive reports whether values must fit one of the alternatives only (oneOf), and a value may fit
// several.
func exclusive(document any, o object, alternatives []any) bool {
	if asList(o["oneOf"]) == nil || len(alternatives) < 2 {
		return false
	}
	if len(alternatives) > mostExclusive {
		return true
	}
	resolved := make([]object, len(alternatives))
	for i, s := range alternatives {
		resolved[i], _ = resolve(document, s)
	}
	for i, a := range resolved {
		if slices.ContainsFunc(resolved[:i], func(b object) bool { return !disjoint(document, a, b) }) {
			return true
		}
	}
	return false
}

// disjoint reports whether it is certain that no value fits both schemas: they have no type in
// common, or no value, or they require a member with other values.
func disjoint(document any, a, b object) bool {
	types, also := typesOf(a), typesOf(b)
	if len(lacking(types, also)) == len(types) && len(lacking(also, types)) == len(also) || noneCommon(a, b) {
		return true
	}
	for _, name := range texts(a["required"]) {
		if !slices.Contains(texts(b["required"]), name) {
			continue
		}
		one, _ := resolve(document, orTrue(asObject(a["properties"])[name]))
		other, _ := resolve(document, orTrue(asObject(b["properties"])[name]))
		if noneCommon(one, other) {
			return true
		}
	}
	return false
}

// noneCommon reports whether both schemas have lists of values, and no value is on both.
func noneCommon(a, b object) bool {
	values, closed := valuesOf(a)
	also, alsoClosed := valuesOf(b)
	return closed && alsoClosed && len(without(values, also)) == len(values)
}

// alone returns a schema without alternatives as the only alternative. If the other side has other
// keywords next to its alternatives, alone returns nil.
func alone(o, other object) []any {
	note := func(name string) bool { return name == "default" || slices.Contains(forPeople, name) }
	for name := range other {
		if name != "anyOf" && name != "oneOf" && !note(name) {
			return nil
		}
	}
	one := maps.Clone(o)
	maps.DeleteFunc(one, func(name string, _ any) bool { return note(name) })
	return []any{one}
}

// label returns a text that identifies an alternative: the constants that distinguish it, or else
// its types.
func label(document, s any) string {
	if constants := tags(document, s); len(constants) > 0 {
		return strings.Join(constants, ", ")
	}
	o, _ := resolve(document, s)
	return typeNames(typesOf(o))
}

// tags returns the constants that distinguish an alternative.
func tags(document, s any) []string {
	o, _ := resolve(document, s)
	var all []string
	members := asObject(o["properties"])
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if v, ok := asObject(members[name])["const"]; ok {
			all = append(all, name+" "+canonical(v))
		}
	}
	return all
}
