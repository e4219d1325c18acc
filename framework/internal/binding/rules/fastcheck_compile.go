package rules

import (
	"reflect"
	"slices"

	"github.com/kagami-mcp/kagami/framework/internal/binding/gotype"
)

// FastCheck compiles the rules that [Constraints.Tag] writes for validator. It returns nil if there are no rules,
// and false if a rule cannot be compiled.
func (c *Compiler) FastCheck(k *Constraints, t reflect.Type, element bool) (*FastCheck, bool) {
	if k == nil {
		return nil, true
	}
	t = gotype.Deref(t)
	a := &FastCheck{}
	for _, r := range k.Rules {
		if r.Name == "required" {
			if !element || t.Kind() != reflect.String {
				continue
			}
			r = Rule{Name: "min", Param: "1"}
		}
		compiled := c.test(r, t)
		if compiled == nil {
			return nil, false
		}
		a.tests = append(a.tests, compiled)
	}
	ok := true
	if k.Keys != nil && t.Kind() == reflect.Map {
		a.keys, ok = c.FastCheck(k.Keys, t.Key(), true)
	}
	if ok && k.Elem != nil {
		a.elem, ok = c.FastCheck(k.Elem, t.Elem(), true)
	}
	if len(a.tests) == 0 && a.keys == nil && a.elem == nil {
		a = nil
	}
	return a, ok
}

// test compiles one rule for values of t. It returns nil if that is not possible.
func (c *Compiler) test(r Rule, t reflect.Type) test {
	switch {
	case t.Kind() == reflect.Interface, r.between():
		return nil
	case r.check != nil:
		return func(v reflect.Value, _ bool) verdict { return certain(r.check.holds(v)) }
	case r.Name == "omitempty", r.Name == "omitnil":
		return omits(r.Name == "omitempty")
	case r.structural(), t.Kind() == reflect.Struct && t != gotype.TimeType:
		return nil
	}
	if native := nativeTest(r, t); native != nil {
		return native
	}
	return c.byValidator(r)
}

// between reports whether the rule, or a part of it, looks at other members.
func (r Rule) between() bool {
	return Relates(r.Name) || slices.ContainsFunc(r.alts, Rule.between)
}

// byValidator returns a test that calls validator for each value.
func (c *Compiler) byValidator(r Rule) test {
	judge, tag := c.Validator(), r.encode()
	return func(v reflect.Value, _ bool) (said verdict) {
		defer func() {
			if recover() != nil {
				said = doubtful
			}
		}()
		return certain(judge.Var(v.Interface(), tag) == nil)
	}
}

// omits returns a test that ends the tag for nil, and for other empty values if empty is set. For validator,
// the value behind a pointer is never empty.
func omits(empty bool) test {
	return func(v reflect.Value, indirect bool) verdict {
		nilable := v.Kind() == reflect.Slice || v.Kind() == reflect.Map
		if (nilable || empty && !indirect) && v.IsZero() {
			return settled
		}
		return holds
	}
}
