package binding

import (
	"reflect"
	"slices"
	"strings"

	"github.com/go-playground/validator/v10"
)

// sight walks over everything that validator reaches from a type, and looks for rules that no
// field of the plan has.
type sight struct {
	c    *compiler
	seen map[sighted]bool
}

// sighted is a type, and whether the plan itself decodes its values: values that a type's own
// method has read were never shown to the acceptors inside.
type sighted struct {
	t   reflect.Type
	own bool
}

var valuerType = reflect.TypeFor[validator.Valuer]()

func (s *sight) clear(t reflect.Type, own bool) bool {
	if n, ok := s.c.nodes[t].(*methodNode); ok && n.read != byShape {
		own = false
	}
	at := sighted{t, own}
	if s.seen[at] {
		return true
	}
	s.seen[at] = true
	if t.Implements(valuerType) || reflect.PointerTo(t).Implements(valuerType) {
		return false // validator judges another value in its place
	}
	switch t.Kind() {
	case reflect.Map:
		return s.clear(t.Key(), own) && s.clear(t.Elem(), own)
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return s.clear(t.Elem(), own)
	case reflect.Interface:
		return s.variants(t, own)
	case reflect.Struct:
		compiled := slices.ContainsFunc(s.c.structs, func(n *structNode) bool { return n.t == t })
		return s.fields(t, own && compiled)
	}
	return true
}

// variants looks at the types behind an interface. One without methods holds plain JSON values,
// which have no rules.
func (s *sight) variants(t reflect.Type, own bool) bool {
	if t.NumMethod() == 0 {
		return true
	}
	u, ok := s.c.nodes[t].(*unionNode)
	return ok && !slices.ContainsFunc(u.variants, func(v *variantNode) bool { return !s.clear(v.goType(), own) })
}

// fields looks at those of a struct; own says that they are members of the plan.
func (s *sight) fields(t reflect.Type, own bool) bool {
	for sf := range t.Fields() {
		tag, name := sf.Tag.Get("validate"), sf.Tag.Get("json")
		if !sf.IsExported() && !sf.Anonymous || tag == "-" || own && name == "-" {
			continue
		}
		name, _, _ = strings.Cut(name, ",")
		embedded := deref(sf.Type)
		switch {
		case sf.Anonymous && name == "" && embedded.Kind() == reflect.Struct:
			at := sighted{embedded, own}
			if tag != "" && tag != "required" || !s.seen[at] && !s.embedded(at) {
				return false
			}
		case tag != "" && !own, !s.clear(sf.Type, own):
			return false
		}
	}
	return true
}

// embedded looks at a struct whose members are those of the struct around it.
func (s *sight) embedded(at sighted) bool {
	s.seen[at] = true
	return s.fields(at.t, at.own)
}
