package contract

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Level is the effect of a change on a client that knows the old surface.
type Level uint8

// The levels, harmless first.
const (
	Same     Level = iota
	Text           // only texts for people and models have changed
	Additive       // something was added; calls that worked still work
	Breaking       // a call that worked may fail now, or have another effect
)

// String returns the level's name.
func (l Level) String() string {
	return [...]string{"same", "text", "additive", "breaking"}[l&3]
}

// Change is one difference between two locks.
type Change struct {
	Level Level
	Where string // such as "tool search, input /limit"
	What  string // such as "maximum lowered from 100 to 50"
}

// String returns the change on one line.
func (c Change) String() string { return fmt.Sprintf("%s: %s: %s", c.Level, c.Where, c.What) }

// Worst returns the highest level of the changes, or Same if there are none.
func Worst(changes []Change) Level {
	worst := Same
	for _, c := range changes {
		worst = max(worst, c.Level)
	}
	return worst
}

// report collects changes at one place.
type report struct {
	where   string
	changes *[]Change
}

func (r *report) add(level Level, format string, args ...any) {
	*r.changes = append(*r.changes, Change{level, r.where, fmt.Sprintf(format, args...)})
}

func (r *report) at(where string) *report { return &report{where, r.changes} }

// Diff returns the changes from before to after, the worst first. It returns equal changes once.
func Diff(before, after *Lock) []Change {
	var changes []Change
	r := &report{"server", &changes}
	r.server(before, after)
	old, now := before.kinds(), after.kinds()
	for i := range old {
		r.entries(old[i], now[i], before.Complete, after.Complete)
	}
	said := make(map[Change]bool, len(changes))
	changes = slices.DeleteFunc(changes, func(c Change) bool {
		again := said[c]
		said[c] = true
		return again
	})
	slices.SortStableFunc(changes, func(a, b Change) int { return int(b.Level) - int(a.Level) })
	return changes
}

func (r *report) server(before, after *Lock) {
	if before.Revision != after.Revision {
		r.add(Text, "read at revision %s, before at %s", after.Revision, before.Revision)
	} else {
		for _, name := range without(before.Capabilities, after.Capabilities) {
			r.add(Breaking, "capability %s removed", name)
		}
		for _, name := range without(after.Capabilities, before.Capabilities) {
			r.add(Additive, "capability %s added", name)
		}
	}
	if before.Instructions != after.Instructions {
		r.add(Text, "instructions changed")
	}
	old, _ := parseObject(before.Server)
	now, _ := parseObject(after.Server)
	for _, name := range differing(old, now) {
		r.add(Text, "%s changed from %s to %s", name, short(old[name]), short(now[name]))
	}
}

// differing returns the names of members that differ.
func differing(before, after object) []string {
	var names []string
	for _, name := range union(before, after) {
		old, had := before[name]
		now, has := after[name]
		if had != has || canonical(old) != canonical(now) {
			names = append(names, name)
		}
	}
	return names
}

// union returns the names of the members of a and b, sorted.
func union(a, b object) []string {
	all := object{}
	maps.Copy(all, a)
	maps.Copy(all, b)
	return slices.Sorted(maps.Keys(all))
}

// without returns the items that are only in a.
func without[T any](a, b []T) []T {
	known := map[string]bool{}
	for _, item := range b {
		known[canonical(item)] = true
	}
	return slices.DeleteFunc(slices.Clone(a), func(item T) bool { return known[canonical(item)] })
}

// entries compares the components of one kind. A component that needs scopes is left out if only
// one side could see it.
func (r *report) entries(before, after kind, allBefore, allAfter bool) {
	if allBefore != allAfter {
		before.entries, after.entries = seen(before.entries, after.entries), seen(after.entries, before.entries)
	}
	old, now := byKey(before.entries), byKey(after.entries)
	for _, renamed := range pair(before, old, now) {
		at := r.at(before.noun + " " + renamed[0])
		if before.key == "uriTemplate" {
			at.entry(before, old[renamed[0]], now[renamed[1]], allBefore && allAfter)
		} else {
			at.add(Breaking, "renamed to %s", renamed[1])
		}
		delete(old, renamed[0])
		delete(now, renamed[1])
	}
	for _, e := range before.entries {
		at := r.at(before.noun + " " + e.Key)
		was, had := old[e.Key]
		is, has := now[e.Key]
		switch {
		case had && has:
			at.entry(before, was, is, allBefore && allAfter)
		case had:
			at.add(Breaking, "removed")
		}
	}
	for _, e := range after.entries {
		_, known := old[e.Key]
		if _, has := now[e.Key]; has && !known {
			r.at(before.noun+" "+e.Key).add(Additive, "added")
		}
	}
}

// seen returns the entries that a caller without scopes sees, and the entries that the other side
// also has.
func seen(entries, other []Entry) []Entry {
	keys := byKey(other)
	return slices.DeleteFunc(slices.Clone(entries), func(e Entry) bool {
		_, there := keys[e.Key]
		return len(e.Scopes) > 0 && !there
	})
}

func byKey(entries []Entry) map[string]Entry {
	all := make(map[string]Entry, len(entries))
	for _, e := range entries {
		all[e.Key] = e
	}
	return all
}

// pair finds components with different keys that are otherwise equal.
func pair(k kind, old, now map[string]Entry) [][2]string {
	var pairs [][2]string
	added := without(slices.Sorted(maps.Keys(now)), slices.Collect(maps.Keys(old)))
	unknown := make([]nameless, len(added))
	for i, is := range added {
		unknown[i] = withoutKey(k.key, now[is])
	}
	for _, was := range without(slices.Sorted(maps.Keys(old)), slices.Collect(maps.Keys(now))) {
		gone := withoutKey(k.key, old[was])
		i := slices.IndexFunc(unknown, gone.alike)
		if i < 0 {
			continue
		}
		pairs = append(pairs, [2]string{was, added[i]})
		added, unknown = slices.Delete(added, i, i+1), slices.Delete(unknown, i, i+1)
	}
	return pairs
}

// nameless is a component without its key. A resource also has a name, which by default is its URI.
type nameless struct {
	own  bool // the name is not the key
	name string
	rest string
}

func withoutKey(key string, e Entry) nameless {
	o, _ := parseObject(e.Listed)
	var n nameless
	if key != "name" {
		n.own, n.name = canonical(o["name"]) != canonical(o[key]), canonical(o["name"])
		delete(o, "name")
	}
	delete(o, key)
	delete(o, "title")
	if len(o) > 0 {
		n.rest = canonical(o)
	}
	return n
}

// alike reports whether two components differ only in their keys.
func (n nameless) alike(other nameless) bool {
	return n.own && n.name == other.name || n.rest != "" && n.rest == other.rest
}

// entry compares two versions of one component.
func (r *report) entry(k kind, before, after Entry, complete bool) {
	n := len(*r.changes)
	old, _ := parseObject(before.Listed)
	now, _ := parseObject(after.Listed)
	k.compare(r, old, now)
	if before.Tasks != "" && after.Tasks != "" {
		r.tasks(string(before.Tasks), string(after.Tasks))
	}
	if complete {
		r.scopes(before.Scopes, after.Scopes)
	}
	switch {
	case len(*r.changes) > n || string(before.Listed) == string(after.Listed):
	case canonical(old) == canonical(now):
		r.add(Text, "members in another order")
	default:
		r.add(Text, "written in another way")
	}
}

func (r *report) scopes(before, after []string) {
	if added := without(after, before); len(added) > 0 {
		r.add(Breaking, "needs the scopes %s", strings.Join(added, ", "))
	}
	if gone := without(before, after); len(gone) > 0 {
		r.add(Additive, "no longer needs the scopes %s", strings.Join(gone, ", "))
	}
}

// tasks compares task support: "optional" serves clients with and without tasks.
func (r *report) tasks(before, after string) {
	switch {
	case before == after:
	case after == "optional":
		r.add(Additive, "calls may be tasks or not (before: tasks %s)", before)
	default:
		r.add(Breaking, "tasks are %s (before: %s)", after, before)
	}
}

const maxShown = 60

// short returns a value for a message, shortened if it is long.
func short(v any) string {
	if v == nil {
		return "nothing"
	}
	text := []rune(canonical(v))
	if len(text) > maxShown {
		return string(text[:maxShown]) + "…"
	}
	return string(text)
}
