package plan

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/go-playground/validator/v10"

	"github.com/kagami-mcp/kagami/framework/internal/binding/gotype"
	"github.com/kagami-mcp/kagami/framework/internal/binding/report"
	"github.com/kagami-mcp/kagami/framework/internal/binding/rules"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// rehearse validates a filled value once, to find faults that show only in combination.
func (c *compiler) rehearse(p *Plan) {
	if c.Failed() {
		return
	}
	defer func() {
		if r := recover(); r != nil {
			c.Fault(rootName(p.t, p.mode), "validator: "+jsontext.Clip(report.OneLine(fmt.Sprint(r)), 160), "Correct the validate tags")
		}
	}()
	v := behind(rules.Sample(p.root.GoType(), 6))
	for _, judge := range []func() *validator.Validate{p.rules, p.presence} {
		// Only whether it panics matters, not the verdict on the sample.
		switch {
		case judge == nil:
		case p.diveTag != "":
			_ = judge().Var(v.Interface(), p.diveTag)
		default:
			_ = judge().Struct(v.Interface())
		}
	}
}

// compileRules gives the plan its own validator, with the tags of every
// reachable struct rewritten: required is dropped (presence is checked on the
// text), and elements are entered even where the author forgot dive. It is made
// when it is asked first, which is at once where a tag could make it panic.
// Validator ends a tag at its first failure, so that rules about presence, which
// fail on a zero that was sent, have a validator of their own.
func (c *compiler) compileRules(p *Plan) {
	root := p.root.GoType()
	if c.mode == Output || !rules.HasRules(root, map[reflect.Type]bool{}) {
		return
	}
	if gotype.Deref(root).Kind() != reflect.Struct {
		dives := rules.DivesTo(root)
		if dives == 0 {
			return
		}
		p.diveTag = strings.Repeat(",dive", dives)[1:]
	}
	p.rules = c.validator(rules.Rule.AboutValue)
	if slices.ContainsFunc(c.structs, (*StructNode).hasPresence) {
		p.presence = c.validator(rules.Rule.AboutPresence)
	}
	p.quick = c.compileFastChecks(root)
	if !p.quick {
		c.rehearse(p)
	}
}

// validator makes a validator with the rules that keep accepts.
func (c *compiler) validator(keep func(rules.Rule) bool) func() *validator.Validate {
	checks, long, structs := c.opts.Checks, c.rules.Long, c.structs
	return sync.OnceValue(func() *validator.Validate {
		v := rules.NewValidator(checks, long)
		done := map[reflect.Type]bool{}
		for _, s := range structs {
			rules.RegisterRules(v, s.t, done, keep)
		}
		return v
	})
}

// hasPresence reports whether a rule of a member demands or forbids it, depending on other members.
func (n *StructNode) hasPresence() bool {
	return slices.ContainsFunc(n.Fields, func(f *Member) bool { return f.Rules.HasPresence() })
}
