package binding

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/go-playground/validator/v10"

	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// run asks validator, which panics on values it did not expect.
func (p *Plan) run(ctx context.Context, v reflect.Value) (failed validator.ValidationErrors, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("validator: %v", r)
		}
	}()
	v = reflect.Indirect(v)
	if !v.IsValid() {
		return nil, nil
	}
	var result error
	if p.diveTag != "" {
		result = p.rules().VarCtx(ctx, v.Interface(), p.diveTag)
	} else {
		result = p.rules().StructCtx(ctx, v.Addr().Interface())
	}
	if errors.As(result, &failed) {
		return failed, nil
	}
	return nil, result
}

// judge adds what validator finds to what decoding found. Where nothing was found
// and the acceptors are sure, it would find nothing.
func (p *Plan) judge(ctx context.Context, d *decoder, raw []byte, v reflect.Value) {
	if p.rules == nil || p.quick && !d.doubt && d.total == 0 {
		return
	}
	failed, err := p.run(ctx, v)
	if err != nil {
		d.file(finding{Issue: Issue{Rule: RulePanic, Hint: "A rule does not fit the kind of value that was sent."}, n: p.root})
		return
	}
	values := finder{raw: raw}
	for _, fe := range failed {
		if len(d.found) >= maxFindings {
			d.total++
			continue
		}
		p.fileFailure(ctx, d, &values, v, fe)
	}
}

// fileFailure files one failed tag, unless it is about a value that was not
// sent, is not part of the JSON form, or could not be decoded.
func (p *Plan) fileFailure(ctx context.Context, d *decoder, values *finder, v reflect.Value, fe validator.FieldError) {
	l := locator{}
	if !l.locate(p.root, v, fe.StructNamespace()) {
		return
	}
	path := pointerOf(l.path)
	if d.faulty(path) || d.lostKeys(path, l.n) {
		return
	}
	rule := fe.ActualTag()
	value, sent := values.find(path)
	sent = sent && jsontext.KindOf(value) != jsontext.KindNull
	_, aboutPresence := presenceSentences[rule]
	if !sent && !aboutPresence {
		return
	}
	if sent && strings.HasPrefix(rule, "required_") {
		// What was sent is there, be it zero; what else is asked of it was not
		// looked at yet.
		failed, ok := p.next(ctx, l.c, rule, fe)
		if ok {
			return
		}
		rule = failed
	}
	f := l.finding(p, path, rule, value, sent)
	parent, name := splitPointer(path)
	if other, _, between := f.between(name); between && d.faulty(jsontext.Pointer(parent, other.name)) {
		return // there is nothing to compare with
	}
	d.total++
	d.found = append(d.found, f)
}

// faulty reports whether the value at path, or one around it, has a finding.
func (d *decoder) faulty(path string) bool {
	return slices.ContainsFunc(d.found, func(f finding) bool {
		return f.Path == "" || path == f.Path || strings.HasPrefix(path, f.Path+"/")
	})
}

// lostKeys reports whether entries of the map at path have keys that could not
// be read: its size is not that of what was sent then.
func (d *decoder) lostKeys(path string, n node) bool {
	if _, ok := n.(*mapNode); !ok {
		return false
	}
	return slices.ContainsFunc(d.found, func(f finding) bool {
		parent, _ := splitPointer(f.Path)
		return f.n == n && parent == path && f.Path != ""
	})
}

// next judges a value by the rules that follow a failed one.
func (p *Plan) next(ctx context.Context, c *constraints, failed string, fe validator.FieldError) (name string, ok bool) {
	if c == nil {
		return "", true
	}
	i := slices.IndexFunc(c.rules, func(r rule) bool { return r.name == failed })
	rest := constraints{rules: c.rules[i+1:]}
	tag := rest.tag(fe.Type(), false)
	if tag == "" || rest.relates() {
		return "", true
	}
	if errs, ok := errors.AsType[validator.ValidationErrors](p.rules().VarCtx(ctx, fe.Value(), tag)); ok {
		return errs[0].ActualTag(), false
	}
	return "", true
}

// finding words one failed rule.
func (l *locator) finding(p *Plan, path, rule string, value []byte, sent bool) finding {
	f := finding{Issue: Issue{Path: path, Rule: rule, Want: p.wanted(l.n, l.c)}, n: l.n, c: l.c, f: l.f, owner: l.owner}
	switch {
	case l.inKeys(rule):
		_, name := splitPointer(path)
		f.Got = "the key " + quoteShort(name)
		f.Want = "keys that are " + describe(p.printer.words(&stringNode{reflect.TypeFor[string]()}, l.keys))
		f.key, f.c = l.key, l.keys
	case !sent:
		f.missing, f.Rule = true, RuleRequired
	case l.secret:
		f.Got = "a value that is not shown"
	default:
		f.Got = gotWords(value)
	}
	if l.f != nil && sent {
		f.Hint = l.f.defaultWords()
	}
	return f
}
