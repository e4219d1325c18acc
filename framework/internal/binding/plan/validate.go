package plan

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"

	"github.com/go-playground/validator/v10"

	"github.com/kagami-mcp/kagami/framework/internal/binding/jsonedit"
	"github.com/kagami-mcp/kagami/framework/internal/binding/report"
	"github.com/kagami-mcp/kagami/framework/internal/binding/rules"
	"github.com/kagami-mcp/kagami/framework/internal/binding/schema"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// run asks validator about a value of the plan's type.
func (p *Plan) run(ctx context.Context, v reflect.Value) (validator.ValidationErrors, error) {
	v = reflect.Indirect(v)
	switch {
	case !v.IsValid():
		return nil, nil
	case p.diveTag != "":
		return p.ask(func(rules *validator.Validate) error { return rules.VarCtx(ctx, v.Interface(), p.diveTag) })
	}
	return p.ask(func(rules *validator.Validate) error { return rules.StructCtx(ctx, v.Addr().Interface()) })
}

// ask calls validator, which panics on values that it did not expect.
func (p *Plan) ask(question func(*validator.Validate) error) (failed validator.ValidationErrors, err error) {
	defer report.Recovered(&err)
	result := question(p.rules())
	if errors.As(result, &failed) {
		return failed, nil
	}
	return nil, result
}

// judge adds the findings of validator to the findings of decoding. It does nothing if decoding found nothing
// and all fast checks have accepted.
func (p *Plan) judge(ctx context.Context, d *decoder, raw []byte, v reflect.Value) {
	if p.rules == nil || p.quick && !d.doubt && d.total == 0 {
		return
	}
	failed, err := p.run(ctx, v)
	if d.unpanicked(err) != nil {
		d.file(Finding{Issue: report.Issue{Rule: report.RulePanic, Hint: "A rule does not fit the kind of value that was sent."}, Node: p.root})
		return
	}
	d.decoded = len(d.found)
	values := finder{raw: raw}
	for _, fe := range failed {
		l := locator{}
		switch {
		case len(d.found) >= maxFindings:
			d.total++
		case l.locate(p.root, v, fe.StructNamespace()):
			p.fileFailure(ctx, d, &values, l, fe)
		}
	}
}

// fileFailure files one failed tag, unless it is about a value that was not
// sent, is not part of the JSON form, or could not be decoded.
func (p *Plan) fileFailure(ctx context.Context, d *decoder, values *finder, l locator, fe validator.FieldError) {
	path := pointerOf(l.path)
	if faulty(d.found[:d.decoded], path) || d.lostKeys(path, l.n) {
		return
	}
	rule := fe.ActualTag()
	if !l.blamesKey(d.found, path, fe) {
		l.keys = nil
	}
	value, sent := values.find(path)
	sent = sent && (l.keys != nil || jsontext.KindOf(value) != jsontext.KindNull) && !d.dropped(path, value)
	d.mendable = d.mendable || string(value) == `""`
	_, aboutPresence := rules.PresenceSentences[rule]
	if !sent && !aboutPresence {
		return
	}
	if sent && strings.HasPrefix(rule, "required_") {
		// The value was sent, so it is present, even if it is zero. The rules behind this one
		// were not checked yet.
		failed, ok := p.next(ctx, l.c, rule, fe)
		if ok {
			return
		}
		rule = failed
	}
	f := l.finding(p, path, rule, value, sent)
	parent, name := jsonedit.SplitPointer(path)
	if other, _, between := f.Between(name); between && at(d.found, jsontext.Pointer(parent, other.Name)) {
		return // there is nothing to compare with
	}
	d.total++
	d.found = append(d.found, f)
	if f.Key == nil {
		p.fileBelow(ctx, d, values, l, fe)
	}
}

// fileBelow files faults inside of a list or map that broke a rule of its own, since validator
// does not look into it then. A long one has most likely too many items, so only its beginning
// is judged.
func (p *Plan) fileBelow(ctx context.Context, d *decoder, values *finder, l locator, fe validator.FieldError) {
	v := reflect.Indirect(reflect.ValueOf(fe.Value()))
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
	failed, _ := p.ask(func(rules *validator.Validate) error { return rules.VarCtx(ctx, v.Interface(), tag) })
	for _, fe := range failed {
		inner := l
		inner.path = slices.Clip(l.path)
		if len(d.found) < maxFindings && inner.walk(l.n, l.c, v, fe.StructNamespace()) {
			p.fileFailure(ctx, d, values, inner, fe)
		}
	}
}

// dropped reports whether a value was "" and counts as not given.
func (d *decoder) dropped(path string, value []byte) bool {
	return string(value) == `""` && slices.Contains(d.repaired, path)
}

// at reports whether found has a finding about the value at path itself.
func at(found []Finding, path string) bool {
	return slices.ContainsFunc(found, func(f Finding) bool { return f.Path == path })
}

// faulty reports whether the value at path, or one around it, is among found.
func faulty(found []Finding, path string) bool {
	return slices.ContainsFunc(found, func(f Finding) bool {
		return f.Path == "" || path == f.Path || strings.HasPrefix(path, f.Path+"/")
	})
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

// next checks the rules that follow a failed one.
func (p *Plan) next(ctx context.Context, c *rules.Constraints, failed string, fe validator.FieldError) (name string, ok bool) {
	if c == nil {
		return "", true
	}
	i := slices.IndexFunc(c.Rules, func(r rules.Rule) bool { return r.Name == failed })
	rest := rules.Constraints{Rules: c.Rules[i+1:]}
	tag := rest.Tag(fe.Type(), false)
	if tag == "" || rest.Relates() {
		return "", true
	}
	if errs, ok := errors.AsType[validator.ValidationErrors](p.rules().VarCtx(ctx, fe.Value(), tag)); ok {
		return errs[0].ActualTag(), false
	}
	return "", true
}

// finding words one failed rule.
func (l *locator) finding(p *Plan, path, rule string, value []byte, sent bool) Finding {
	f := Finding{Issue: report.Issue{Path: path, Rule: rule, Want: p.wanted(l.n, l.c)}, Node: l.n, Rules: l.c, Field: l.f, owner: l.owner}
	switch {
	case l.keys != nil:
		_, name := jsonedit.SplitPointer(path)
		f.Got = "the key " + report.QuoteShort(name)
		f.Want = "keys that are " + schema.Describe(p.Words(&StringNode{reflect.TypeFor[string]()}, l.keys))
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

// Between is the other member of a failed rule, and where the member must be: above the other
// (1), below it (-1), or equal to it (0).
func (f Finding) Between(name string) (other *Member, sign int, ok bool) {
	if f.owner == nil || f.Field == nil || f.Field.Name != name || f.Rules == nil || f.Missing {
		return nil, 0, false
	}
	switch f.Rule {
	case "gtfield", "gtefield":
		sign = 1
	case "ltfield", "ltefield":
		sign = -1
	case "eqfield":
	default:
		return nil, 0, false
	}
	i := slices.IndexFunc(f.Rules.Rules, func(r rules.Rule) bool { return r.Name == f.Rule })
	if i < 0 {
		return nil, 0, false
	}
	for _, member := range f.owner.Fields {
		if member.goName == f.Rules.Rules[i].Param {
			return member, sign, true
		}
	}
	return nil, 0, false
}
