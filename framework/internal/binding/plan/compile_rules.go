package plan

import (
	"fmt"
	"reflect"
	"strings"
	"sync"

	"github.com/go-playground/validator/v10"

	"github.com/kagami-mcp/kagami/framework/internal/binding/gotype"
	"github.com/kagami-mcp/kagami/framework/internal/binding/report"
	"github.com/kagami-mcp/kagami/framework/internal/binding/rules"
)

// rehearse validates a filled value once, to find faults that show only in combination.
func (c *compiler) rehearse(p *Plan) {
	if c.Failed() {
		return
	}
	defer func() {
		if r := recover(); r != nil {
			c.Fault(rootName(p.t, p.mode), "validator: "+report.Clip(report.OneLine(fmt.Sprint(r)), 160), "Correct the validate tags")
		}
	}()
	v := behind(rules.Sample(p.root.GoType(), 6))
	// Only whether it panics matters, not the verdict on the sample.
	if p.diveTag != "" {
		_ = p.rules().Var(v.Interface(), p.diveTag)
		return
	}
	_ = p.rules().Struct(v.Interface())
}

// compileRules gives the plan its own validator, with the tags of every
// reachable struct rewritten: required is dropped (presence is checked on the
// text), and elements are entered even where the author forgot dive. It is made
// when it is asked first, which is at once where a tag could make it panic.
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
	if len(c.opts.Checks) > 0 {
		c.rules.Validator() // reports those that cannot be registered
	}
	checks, long, structs := c.opts.Checks, c.rules.Long, c.structs
	p.rules = sync.OnceValue(func() *validator.Validate {
		v, _ := rules.NewValidator(checks, long)
		done := map[reflect.Type]bool{}
		for _, s := range structs {
			rules.RegisterRules(v, s.t, done)
		}
		return v
	})
	p.quick = c.compileFastChecks(root)
	if !p.quick {
		c.rehearse(p)
	}
}
