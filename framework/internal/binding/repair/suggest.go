package repair

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/kagami-mcp/kagami/framework/internal/binding/jsonedit"
	"github.com/kagami-mcp/kagami/framework/internal/binding/plan"
	"github.com/kagami-mcp/kagami/framework/internal/binding/report"
	"github.com/kagami-mcp/kagami/framework/internal/binding/rules"
	"github.com/kagami-mcp/kagami/framework/internal/binding/schema"
	"github.com/kagami-mcp/kagami/framework/internal/binding/spelling"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// Bounds of the corrected call.
const (
	maxTryInput = 4 << 10
	maxTry      = 1 << 10
	maxRounds   = 8
	maxExamples = 16

	maxExampleText = 512 // bytes of all pointers together
)

// Suggest corrects a call from the findings about it. A panic of this package must not cost the caller the
// answer: Suggest writes it to the standard error stream, and returns no suggestion. In the binary of a test
// it lets the panic pass, so that the test fails.
func Suggest(ctx context.Context, p *plan.Plan, raw []byte, found []plan.Finding) (try string, examples []string) {
	g := guesser{p}
	if flag.Lookup("test.v") != nil {
		return g.correct(ctx, raw, found)
	}
	defer func() {
		if value := recover(); value != nil {
			_, _ = fmt.Fprintf(os.Stderr, "kagami: correcting a call of %s: panic: %v\n%s", p.Type(), value, debug.Stack())
			try, examples = "", nil
		}
	}()
	return g.correct(ctx, raw, found)
}

// guesser finds values that a plan accepts.
type guesser struct{ *plan.Plan }

// correct builds a valid call from the caller's own call: valid values stay, wrong values are corrected, and
// missing values get an example. It decodes the call before it returns it, and returns "" if it finds no valid
// call. examples are JSON pointers of the values that are only examples.
func (p guesser) correct(ctx context.Context, raw []byte, found []plan.Finding) (try string, examples []string) {
	if len(raw) > maxTryInput || p.ShowsSecret(raw) || strangers(found) > plan.MaxGuesses {
		return "", nil
	}
	if inner, named := p.wrapped(raw, found); inner != nil {
		if p.ShowsSecret(inner) {
			return "", nil
		}
		next, err := p.Retry(ctx, inner)
		if err == nil {
			return string(jsontext.Compact(nil, inner)), nil
		}
		if named || 2*strangers(next) <= jsontext.Len(inner) {
			raw, found = inner, next
		}
	}
	a := &attempt{plan: p, raw: raw, times: map[string]int{}}
	for range maxRounds {
		if len(found) == 0 {
			return "", nil
		}
		before := a.raw
		a.mendAll(found)
		if bytes.Equal(a.raw, before) || jsontext.Check(a.raw, jsontext.DefaultLimits()) != nil || len(a.raw) > maxTry {
			return "", nil
		}
		next, err := p.Retry(ctx, a.raw)
		if err == nil {
			return string(jsontext.Compact(nil, a.raw)), a.examplesLeft()
		}
		found = next
	}
	return "", nil
}

// wrappers are names that a model puts around the arguments.
var wrappers = []string{"arguments", "args", "kwargs", "params", "parameters", "input", "payload", "body", "request"}

// wrapped returns the object that is the only member of the call, or is written in the text of that member, if
// the member does not exist. If named is set, the member has the name of a wrapper. Otherwise no argument that
// is an object has a near name or takes the object: a model may name the arguments after the tool or its
// subject. Without such an object, wrapped returns nil.
func (p guesser) wrapped(raw []byte, found []plan.Finding) (inner []byte, named bool) {
	member, ok := onlyPart(raw)
	if !ok || jsontext.KindOf(raw) != jsontext.KindObject {
		return nil, false
	}
	for _, f := range found {
		parent, name := jsonedit.SplitPointer(f.Path)
		owner, ok := f.Node.(*plan.StructNode)
		if f.Rule != report.RuleUnknown || parent != "" || !ok {
			continue
		}
		if negated(name) {
			return nil, false
		}
		if inner, ok := jsonedit.Unquoted(member, jsontext.KindObject); ok {
			member = inner
		}
		named = slices.Contains(wrappers, strings.ToLower(name))
		if jsontext.KindOf(member) != jsontext.KindObject || !named && (jsontext.Len(member) == 0 || p.takes(owner, name, member)) {
			return nil, false
		}
		return member, named
	}
	return nil, false
}

// takes reports whether the object may be meant for a member of owner: one with a near name that is an object
// or a list, or a struct that takes it. A map takes any object.
func (p guesser) takes(owner *plan.StructNode, name string, object []byte) bool {
	near := spelling.Nearest(name, names(owner))
	return slices.ContainsFunc(owner.Fields, func(f *plan.Member) bool {
		_, isStruct := plan.Bare(f.Node).(*plan.StructNode)
		return isStruct && p.Fits(f.Node, f.Rules, object) ||
			f.Name == near && (schema.SameShape(p.Words(f.Node, f.Rules), object) || p.itemsOf(f.Node, f.Rules, object) != nil)
	})
}

// names returns the names of the members of n.
func names(n *plan.StructNode) (all []string) {
	for _, member := range n.Fields {
		all = append(all, member.Name)
	}
	return all
}

// strangers counts the members that do not exist.
func strangers(found []plan.Finding) (n int) {
	for _, f := range found {
		if f.Rule == report.RuleUnknown {
			n++
		}
	}
	return n
}

// attempt is a call that is being corrected.
type attempt struct {
	plan     guesser
	raw      []byte
	times    map[string]int // how often the value at each pointer was corrected
	unknown  map[string]int // how many members of an object did not exist when the names were corrected
	examples []string       // pointers of the values that the caller did not mean
}

// mendAll corrects names first, then values, and then what depends on other members: a relation can be
// judged only when both sides are right, and a member is missing only if no other name meant it.
func (a *attempt) mendAll(found []plan.Finding) {
	stage := stageOf(slices.MinFunc(found, func(x, y plan.Finding) int { return stageOf(x) - stageOf(y) }))
	a.unknown = map[string]int{}
	for _, f := range found {
		if parent, _ := jsonedit.SplitPointer(f.Path); f.Rule == report.RuleUnknown {
			a.unknown[parent]++
		}
	}
	last := lastExcluded(found)
	for i, f := range found {
		if parent, _ := jsonedit.SplitPointer(f.Path); stageOf(f) == stage && (!excludes(f) || last[parent] == i) {
			a.mend(f)
		}
	}
}

// lastExcluded returns, for each object, the last finding about a member that excludes another. Without that
// member the others may be right: of two members that exclude each other, the first stays.
func lastExcluded(found []plan.Finding) map[string]int {
	last := map[string]int{}
	for i, f := range found {
		if excludes(f) {
			parent, _ := jsonedit.SplitPointer(f.Path)
			last[parent] = i
		}
	}
	return last
}

func excludes(f plan.Finding) bool { return strings.HasPrefix(f.Rule, "excluded_") }

// stageOf returns when a finding is corrected.
func stageOf(f plan.Finding) int {
	switch {
	case f.Rule == report.RuleUnknown || f.Rule == report.RuleDuplicate:
		return 0
	case f.Key != nil: // after the value of the entry, because the path of the value has the key
		return 2
	case f.Missing || relates(f):
		return 3
	}
	return 1
}

// relates reports whether the finding depends on the value of another member.
func relates(f plan.Finding) bool { return rules.Relates(f.Rule) }

// mend corrects one finding.
func (a *attempt) mend(f plan.Finding) {
	parent, name := jsonedit.SplitPointer(f.Path)
	value, given := jsonedit.ValueAt(a.raw, f.Path)
	switch {
	case f.Rule == report.RuleUnknown:
		a.rename(f, parent, name)
	case f.Rule == report.RuleDuplicate:
		a.edit(parent, func(object []byte) []byte { return jsonedit.DropRepeated(object, name) })
	case !given && !f.Missing:
		// It was removed or renamed before.
	case f.Key != nil:
		a.mendKey(f, parent, name)
	case relates(f) && a.mendBetween(f, parent, name):
	case !given:
		a.addExample(f, parent, name)
	default:
		a.mendValue(f, value)
	}
}

// mendValue corrects a value that is wrong. It tries the nearest right value first. Without one it removes
// an optional member, and replaces any other value by an example.
func (a *attempt) mendValue(f plan.Finding, value []byte) {
	first := a.times[f.Path] == 0
	a.times[f.Path]++
	if first && !relates(f) {
		if near := a.near(f, value); near != nil {
			a.edit(f.Path, func([]byte) []byte { return near })
			return
		}
	}
	if a.times[f.Path] < 3 && !relates(f) { // near may have made a list from a text, and the list may be too short
		if more, added := a.filled(f, value); more != nil {
			a.edit(f.Path, func([]byte) []byte { return more })
			a.examples = append(a.examples, added...)
			return
		}
	}
	parent, name := jsonedit.SplitPointer(f.Path)
	if optional(f, name) && a.times[f.Path] < 3 {
		a.edit(parent, func(object []byte) []byte { return jsonedit.WithoutMember(object, name) })
		return
	}
	a.example(f)
}

// near returns the value that the caller meant, or nil. In a type with secrets it refuses a container in
// the wrong place and a text that contains a secret member, because either may contain a secret.
func (a *attempt) near(f plan.Finding, value []byte) []byte {
	p := a.plan
	if p.Secretive && schema.Misplaced(p.Words(f.Node, f.Rules), value) {
		return nil
	}
	near := p.near(f.Node, f.Rules, value)
	if near == nil || bytes.Equal(near, value) || p.HoldsSecret(f.Node, near) {
		return nil
	}
	return near
}

// optional reports whether the finding is about the member itself and the member may be left out. For an item
// of a list or a map, f.Field is the member that contains the list or the map.
func optional(f plan.Finding, name string) bool {
	return f.Field != nil && f.Field.Name == name && plan.Bare(f.Field.Node) == plan.Bare(f.Node) && !f.Field.Required && !f.Missing
}

// example puts an example in the place of a value.
func (a *attempt) example(f plan.Finding) {
	example := a.plan.example(f.Node, f.Rules, 0)
	a.edit(f.Path, func([]byte) []byte { return example })
	a.note(f.Path, example)
}

// addExample adds the example of a member that is missing.
func (a *attempt) addExample(f plan.Finding, parent, name string) {
	example := a.plan.example(f.Node, f.Rules, 0)
	if a.edit(parent, func(object []byte) []byte { return jsonedit.WithMember(object, name, example) }) {
		a.note(f.Path, example)
	}
}

// edit changes the value at path. It returns false if there is no value.
func (a *attempt) edit(path string, fn func([]byte) []byte) bool {
	out, found := jsonedit.Edit(a.raw, path, fn)
	if found {
		a.raw = out
	}
	return found
}

// note adds the pointers of the values in example, which is at path, to the examples.
func (a *attempt) note(path string, example []byte) {
	if jsontext.Len(example) == 0 {
		a.examples = append(a.examples, path)
		return
	}
	for key, value := range jsontext.Members(example) {
		a.note(jsontext.Pointer(path, key.String()), value)
	}
	i := 0
	for item := range jsontext.Elements(example) {
		a.note(jsontext.PointerIndex(path, i), item)
		i++
	}
}

// examplesLeft returns the pointers of the examples that are still in the call. If they are too many or too
// long to be listed, it returns the pointer of the whole call.
func (a *attempt) examplesLeft() (left []string) {
	for _, path := range a.examples {
		if _, there := jsonedit.ValueAt(a.raw, path); there && !slices.Contains(left, path) {
			left = append(left, path)
		}
	}
	if len(left) > maxExamples || len(strings.Join(left, "")) > maxExampleText {
		return []string{""}
	}
	return left
}

// rename gives a misspelled member its right name, or removes the member if no name is near. In a type with
// secrets the value may be a secret, so only another case or other separators count as near.
func (a *attempt) rename(f plan.Finding, parent, name string) {
	owner, ok := f.Node.(*plan.StructNode)
	if !ok {
		return
	}
	a.edit(parent, func(object []byte) []byte {
		value, _ := jsontext.Member(object, name)
		rest := jsonedit.WithoutMember(object, name)
		meant := a.plan.meant(owner, object, name, value, a.unknown[parent] == 1)
		if meant == "" || a.plan.Secretive && spelling.Flatten(meant) != spelling.Flatten(name) {
			return rest
		}
		if target := owner.Fields[owner.ByName[meant]]; target.Secret || a.plan.HoldsSecret(target.Node, value) {
			return rest
		}
		return jsonedit.WithMember(rest, meant, value)
	})
}

// meant returns the unused member that a misspelled name stands for: the member with the nearest name. If no
// name is near, it returns the only missing required member, if the value fits and alone is set. alone reports
// that no other member has an unknown name. Otherwise meant returns "".
func (p guesser) meant(owner *plan.StructNode, object []byte, name string, value []byte, alone bool) string {
	var free, missing []string
	for _, member := range owner.Fields {
		if _, given := jsontext.Member(object, member.Name); given {
			continue
		}
		free = append(free, member.Name)
		if member.Required {
			missing = append(missing, member.Name)
		}
	}
	if best := spelling.Nearest(name, free); best != "" {
		return best
	}
	if !alone || len(missing) != 1 {
		return ""
	}
	only := owner.Fields[owner.ByName[missing[0]]]
	if negated(name) && !negated(only.Name) {
		return ""
	}
	if !p.Fits(only.Node, only.Rules, value) && p.near(only.Node, only.Rules, value) == nil {
		return ""
	}
	return only.Name
}
