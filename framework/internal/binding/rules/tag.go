package rules

import (
	"cmp"
	"reflect"
	"slices"
	"strings"

	"github.com/go-playground/validator/v10"

	"github.com/kagami-mcp/kagami/framework/internal/binding/gotype"
)

// RegisterRules registers the tags of t, and of the structs embedded in it, with v. It keeps only the rules
// that keep accepts.
func RegisterRules(v *validator.Validate, t reflect.Type, done map[reflect.Type]bool, keep func(Rule) bool) {
	if done[t] {
		return
	}
	done[t] = true
	rules := map[string]string{}
	for sf := range t.Fields() {
		if sf.Anonymous && gotype.Deref(sf.Type).Kind() == reflect.Struct {
			RegisterRules(v, gotype.Deref(sf.Type), done, keep)
		}
		rules[sf.Name] = Rewritten(sf, keep)
	}
	v.RegisterStructValidationMapRules(rules, reflect.New(t).Interface())
}

// Rewritten returns the tag of a field for validator, with the rules that keep accepts.
func Rewritten(sf reflect.StructField, keep func(Rule) bool) string {
	tag := sf.Tag.Get("validate")
	if tag == "-" || sf.Tag.Get("json") == "-" {
		return "-"
	}
	c := &Constraints{}
	if tag != "" {
		read, ok := parseTag(tag)
		if !ok {
			return "-" // Read has filed a fault
		}
		c = cmp.Or(read.only(keep), c)
	}
	return c.Tag(sf.Type, false)
}

// AboutPresence reports whether the rule demands or forbids a member, depending on other members, or keeps
// validator out of a struct.
func (r Rule) AboutPresence() bool {
	_, presence := PresenceSentences[r.Name]
	return presence || r.EndsTag()
}

// AboutValue reports whether the rule does not depend on whether members were sent.
func (r Rule) AboutValue() bool {
	_, presence := PresenceSentences[r.Name]
	return !presence
}

// HasPresence reports whether a rule demands or forbids a value, depending on other members.
func (c *Constraints) HasPresence() bool {
	if c == nil {
		return false
	}
	here := slices.ContainsFunc(c.Rules, func(r Rule) bool { return !r.AboutValue() })
	return here || c.Keys.HasPresence() || c.Elem.HasPresence()
}

// EndsTag reports whether validator ignores the rules behind this one, and all rules inside the struct.
func (r Rule) EndsTag() bool { return r.Name == "structonly" || r.Name == "nostructlevel" }

// only returns c with the rules that keep accepts, on all levels. It returns nil if no rule is left. Rules
// that end a tag for validator come last.
func (c *Constraints) only(keep func(Rule) bool) *Constraints {
	if c == nil {
		return nil
	}
	own := *c
	own.Rules = slices.DeleteFunc(slices.Clone(c.Rules), func(r Rule) bool { return !keep(r) })
	last := slices.DeleteFunc(slices.Clone(own.Rules), func(r Rule) bool { return !r.EndsTag() })
	own.Rules = append(slices.DeleteFunc(own.Rules, Rule.EndsTag), last...)
	own.Keys, own.Elem = c.Keys.only(keep), c.Elem.only(keep)
	switch {
	case own.Plain():
		return nil
	case own.Keys != nil && own.Elem == nil:
		own.Elem = &Constraints{} // in a tag, keys follow dive
	}
	return &own
}

// OwnTag returns the rules of a level as a tag for validator, without the rules of the levels inside.
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

// Tag returns the rules of a level as a tag for validator, with the levels inside.
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
		if keys := c.Keys.Tag(t.Key(), true); keys != "" {
			parts = append(parts, "keys", keys, "endkeys")
		}
	}
	if inner := c.Elem.Tag(t.Elem(), true); inner != "" {
		parts = append(parts, inner)
	}
	return strings.Join(parts, ",")
}

// encode returns the rule as it stands in a tag, with validator's escapes.
func (r Rule) encode() string { return r.text(escapes.Replace) }

var escapes = strings.NewReplacer(",", "0x2C", "|", "0x7C")

// DivesTo returns how many containers are around a struct. It returns 0 if t does not lead to a struct.
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
			return n * min(t.NumMethod(), 1) // the variants of a union are structs
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
		return t.NumMethod() > 0 // a variant may have rules
	case reflect.Struct:
		for sf := range t.Fields() {
			tag := sf.Tag.Get("validate")
			if (sf.IsExported() || sf.Anonymous) && (tag != "" && tag != "-" || HasRules(sf.Type, seen)) {
				return true
			}
		}
	}
	return false
}
