package replay

import (
	"slices"
	"strings"
)

// Action is a question that was registered, or an effect that was requested, with its line in the
// report.
type Action struct{ Key, Line string }

// Trace is what one execution of a handler has done.
type Trace struct {
	Asked   []Action // the questions that were registered
	Effects *Effects
	Failure string // the line of its failure; empty: it has not failed
}

// Difference compares two executions on the same answers. It returns the lines that only one of them
// has: lines of the first begin with "-", of the second with "+". If there are none, the result is
// empty.
func Difference(first, second Trace) string {
	// The second execution does not enter an effect. It gets the result, or stops before the effect.
	within := func(a Action) bool { return first.Effects.inside(a.Key) }
	asked, again := slices.DeleteFunc(first.Asked, within), slices.DeleteFunc(second.Asked, within)
	if len(again) > 0 { // questions with names may be asked in any order
		asked, again = alike(asked, again), alike(again, asked)
	}
	was := append(lines(asked), lines(slices.DeleteFunc(first.Effects.actions(), within))...)
	is := append(lines(again), lines(slices.DeleteFunc(second.Effects.actions(), within))...)
	if second.Failure != "" {
		is = append(is, second.Failure)
	}
	return difference(was, is)
}

func lines(actions []Action) []string {
	all := make([]string, len(actions))
	for i, d := range actions {
		all[i] = d.Line
	}
	return all
}

// alike returns the actions that can be compared with the other run. These are all actions that are
// identified by their position, and those with a key of their own that the other run also has.
func alike(actions, other []Action) []Action {
	return slices.DeleteFunc(slices.Clone(actions), func(d Action) bool {
		return named(d.Key) && !slices.ContainsFunc(other, func(o Action) bool { return o.Key == d.Key })
	})
}

// named reports whether a key is more than a position in the order ("q1", in a part "part/q1",
// another attempt "q1#2").
func named(key string) bool {
	place, _, _ := strings.Cut(key[strings.LastIndexByte(key, '/')+1:], "#")
	digits, ok := strings.CutPrefix(place, "q")
	return !ok || digits == "" || strings.Trim(digits, "0123456789") != ""
}

// inside reports whether a key belongs to an action within an effect.
func (f *Effects) inside(key string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.wanted != nil && slices.ContainsFunc(f.wanted.keys, func(effect string) bool { return strings.HasPrefix(key, effect+"/") })
}

// actions returns the effects that were requested.
func (f *Effects) actions() []Action {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.wanted == nil {
		return nil
	}
	all := make([]Action, len(f.wanted.keys))
	for i, key := range f.wanted.keys {
		all[i] = Action{key, "does " + key}
	}
	return all
}

// difference lists the lines that only one of the two runs has.
func difference(was, is []string) string {
	var diff strings.Builder
	for _, line := range was {
		if !slices.Contains(is, line) {
			diff.WriteString("- " + line + "\n")
		}
	}
	for _, line := range is {
		if !slices.Contains(was, line) {
			diff.WriteString("+ " + line + "\n")
		}
	}
	return diff.String()
}
