package framework

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/kagami-mcp/kagami/framework/internal/binding"
)

// OneOf says which types implement the interface I in the arguments and results of every
// component of the app. The member discriminator tells them apart:
//
//	framework.OneOf[Shape]("kind", map[string]Shape{"circle": Circle{}, "square": &Square{}})
//
// A field, list item or map value of type I is then listed as a oneOf of the variants'
// schemas, each with the discriminator as a required member of one value. Only the types of
// the map's values count; a nil pointer will do. Decoding looks at the discriminator first
// and then reads that variant strictly, as a pointer if the map has one; if the struct has
// a string member of the discriminator's name, it gets the value. Encoding writes the
// discriminator first, whatever such a member holds, and refuses types that are not in the
// map. Nil is null in results, and is refused in arguments unless the member is optional
// (omitempty or omitzero).
//
// Build reports as faults: I is not an interface or has no methods, there are no variants,
// a variant is not a struct or a pointer to one, a type has two names, I was given before,
// a variant writes its own JSON or has a member of the discriminator's name that is not a
// string. [EncodeJSON], [DecodeJSON], [DecodeResult] and handles that belong to no app know
// of no variants.
func OneOf[I any](discriminator string, variants map[string]I) AppOption {
	u := binding.Union{
		Interface:     reflect.TypeFor[I](),
		Discriminator: discriminator,
		Variants:      make(map[string]reflect.Type, len(variants)),
	}
	for _, name := range slices.Sorted(maps.Keys(variants)) {
		u.Variants[name] = reflect.TypeOf(variants[name])
	}
	return appOption{"OneOf", func(c *appConfig) string {
		if problem := u.Problem(); problem != "" {
			return problem
		}
		if slices.ContainsFunc(c.plans.Unions, func(other binding.Union) bool { return other.Interface == u.Interface }) {
			return fmt.Sprintf("the variants of %s are given twice", u.Interface)
		}
		c.plans.Unions = append(c.plans.Unions, u)
		return ""
	}}
}
