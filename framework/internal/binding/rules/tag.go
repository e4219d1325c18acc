package rules

import (
	"reflect"
	"strings"

	"github.com/go-playground/validator/v10"

	"github.com/kagami-mcp/kagami/framework/internal/binding/gotype"
)

// RegisterRules rewrites t and the structs embedded in it.
func RegisterRules(v *validator.Validate, t reflect.Type, done map[reflect.Type]bool) {
	if done[t] {
		return
	}
	done[t] = true
	rules := map[string]string{}
	for sf := range t.Fields() {
		if sf.Anonymous && gotype.Deref(sf.Type).Kind() == reflect.Struct {
			RegisterRules(v, gotype.Deref(sf.Type), done)
		}
		rules[sf.Name] = Rewritten(sf)
	}
	v.RegisterStructValidationMapRules(rules, reflect.New(t).Interface())
}

// Rewritten is the tag that validator gets for a field.
func Rewritten(sf reflect.StructField) string {
	tag := sf.Tag.Get("validate")
	if tag == "-" || sf.Tag.Get("json") == "-" {
		return "-"
	}
	if tag == "" {
		return strings.TrimPrefix(strings.Repeat(",dive", DivesTo(sf.Type)), ",")
	}
	c, ok := parseTag(tag)
	if !ok {
		return "-" // a fault already
	}
	return c.Tag(sf.Type, false)
}

// OwnTag renders the rules of a level for validator, without the rules of the levels inside.
func (c *Constraints) OwnTag(t reflect.Type, element bool) string {
	return strings.Join(c.ownTags(t, element), ",")
}

func (c *Constraints) ownTags(t reflect.Type, element bool) (parts []string) {
	for _, r := range c.Rules {
		if r.Name != "required" {
			parts = append(parts, r.encode())
			continue
		}
		// An element is always present: for a text, required can only mean that it is not
		// empty. For others it is dropped.
		if element && gotype.Deref(t).Kind() == reflect.String {
			parts = append(parts, "min=1")
		}
	}
	return parts
}

// Tag renders a level for validator, with the levels inside.
func (c *Constraints) Tag(t reflect.Type, element bool) string {
	parts := c.ownTags(t, element)
	if c.Elem == nil {
		for range DivesTo(t) {
			parts = append(parts, "dive")
		}
		return strings.Join(parts, ",")
	}
	parts = append(parts, "dive")
	t = gotype.Deref(t)
	if c.Keys != nil && t.Kind() == reflect.Map {
		parts = append(parts, "keys", c.Keys.Tag(t.Key(), true), "endkeys")
	}
	if inner := c.Elem.Tag(t.Elem(), true); inner != "" {
		parts = append(parts, inner)
	}
	return strings.Join(parts, ",")
}

// encode writes the rule as it was, with validator's escapes.
func (r Rule) encode() string {
	if len(r.alts) > 0 {
		parts := make([]string, len(r.alts))
		for i, a := range r.alts {
			parts[i] = a.encode()
		}
		return strings.Join(parts, "|")
	}
	r.Param = strings.ReplaceAll(strings.ReplaceAll(r.Param, ",", "0x2C"), "|", "0x7C")
	return r.String()
}

// DivesTo is how many containers are around a struct; 0 if t leads to none.
func DivesTo(t reflect.Type) int {
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
			if t.ConvertibleTo(gotype.TimeType) {
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

// HasRules reports whether any reachable struct has a validate tag.
func HasRules(t reflect.Type, seen map[reflect.Type]bool) bool {
	if seen[t] {
		return false
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return HasRules(t.Elem(), seen)
	case reflect.Interface:
		return t.NumMethod() > 0 // a variant may have some
	case reflect.Struct:
		for sf := range t.Fields() {
			if tag := sf.Tag.Get("validate"); tag != "" && tag != "-" && (sf.IsExported() || sf.Anonymous) {
				return true
			}
			if (sf.IsExported() || sf.Anonymous) && HasRules(sf.Type, seen) {
				return true
			}
		}
	}
	return false
}
