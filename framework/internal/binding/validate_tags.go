package binding

import (
	"reflect"
	"strings"
	"sync"

	"github.com/go-playground/validator/v10"
)

// compileRules gives the plan its own validator, with the tags of every
// reachable struct rewritten: required is dropped (presence is checked on the
// text), and elements are entered even where the author forgot dive. It is made
// when it is asked first, which is at once where a tag could make it panic.
func (c *compiler) compileRules(p *core) {
	root := p.root.goType()
	if c.mode == Output || !hasRules(root, map[reflect.Type]bool{}) {
		return
	}
	if deref(root).Kind() != reflect.Struct {
		dives := divesTo(root)
		if dives == 0 {
			return
		}
		p.diveTag = strings.Repeat(",dive", dives)[1:]
	}
	if len(c.opts.Checks) > 0 {
		c.rules.single() // reports those that cannot be registered
	}
	checks, structs := c.opts.Checks, c.structs
	p.rules = sync.OnceValue(func() *validator.Validate {
		v, _ := newValidator(checks)
		done := map[reflect.Type]bool{}
		for _, s := range structs {
			registerRules(v, s.t, done)
		}
		return v
	})
	p.quick = c.compileAcceptors(root)
	if !p.quick {
		c.rehearse(p)
	}
}

// registerRules rewrites t and the structs embedded in it.
func registerRules(v *validator.Validate, t reflect.Type, done map[reflect.Type]bool) {
	if done[t] {
		return
	}
	done[t] = true
	rules := map[string]string{}
	for sf := range t.Fields() {
		if sf.Anonymous && deref(sf.Type).Kind() == reflect.Struct {
			registerRules(v, deref(sf.Type), done)
		}
		rules[sf.Name] = rewritten(sf)
	}
	v.RegisterStructValidationMapRules(rules, reflect.New(t).Interface())
}

// rewritten is the tag that validator gets for a field.
func rewritten(sf reflect.StructField) string {
	tag := sf.Tag.Get("validate")
	if tag == "-" || sf.Tag.Get("json") == "-" {
		return "-"
	}
	if tag == "" {
		return strings.TrimPrefix(strings.Repeat(",dive", divesTo(sf.Type)), ",")
	}
	c, ok := parseTag(tag)
	if !ok {
		return "-" // a fault already
	}
	return c.tag(sf.Type, false)
}

// tag renders a level for validator.
func (c *constraints) tag(t reflect.Type, element bool) string {
	var parts []string
	for _, r := range c.rules {
		if r.name != "required" {
			parts = append(parts, r.encode())
			continue
		}
		// An element is always present: for a text, required can only mean that it is not
		// empty. For others it is dropped.
		if element && deref(t).Kind() == reflect.String {
			parts = append(parts, "min=1")
		}
	}
	if c.elem == nil {
		for range divesTo(t) {
			parts = append(parts, "dive")
		}
		return strings.Join(parts, ",")
	}
	parts = append(parts, "dive")
	t = deref(t)
	if c.keys != nil && t.Kind() == reflect.Map {
		parts = append(parts, "keys", c.keys.tag(t.Key(), true), "endkeys")
	}
	if inner := c.elem.tag(t.Elem(), true); inner != "" {
		parts = append(parts, inner)
	}
	return strings.Join(parts, ",")
}

// encode writes the rule as it was, with validator's escapes.
func (r rule) encode() string {
	if len(r.alts) > 0 {
		parts := make([]string, len(r.alts))
		for i, a := range r.alts {
			parts[i] = a.encode()
		}
		return strings.Join(parts, "|")
	}
	r.param = strings.ReplaceAll(strings.ReplaceAll(r.param, ",", "0x2C"), "|", "0x7C")
	return r.String()
}

// divesTo is how many containers are around a struct; 0 if t leads to none.
func divesTo(t reflect.Type) int {
	seen := map[reflect.Type]bool{}
	for n := 0; !seen[t]; {
		seen[t] = true
		switch t.Kind() {
		case reflect.Pointer:
			t = t.Elem()
		case reflect.Slice, reflect.Array, reflect.Map:
			t = t.Elem()
			n++
		case reflect.Struct:
			if t.ConvertibleTo(timeType) {
				return 0
			}
			return n
		case reflect.Interface:
			return n * min(t.NumMethod(), 1) // a union's variants are structs
		default:
			return 0
		}
	}
	return 0
}

// hasRules reports whether any reachable struct has a validate tag.
func hasRules(t reflect.Type, seen map[reflect.Type]bool) bool {
	if seen[t] {
		return false
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return hasRules(t.Elem(), seen)
	case reflect.Interface:
		return t.NumMethod() > 0 // a variant may have some
	case reflect.Struct:
		for sf := range t.Fields() {
			if tag := sf.Tag.Get("validate"); tag != "" && tag != "-" && (sf.IsExported() || sf.Anonymous) {
				return true
			}
			if (sf.IsExported() || sf.Anonymous) && hasRules(sf.Type, seen) {
				return true
			}
		}
	}
	return false
}
