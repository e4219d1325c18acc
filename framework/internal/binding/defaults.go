package binding

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/kagami-mcp/kagami/framework/internal/binding/jsonedit"
	"github.com/kagami-mcp/kagami/framework/internal/binding/rules"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// pendingDefault waits until all types are known and rules can be applied.
type pendingDefault struct {
	f    *field
	text string
	path string
	tag  string // for validator
}

// defaultOf files the default tag and makes the member optional.
func (c *compiler) defaultOf(f *field, cand candidate) {
	text, ok := cand.sf.Tag.Lookup("default")
	if !ok {
		return
	}
	if f.c.MustExist() {
		c.Fault("", "it has a default and is required", `Remove default or validate:"required"`)
		return
	}
	f.required = false
	c.defaults = append(c.defaults, pendingDefault{f, text, strings.Join(c.Path, "."), rules.Rewritten(cand.sf)})
}

// resolveDefaults reads every default as the type and judges it by the rules, also where
// other members are faulty: one report tells all.
func (c *compiler) resolveDefaults(p *core) {
	for _, pending := range c.defaults {
		f := pending.f
		if !whole(f.node, map[node]bool{}) {
			continue
		}
		raw, ok := p.readDefault(f, pending.text)
		if !ok {
			c.Fault(pending.path, fmt.Sprintf("default %q is not %s", pending.text, p.wanted(f.node, nil)), "Correct the default tag")
			continue
		}
		if !p.defaultHolds(f, raw, pending.tag) {
			c.Fault(pending.path, fmt.Sprintf("default %q breaks the field's own rules; wanted is %s", pending.text, p.wanted(f.node, f.c)),
				"Correct the default or the rules")
			continue
		}
		f.def = jsontext.Compact(nil, raw)
	}
}

// readDefault tries the text as JSON where the type is no text, then as a
// string, then as a list separated by commas.
func (p *core) readDefault(f *field, text string) ([]byte, bool) {
	var tries [][]byte
	quoted := jsontext.Quote(nil, text)
	isJSON := jsontext.Check([]byte(text), jsontext.DefaultLimits()) == nil
	if _, anything := bare(f.node).(*anyNode); isJSON && (kindOf(f.node) != rules.TextKind || anything) {
		tries = append(tries, []byte(text))
	}
	tries = append(tries, quoted)
	if kindOf(f.node) == rules.ListKind {
		var items, texts [][]byte
		for item := range strings.SplitSeq(text, ",") {
			items = append(items, []byte(strings.TrimSpace(item)))
			texts = append(texts, jsontext.Quote(nil, strings.TrimSpace(item)))
		}
		tries = append(tries, jsonedit.List(items), jsonedit.List(texts))
	}
	tries = slices.DeleteFunc(tries, func(raw []byte) bool {
		return jsontext.Check(raw, jsontext.DefaultLimits()) != nil || !p.decodes(f.node, raw)
	})
	if len(tries) == 0 {
		return nil, false
	}
	// Of several the one that the jsonschema tag admits, such as a text of digits.
	return tries[max(0, slices.IndexFunc(tries, func(raw []byte) bool { return f.extra == nil || f.extra.Accepts(raw) }))], true
}

// decodes reports whether raw is readable as n.
func (p *core) decodes(n node, raw []byte) bool {
	d := &decoder{plan: p}
	d.enter("value")
	d.read(n, raw, reflect.New(n.goType()).Elem(), nil)
	return d.total == 0
}

// defaultHolds judges a default by the field's own rules, those that look at
// other members aside.
func (p *core) defaultHolds(f *field, raw []byte, tag string) bool {
	if f.extra != nil && !f.extra.Accepts(raw) {
		return false
	}
	if p.rules == nil || tag == "" || tag == "-" || f.c == nil {
		return true
	}
	if f.c.Relates() {
		tag = f.c.Alone().Tag(f.node.goType(), false)
	}
	v := reflect.New(f.node.goType()).Elem()
	d := &decoder{plan: p}
	f.node.decode(d, raw, v, nil)
	return p.quick && !d.doubt && f.fast != nil && f.fast.Accepts(v) || p.holds(v, tag)
}

// holds asks validator about one value; a rule that panics does not hold.
func (p *core) holds(v reflect.Value, tag string) (ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	return tag == "" || p.rules == nil || p.rules().Var(v.Interface(), tag) == nil
}

// fits reports whether raw is readable as n and passes the rules that look at
// it alone.
func (p *core) fits(n node, c *rules.Constraints, raw []byte) bool {
	d := &decoder{plan: p}
	d.enter("value")
	v := reflect.New(n.goType()).Elem()
	d.read(n, raw, v, c)
	if d.total > 0 {
		return false
	}
	return c == nil || c.Relates() || p.holds(v, c.Tag(n.goType(), false))
}
