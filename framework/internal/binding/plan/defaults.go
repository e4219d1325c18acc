package plan

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/go-playground/validator/v10"

	"github.com/kagami-mcp/kagami/framework/internal/binding/jsonedit"
	"github.com/kagami-mcp/kagami/framework/internal/binding/rules"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// pendingDefault waits until all types are known and rules can be applied.
type pendingDefault struct {
	f    *Member
	text string
	path string
	tag  string // for validator
}

// defaultOf files the default tag and makes the member optional.
func (c *compiler) defaultOf(f *Member, cand candidate) {
	text, ok := cand.sf.Tag.Lookup("default")
	if !ok {
		return
	}
	if f.Rules.MustExist() {
		c.Fault("", "it has a default and is required", `Remove default or validate:"required"`)
		return
	}
	f.Required = false
	c.defaults = append(c.defaults, pendingDefault{f, text, strings.Join(c.Path, "."), rules.Rewritten(cand.sf, rules.Rule.AboutValue)})
}

// resolveDefaults reads every default as the type and judges it by the rules, also where
// other members are faulty: one report has all faults.
func (c *compiler) resolveDefaults(p *Plan) {
	for _, pending := range c.defaults {
		f := pending.f
		if !whole(f.Node, map[Node]bool{}) {
			continue
		}
		raw, ok := p.readDefault(f, pending.text)
		if !ok {
			c.Fault(pending.path, fmt.Sprintf("default %q is not %s", pending.text, p.wanted(f.Node, nil)), "Correct the default tag")
			continue
		}
		if !p.defaultHolds(f, raw, pending.tag) || !p.innerHolds(f.Node, raw) {
			c.Fault(pending.path, fmt.Sprintf("default %q breaks the field's own rules; wanted is %s", pending.text, p.wanted(f.Node, f.Rules)),
				"Correct the default or the rules")
			continue
		}
		f.DefaultJSON = jsontext.Compact(nil, raw)
	}
}

// readDefault tries to read the text of a default: as JSON, unless the type is a text, then as a
// string, and then as a list separated by commas.
func (p *Plan) readDefault(f *Member, text string) ([]byte, bool) {
	var tries [][]byte
	quoted := jsontext.Quote(nil, text)
	isJSON := jsontext.Check([]byte(text), jsontext.DefaultLimits()) == nil
	if _, anything := Bare(f.Node).(*AnyNode); isJSON && (KindOf(f.Node) != rules.TextKind || anything) {
		tries = append(tries, []byte(text))
	}
	tries = append(tries, quoted)
	if KindOf(f.Node) == rules.ListKind {
		var items, texts [][]byte
		for item := range strings.SplitSeq(text, ",") {
			items = append(items, []byte(strings.TrimSpace(item)))
			texts = append(texts, jsontext.Quote(nil, strings.TrimSpace(item)))
		}
		tries = append(tries, jsonedit.List(items), jsonedit.List(texts))
	}
	tries = slices.DeleteFunc(tries, func(raw []byte) bool {
		return jsontext.Check(raw, jsontext.DefaultLimits()) != nil || !p.Fits(f.Node, nil, raw)
	})
	if len(tries) == 0 {
		return nil, false
	}
	// Of several the one that the jsonschema tag admits, such as a text of digits.
	return tries[max(0, slices.IndexFunc(tries, func(raw []byte) bool { return f.extra == nil || f.extra.Accepts(raw) }))], true
}

// defaultHolds judges a default by the field's own rules, those that look at
// other members aside.
func (p *Plan) defaultHolds(f *Member, raw []byte, tag string) bool {
	if f.extra != nil && !f.extra.Accepts(raw) {
		return false
	}
	if p.rules == nil || tag == "" || tag == "-" || f.Rules == nil {
		return true
	}
	if f.Rules.Relates() {
		tag = f.Rules.Alone().Tag(f.Node.GoType(), false)
	}
	v := reflect.New(f.Node.GoType()).Elem()
	d := p.probe()
	f.Node.decode(d, raw, v, nil)
	return p.quick && !d.doubt && f.fast != nil && f.fast.Accepts(v) || p.Holds(v, tag)
}

// innerHolds judges the structs inside a default by the rules of their members. Rules that look at members of
// the structs around it are left aside.
func (p *Plan) innerHolds(n Node, raw []byte) bool {
	dives := rules.DivesTo(n.GoType())
	if _, isStruct := structOf(n); p.rules == nil || dives == 0 && !isStruct || jsontext.KindOf(raw) == jsontext.KindNull {
		return true
	}
	inner := *p
	inner.t, inner.root, inner.wrapped, inner.diveTag = n.GoType(), n, false, ""
	if dives > 0 {
		inner.diveTag = strings.Repeat(",dive", dives)[1:]
	}
	found, _ := inner.Retry(context.Background(), raw) //nolint:forbidigo // at Build there is no call
	return !slices.ContainsFunc(found, func(f Finding) bool { return !strings.HasSuffix(f.Rule, "csfield") })
}

// Holds asks validator about one value; a rule that panics does not hold.
func (p *Plan) Holds(v reflect.Value, tag string) bool {
	if tag == "" || p.rules == nil {
		return true
	}
	failed, err := p.ask(p.rules, func(judge *validator.Validate) error { return judge.Var(v.Interface(), tag) })
	return len(failed) == 0 && err == nil
}

// Fits reports whether raw is readable as n and passes the rules that look at
// it alone.
func (p *Plan) Fits(n Node, c *rules.Constraints, raw []byte) bool {
	d := p.probe()
	d.enter("value")
	v := reflect.New(n.GoType()).Elem()
	d.read(n, raw, v, c)
	if len(d.found) > 0 {
		return false
	}
	return c == nil || c.Relates() || p.Holds(v, c.Tag(n.GoType(), false))
}
