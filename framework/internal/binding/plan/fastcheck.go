package plan

import (
	"reflect"
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
