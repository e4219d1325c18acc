package plan

import (
	"reflect"
	"slices"
	"strings"

	"github.com/kagami-mcp/kagami/framework/internal/binding/gotype"
	"github.com/kagami-mcp/kagami/framework/internal/binding/rules"
)

// ruleWalker walks over everything that validator reaches from a type. It looks for rules that belong to no
// field of the plan, so that no fast check covers them.
type ruleWalker struct {
	c    *compiler
	seen map[visitKey]bool
}

// visitKey is a type, and whether the plan itself decodes its values. The fast checks of the fields inside see
// only values that the plan decodes.
type visitKey struct {
	t   reflect.Type
	own bool
}

// covered reports whether the plan covers all rules that validator reaches from t.
func (s *ruleWalker) covered(t reflect.Type, own bool) bool {
	if n, ok := s.c.nodes[t].(*MethodNode); ok && n.read != byShape {
		own = false
	}
	at := visitKey{t, own}
	if s.seen[at] {
		return true
	}
	s.seen[at] = true
	if t.Implements(rules.ValuerType) || reflect.PointerTo(t).Implements(rules.ValuerType) {
		return false // validator judges another value in its place
	}
	switch t.Kind() {
	case reflect.Map:
		return s.covered(t.Key(), own) && s.covered(t.Elem(), own)
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return s.covered(t.Elem(), own)
	case reflect.Interface:
		return s.variants(t, own)
	case reflect.Struct:
		compiled := slices.ContainsFunc(s.c.structs, func(n *StructNode) bool { return n.t == t })
		return s.fields(t, own && compiled)
	}
	return true
}

// variants looks at the types behind an interface. One without methods holds plain JSON values,
// which have no rules.
func (s *ruleWalker) variants(t reflect.Type, own bool) bool {
	if t.NumMethod() == 0 {
		return true
	}
	u, ok := s.c.nodes[t].(*UnionNode)
	return ok && !slices.ContainsFunc(u.Variants, func(v *variantNode) bool { return !s.covered(v.GoType(), own) })
}

// fields reports whether the plan covers all rules on the fields of struct t. own reports whether the plan itself
// decodes t.
func (s *ruleWalker) fields(t reflect.Type, own bool) bool {
	for sf := range t.Fields() {
		tag, name := sf.Tag.Get("validate"), sf.Tag.Get("json")
		if !sf.IsExported() && !sf.Anonymous || tag == "-" || own && name == "-" {
			continue
		}
		name, _, _ = strings.Cut(name, ",")
		embedded := gotype.Deref(sf.Type)
		switch {
		case sf.Anonymous && name == "" && embedded.Kind() == reflect.Struct:
			at := visitKey{embedded, own}
			if tag != "" && tag != "required" || !s.seen[at] && !s.embedded(at) {
				return false
			}
		case tag != "" && !own, !s.covered(sf.Type, own):
			return false
		}
	}
	return true
}

// embedded reports the same for a struct whose members belong to the struct around it.
func (s *ruleWalker) embedded(at visitKey) bool {
	s.seen[at] = true
	return s.fields(at.t, at.own)
}
