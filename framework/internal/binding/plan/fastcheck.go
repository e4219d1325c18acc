package plan

import (
	"reflect"

	"github.com/kagami-mcp/kagami/framework/internal/binding/gotype"
	"github.com/kagami-mcp/kagami/framework/internal/binding/rules"
)

// compileFastChecks gives every field its fast check, and reports whether the checks may stand in for
// validator. They may not if a rule looks at several values, or if validator sees values that
// the plan has not decoded member by member.
func (c *compiler) compileFastChecks(root reflect.Type) bool {
	s := ruleWalker{c: c, seen: map[visitKey]bool{}}
	if !s.covered(root, true) {
		return false
	}
	for _, n := range c.structs {
		for _, f := range n.Fields {
			a, ok := c.rules.FastCheck(f.Rules, f.Node.GoType(), false)
			if !ok {
				return false
			}
			f.fast = a
		}
	}
	return true
}

// passesOver reports whether validator does not look into some values of t that were sent: omitempty makes it
// pass over structs and arrays that are zero.
func passesOver(c *rules.Constraints, t reflect.Type) bool {
	if c == nil {
		return false
	}
	if kind := t.Kind(); (kind == reflect.Struct || kind == reflect.Array) && c.MayBeAbsent() {
		return true
	}
	switch t = gotype.Deref(t); t.Kind() {
	case reflect.Slice, reflect.Array, reflect.Map:
		return passesOver(c.Elem, t.Elem())
	}
	return false
}
