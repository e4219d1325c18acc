package binding

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"reflect"
	"runtime/debug"
	"slices"

	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// Bounds of the corrected call.
const (
	maxTryInput = 4 << 10
	maxTry      = 1 << 10
	maxRounds   = 8
	maxExamples = 16
)

// suggestion is correct for callers to whom a fault of ours must not cost the answer: a panic is
// written to the standard error stream, and there is no suggestion. In the binary of a test it
// goes on, so that the test fails.
func (p *Plan) suggestion(ctx context.Context, raw []byte, e *Invalid) (try string, examples []string) {
	if flag.Lookup("test.v") != nil {
		return p.correct(ctx, raw, e)
	}
	defer func() {
		if value := recover(); value != nil {
			_, _ = fmt.Fprintf(os.Stderr, "kagami: correcting a call of %s: panic: %v\n%s", p.t, value, debug.Stack())
			try, examples = "", nil
		}
	}()
	return p.correct(ctx, raw, e)
}

// correct builds a valid call from the caller's own: valid values stay, wrong ones are corrected, missing
// ones get an example. The result is decoded before it is shown; "" if none is found. examples are the
// pointers of values that are examples.
func (p *Plan) correct(ctx context.Context, raw []byte, e *Invalid) (try string, examples []string) {
	if len(raw) > maxTryInput || p.showsSecret(raw) || strangers(e.found) > maxGuesses {
		return "", nil
	}
	a := &attempt{plan: p, raw: raw, times: map[string]int{}}
	found := e.found
	for range maxRounds {
		if len(found) == 0 {
			return "", nil
		}
		before := a.raw
		a.mendAll(found)
		if bytes.Equal(a.raw, before) || jsontext.Check(a.raw, jsontext.DefaultLimits()) != nil || len(a.raw) > maxTry {
			return "", nil
		}
		d := &decoder{plan: p}
		if err := p.pass(ctx, d, a.raw, reflect.New(p.t).Elem()); err == nil {
			return string(jsontext.Compact(nil, a.raw)), a.examplesLeft()
		}
		found = d.found
	}
	return "", nil
}

// strangers counts the members that do not exist.
func strangers(found []finding) (n int) {
	for _, f := range found {
		if f.Rule == ruleUnknown {
			n++
		}
	}
	return n
}

// showsSecret reports whether the caller sent a secret: it must not be written
// back into texts that are logged.
func (p *Plan) showsSecret(raw []byte) bool {
	return p.secrets().in(p.root, raw)
}

func (p *Plan) secrets() secrets { return secrets{somewhere: p.secretive, loose: p.opts.AllowUnknown} }

// attempt is a call that is being corrected.
type attempt struct {
	plan     *Plan
	raw      []byte
	times    map[string]int // how often each place was corrected
	examples []string       // pointers of the values that the caller did not mean
}

// mendAll corrects names first, then values, and then what depends on other members: a relation can be
// judged only when both sides are right, and a member is missing only if no other name meant it.
func (a *attempt) mendAll(found []finding) {
	stage := slices.MinFunc(found, func(x, y finding) int { return x.stage() - y.stage() }).stage()
	for _, f := range found {
		if f.stage() == stage {
			a.mend(f)
		}
	}
}

// stage is when a finding is corrected.
func (f finding) stage() int {
	switch {
	case f.Rule == ruleUnknown || f.Rule == ruleDuplicate:
		return 0
	case f.key != nil: // after the value of the entry, whose path has the key
		return 2
	case f.missing || f.relates():
		return 3
	}
	return 1
}

// relates reports whether the finding is about what another member is.
func (f finding) relates() bool { return rule{name: f.Rule}.relates() }

// mend corrects one finding.
func (a *attempt) mend(f finding) {
	parent, name := splitPointer(f.Path)
	value, given := valueAt(a.raw, f.Path)
	switch {
	case f.Rule == ruleUnknown:
		a.rename(f, parent, name)
	case f.Rule == ruleDuplicate:
		a.edit(parent, func(object []byte) []byte { return dropRepeated(object, name) })
	case !given && !f.missing:
		// It was removed or renamed before.
	case f.key != nil:
		a.mendKey(f, parent, name)
	case f.relates() && a.mendBetween(f, parent, name):
	case !given:
		a.addExample(f, parent, name)
	default:
		a.mendValue(f, value)
	}
}

// mendValue corrects a value that is wrong: it becomes the nearest right one, or the default, or nothing,
// or an example, whichever is possible.
func (a *attempt) mendValue(f finding, value []byte) {
	first := a.times[f.Path] == 0
	a.times[f.Path]++
	if first && !f.relates() {
		if near := a.near(f, value); near != nil {
			a.edit(f.Path, func([]byte) []byte { return near })
			return
		}
		if more, added := a.filled(f, value); more != nil {
			a.edit(f.Path, func([]byte) []byte { return more })
			a.examples = append(a.examples, added...)
			return
		}
	}
	parent, name := splitPointer(f.Path)
	if f.optional(name) && a.times[f.Path] < 3 {
		a.edit(parent, func(object []byte) []byte { return withoutMember(object, name) })
		return
	}
	a.example(f)
}

// near is what the value was meant to be. Where there are secrets, one may be inside of what holds other
// values and should not, and in a text that holds them.
func (a *attempt) near(f finding, value []byte) []byte {
	p := a.plan
	if p.secretive && misplaced(p.printer.words(f.n, f.c), value) {
		return nil
	}
	near := p.near(f.n, f.c, value)
	if near == nil || p.secrets().in(f.n, near) {
		return nil
	}
	return near
}

// misplaced reports whether a value holds others, but not in the way that is wanted.
func misplaced(k keywords, value []byte) bool {
	kind := jsontext.KindOf(value)
	return (kind == jsontext.KindObject || kind == jsontext.KindArray) && !sameShape(k, value)
}

// optional reports whether the value is that of a member of this name that may be left out. f may be the
// list or the map that the value is in.
func (f finding) optional(name string) bool {
	return f.f != nil && f.f.name == name && bare(f.f.node) == bare(f.n) && !f.f.required && !f.missing
}

// example puts an example in the place of a value.
func (a *attempt) example(f finding) {
	example := a.plan.example(f.n, f.c, 0)
	a.edit(f.Path, func([]byte) []byte { return example })
	a.note(f.Path, example)
}

// addExample adds the example of a member that is missing.
func (a *attempt) addExample(f finding, parent, name string) {
	example := a.plan.example(f.n, f.c, 0)
	if a.edit(parent, func(object []byte) []byte { return withMember(object, name, example) }) {
		a.note(f.Path, example)
	}
}

// edit changes the value at path; false if there is none.
func (a *attempt) edit(path string, fn func([]byte) []byte) bool {
	out, found := edit(a.raw, path, fn)
	if found {
		a.raw = out
	}
	return found
}

// note notes the values in example, which stands at path.
func (a *attempt) note(path string, example []byte) {
	switch {
	case jsontext.KindOf(example) == jsontext.KindObject && string(example) != "{}":
		for key, value := range jsontext.Members(example) {
			a.note(jsontext.Pointer(path, key.String()), value)
		}
	case jsontext.KindOf(example) == jsontext.KindArray && jsontext.Len(example) > 0:
		i := 0
		for item := range jsontext.Elements(example) {
			a.note(jsontext.PointerIndex(path, i), item)
			i++
		}
	default:
		a.examples = append(a.examples, path)
	}
}

// examplesLeft are the examples that are still in the call.
func (a *attempt) examplesLeft() (left []string) {
	for _, path := range a.examples {
		if _, there := valueAt(a.raw, path); there && !slices.Contains(left, path) {
			left = append(left, path)
		}
	}
	if len(left) > maxExamples {
		return []string{""}
	}
	return left
}

// rename gives a misspelt member its name, or removes it if nobody knows what was meant. Where there are
// secrets, its value may be one, under a name that only looks like another.
func (a *attempt) rename(f finding, parent, name string) {
	owner, ok := f.n.(*structNode)
	if !ok {
		return
	}
	a.edit(parent, func(object []byte) []byte {
		value, _ := jsontext.Member(object, name)
		rest := withoutMember(object, name)
		meant := a.plan.meant(owner, object, name, value)
		if meant == "" || a.plan.secretive && flatten(meant) != flatten(name) {
			return rest
		}
		if target := owner.fields[owner.byName[meant]]; target.secret || a.plan.secrets().in(target.node, value) {
			return rest
		}
		return withMember(rest, meant, value)
	})
}

// meant is the free member that a misspelt one stands for: the one with the nearest name, or the only one
// that is missing, if the value fits there; "" if there is none.
func (p *Plan) meant(owner *structNode, object []byte, name string, value []byte) string {
	var free, missing []string
	for _, member := range owner.fields {
		if _, given := jsontext.Member(object, member.name); given {
			continue
		}
		free = append(free, member.name)
		if member.required {
			missing = append(missing, member.name)
		}
	}
	if best := nearestName(name, free); best != "" {
		return best
	}
	for key := range jsontext.Members(object) {
		if _, known := owner.byName[key.String()]; !known && !key.Is(name) {
			return ""
		}
	}
	if len(missing) != 1 {
		return ""
	}
	only := owner.fields[owner.byName[missing[0]]]
	if !p.fits(only.node, only.c, value) && p.near(only.node, only.c, value) == nil {
		return ""
	}
	return only.name
}
