package plan

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"

	"github.com/go-playground/validator/v10"

	"github.com/kagami-mcp/kagami/framework/internal/binding/gotype"
	"github.com/kagami-mcp/kagami/framework/internal/binding/jsonedit"
	"github.com/kagami-mcp/kagami/framework/internal/binding/report"
	"github.com/kagami-mcp/kagami/framework/internal/binding/rules"
	"github.com/kagami-mcp/kagami/framework/internal/binding/schema"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// run asks validator about a value of the plan's type, first for the rules about presence.
func (p *Plan) run(ctx context.Context, v reflect.Value) (failed validator.ValidationErrors, err error) {
	v = behind(v)
	if !v.IsValid() {
		return nil, nil
	}
	question := func(rules *validator.Validate) error {
		if p.diveTag != "" {
			return rules.VarCtx(ctx, v.Interface(), p.diveTag)
		}
		return rules.StructCtx(ctx, v.Addr().Interface())
	}
	if p.presence != nil {
		failed, err = p.ask(p.presence, question)
		failed = slices.DeleteFunc(failed, func(fe validator.FieldError) bool { return !aboutPresence(fe) }) // of types that read themselves
	}
	if err == nil {
		var more validator.ValidationErrors
		more, err = p.ask(p.rules, question)
		failed = append(failed, more...)
	}
	return failed, err
}

func aboutPresence(fe validator.FieldError) bool {
	_, is := rules.PresenceSentences[fe.ActualTag()]
	return is
}

// ask calls a validator, which panics on values that it did not expect.
func (p *Plan) ask(judge func() *validator.Validate, question func(*validator.Validate) error) (failed validator.ValidationErrors, err error) {
	defer report.Recovered(&err)
	result := question(judge())
	if errors.As(result, &failed) {
		return failed, nil
	}
	return nil, result
}

// judge adds the findings of rules to the findings of decoding. It asks validator about the whole value only if
// the fast checks cannot speak for it: they do not know all rules of the plan, or doubt a value that blame could
// not judge. A value that was not read to its end is not judged.
func (p *Plan) judge(ctx context.Context, d *decoder, raw []byte, v reflect.Value) {
	d.decoded = len(d.found)
	if p.rules == nil || p.quick && !d.doubt || d.full() {
		for _, f := range d.broken {
			if !faulty(d.found[:d.decoded], f.Path) {
				d.found = append(d.found, f)
			}
		}
		return
	}
	failed, err := p.run(ctx, v)
	if len(failed) > 0 && d.respelled { // only now the spellings of keys matter
		again := &decoder{plan: p, repair: d.repair, most: d.most, texts: texts{bound: len(raw)}, keyNames: map[keyName]string{}}
		v.SetZero()
		again.read(p.root, raw, v, nil)
		d.keyNames = again.keyNames
		failed, err = p.run(ctx, v) // its failures name the keys of this reading; the first had others
	}
	if d.unpanicked(err) != nil {
		d.file(Finding{Issue: report.Issue{Rule: report.RulePanic, Hint: "A rule does not fit the kind of value that was sent."}, Node: p.root})
		return
	}
	const few = 2 * maxFindings // most failures are filed; each further walk over the text takes twice as many
	for size := few; len(failed) > 0 && len(d.found) < d.most; size *= 2 {
		next := failed[:min(size, len(failed))]
		failed = failed[len(next):]
		p.fileFailures(ctx, d, raw, next, func(fe validator.FieldError) (l locator, ok bool) {
			l.keyNames = d.keyNames
			ok = l.locate(p.root, v, fe.StructNamespace())
			return l, ok
		})
	}
}

// fileFailures files failed tags at the places that locate finds for them.
func (p *Plan) fileFailures(ctx context.Context, d *decoder, raw []byte, failed validator.ValidationErrors, locate func(validator.FieldError) (locator, bool)) {
	type failure struct {
		locator
		path, parent string
		fe           validator.FieldError
	}
	var all []failure
	var paths []string
	for _, fe := range failed {
		l, ok := locate(fe)
		path := pointerOf(l.path)
		unread := fe.ActualTag() == "unique" && faultyBelow(d.found[:d.decoded], path) // all of these are zero values
		if ok && !unread && !faulty(d.found[:d.decoded], path) && !d.lostKeys(path, l.n) {
			parent, _ := jsonedit.SplitPointer(path)
			all = append(all, failure{l, path, parent, fe})
			paths = append(paths, path, parent)
		}
	}
	spots := seek(raw, paths)
	for _, f := range all {
		if len(d.found) >= d.most {
			return
		}
		if around := spots[f.parent]; !spots[f.path].there && (!around.there || blank(around.value)) {
			continue // nothing is missing in an object that was left out
		}
		p.fileFailure(ctx, d, raw, f.locator, f.path, spots[f.path], f.fe)
	}
}

// fileFailure files one failed tag, unless it is about a value that was not sent. A rule that demands a value is
// about one that was not: a zero that was sent is present.
func (p *Plan) fileFailure(ctx context.Context, d *decoder, raw []byte, l locator, path string, at spot, fe validator.FieldError) {
	rule := fe.ActualTag()
	if !l.blamesKey(d.found, path, fe) {
		l.keys = nil
	}
	sent := at.there && (l.keys != nil || jsontext.KindOf(at.value) != jsontext.KindNull) && !l.dropped(d, at.value)
	d.mendable = d.mendable || string(at.value) == `""` && l.ofMember() && !l.f.Required
	if demands := aboutPresence(fe) && !strings.HasPrefix(rule, "excluded_"); sent == demands {
		if sent {
			p.fileInside(ctx, d, raw, l, fe)
		}
		return
	}
	f := l.finding(p, path, rule, at.value, sent)
	parent, name := jsonedit.SplitPointer(path)
	if other, _, between := f.Between(name); between && isAt(d.found, jsontext.Pointer(parent, other.Name)) {
		return // there is nothing to compare with
	}
	if slices.ContainsFunc(d.found, func(g Finding) bool {
		return g.Key == nil && (f.Key == nil && g.Path == path || strings.HasPrefix(g.Rule, "excluded_") && strings.HasPrefix(path, g.Path+"/"))
	}) {
		return // a rule about its presence is there already, or about the value around it
	}
	d.found = append(d.found, f)
	if f.Key == nil && !aboutPresence(fe) {
		p.fileBelow(ctx, d, raw, l, fe)
	}
}

// fileInside files members that are missing or not allowed in a zero struct that was sent, or in an array of such:
// validator has not looked into it, since a rule demands it and it is zero.
func (p *Plan) fileInside(ctx context.Context, d *decoder, raw []byte, l locator, fe validator.FieldError) {
	t := fe.Type()
	if t != l.n.GoType() || t.Kind() != reflect.Struct && t.Kind() != reflect.Array || p.presence == nil {
		return
	}
	if l.c != nil && slices.ContainsFunc(l.c.Rules, rules.Rule.EndsTag) {
		return
	}
	zero := reflect.MakeSlice(reflect.SliceOf(t), 1, 1)
	tag := "dive" + strings.Repeat(",dive", rules.DivesTo(t))
	failed, _ := p.ask(p.presence, func(rules *validator.Validate) error { return rules.VarCtx(ctx, zero.Interface(), tag) })
	p.fileFailures(ctx, d, raw, failed, func(fe validator.FieldError) (locator, bool) {
		return l.inside(zero.Index(0), strings.TrimPrefix(fe.StructNamespace(), "[0]"))
	})
}

// fileBelow files faults inside of a list or map that broke a rule of its own, since validator
// does not look into it then. A long one has most likely too many items, so only its beginning
// is judged.
func (p *Plan) fileBelow(ctx context.Context, d *decoder, raw []byte, l locator, fe validator.FieldError) {
	v := behind(reflect.ValueOf(fe.Value()))
	switch {
	case l.c == nil || !v.IsValid():
		return
	case v.Kind() == reflect.Slice:
		v = v.Slice(0, min(v.Len(), maxFindings))
	case v.Kind() != reflect.Map || v.Len() > maxFindings:
		return
	}
	tag := (&rules.Constraints{Keys: l.c.Keys, Elem: l.c.Elem}).Tag(v.Type(), false)
	if tag == "" {
		return
	}
	failed, _ := p.ask(p.rules, func(rules *validator.Validate) error { return rules.VarCtx(ctx, v.Interface(), tag) })
	p.fileFailures(ctx, d, raw, failed, func(fe validator.FieldError) (locator, bool) { return l.inside(v, fe.StructNamespace()) })
}

// dropped reports whether the value of a member was "" and counts as not given.
func (l *locator) dropped(d *decoder, value []byte) bool {
	return d.repair && string(value) == `""` && l.ofMember() && l.f.blank(d, value)
}

// ofMember reports whether the place is a member, and not a value in a list or map inside of one.
func (l *locator) ofMember() bool {
	if l.f == nil || l.n != seenThrough(l.f.Node) {
		return false
	}
	last := l.path[len(l.path)-1]
	return last.member && last.name == l.f.Name
}

// isAt reports whether found has a finding about the value at path itself.
func isAt(found []Finding, path string) bool {
	return slices.ContainsFunc(found, func(f Finding) bool { return f.Path == path })
}

// faulty reports whether the value at path, or one around it, is among found.
func faulty(found []Finding, path string) bool {
	return slices.ContainsFunc(found, func(f Finding) bool {
		return f.Path == "" || path == f.Path || strings.HasPrefix(path, f.Path+"/")
	})
}

// faultyBelow reports whether a value inside of the value at path is among found.
func faultyBelow(found []Finding, path string) bool {
	return slices.ContainsFunc(found, func(f Finding) bool { return strings.HasPrefix(f.Path, path+"/") })
}

// lostKeys reports whether entries of the map at path have unreadable keys: the decoded map is
// smaller than the one that was sent then.
func (d *decoder) lostKeys(path string, n Node) bool {
	if _, ok := n.(*MapNode); !ok {
		return false
	}
	return slices.ContainsFunc(d.found, func(f Finding) bool {
		parent, _ := jsonedit.SplitPointer(f.Path)
		return f.Node == n && parent == path && f.Path != ""
	})
}

// finding words one failed rule.
func (l *locator) finding(p *Plan, path, rule string, value []byte, sent bool) Finding {
	f := Finding{Issue: report.Issue{Path: path, Rule: rule, Want: p.wanted(l.n, l.c)}, Node: l.n, Rules: l.c, Field: l.f, owner: l.owner}
	switch {
	case l.keys != nil:
		_, name := jsonedit.SplitPointer(path)
		f.Got = "the key " + report.QuoteShort(name)
		f.Want = "keys that are " + schema.Describe(p.Words(l.key.node(), l.keys))
		f.Key, f.Rules = l.key, l.keys
	case !sent:
		f.Missing, f.Rule = true, report.RuleRequired
	case l.secret:
		f.Got = "a value that is not shown"
	default:
		f.Got = p.got(l.n, value)
	}
	if l.f != nil && sent {
		f.Hint = l.f.defaultWords()
	}
	return f
}

// signs are the rules between two members that Between knows.
var signs = map[string]int{"gtfield": 1, "gtefield": 1, "ltfield": -1, "ltefield": -1, "eqfield": 0}

// Between is the other member of a failed rule, and where the member must be: above the other
// (1), below it (-1), or equal to it (0).
func (f Finding) Between(name string) (other *Member, sign int, ok bool) {
	sign, ok = signs[f.Rule]
	if !ok || f.owner == nil || f.Field == nil || f.Field.Name != name || f.Rules == nil || f.Missing {
		return nil, 0, false
	}
	i := slices.IndexFunc(f.Rules.Rules, func(r rules.Rule) bool { return r.Name == f.Rule })
	if i < 0 {
		return nil, 0, false
	}
	t, own := f.owner.t, f.Field.index[:len(f.Field.index)-1] // the struct that declares the field; the rule names a field of it
	if len(own) > 0 {
		t = gotype.Deref(t.FieldByIndex(own).Type)
	}
	named, _ := t.FieldByName(f.Rules.Rules[i].Param)
	other = f.owner.byIndex(slices.Concat(own, named.Index))
	return other, sign, other != nil
}
