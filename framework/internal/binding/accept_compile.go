package binding

import (
	"reflect"
	"slices"
)

// compileAcceptors gives every field its acceptor, and reports whether they may stand in for
// validator. They may not if a rule looks at several values, nor if validator sees values that
// were not decoded member by member.
func (c *compiler) compileAcceptors(root reflect.Type) bool {
	s := sight{c: c, seen: map[sighted]bool{}}
	if !s.clear(root, true) {
		return false
	}
	for _, n := range c.structs {
		for _, f := range n.fields {
			a, ok := c.rules.acceptor(f.c, f.node.goType(), false)
			if !ok {
				return false
			}
			f.accept = a
		}
	}
	return true
}

// acceptor compiles the tag that constraints.tag renders. It is nil if there are no rules, and
// false if a rule cannot be compiled.
func (c *ruleCompiler) acceptor(k *constraints, t reflect.Type, element bool) (*acceptor, bool) {
	if k == nil {
		return nil, true
	}
	t = deref(t)
	a := &acceptor{}
	for _, r := range k.rules {
		if r.name == "required" {
			if !element || t.Kind() != reflect.String {
				continue
			}
			r = rule{name: "min", param: "1"}
		}
		compiled := c.test(r, t)
		if compiled == nil {
			return nil, false
		}
		a.tests = append(a.tests, compiled)
	}
	ok := true
	if k.keys != nil && t.Kind() == reflect.Map {
		a.keys, ok = c.acceptor(k.keys, t.Key(), true)
	}
	if ok && k.elem != nil {
		a.elem, ok = c.acceptor(k.elem, t.Elem(), true)
	}
	if len(a.tests) == 0 && a.keys == nil && a.elem == nil {
		a = nil
	}
	return a, ok
}

// test compiles one rule for values of t; nil if that is not possible.
func (c *ruleCompiler) test(r rule, t reflect.Type) test {
	switch {
	case t.Kind() == reflect.Interface, r.between():
		return nil
	case r.check != nil:
		return func(v reflect.Value, _ bool) verdict { return certain(r.check.holds(v)) }
	case r.name == "omitempty":
		return omitEmpty
	case r.name == "omitnil":
		return omitNil
	case r.structural(), t.Kind() == reflect.Struct && t != timeType:
		return nil
	}
	if native := nativeTest(r, t); native != nil {
		return native
	}
	return c.asked(r)
}

// between reports whether the rule, or a part of it, looks at other members.
func (r rule) between() bool {
	_, presence := presenceSentences[r.name]
	_, field := fieldSentences[r.name]
	return presence || field || slices.ContainsFunc(r.alts, rule.between)
}

// asked is a test that asks validator itself about this one value.
func (c *ruleCompiler) asked(r rule) test {
	judge, tag := c.single(), r.encode()
	return func(v reflect.Value, _ bool) (said verdict) {
		defer func() {
			if recover() != nil {
				said = doubtful
			}
		}()
		return certain(judge.Var(v.Interface(), tag) == nil)
	}
}

// omitEmpty follows validator: what a pointer points to is never empty.
func omitEmpty(v reflect.Value, indirect bool) verdict {
	empty := !indirect && v.IsZero()
	switch v.Kind() {
	case reflect.Slice, reflect.Map:
		empty = v.IsNil()
	}
	if empty {
		return settled
	}
	return holds
}

func omitNil(v reflect.Value, _ bool) verdict {
	switch v.Kind() {
	case reflect.Slice, reflect.Map:
		if v.IsNil() {
			return settled
		}
	}
	return holds
}
