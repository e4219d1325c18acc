package framework

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/kagami-mcp/kagami/framework/internal/binding"
)

// OneOf sets the types that implement the interface I in the arguments and results of every
// component of the app. The JSON member discriminator distinguishes them:
//
//	framework.OneOf[Shape]("kind", map[string]Shape{"circle": Circle{}, "square": &Square{}})
//
// A field, list item or map value of type I is then listed as an anyOf of the variants' schemas.
// Each schema has the discriminator as a required member with one allowed value. Only the types of
// the map's values count, so a nil pointer is enough.
//
// Decoding reads the discriminator first, and then the variant strictly, as a pointer if the map
// has a pointer. If the struct has a string member with the discriminator's name, it gets the
// value. Encoding writes the discriminator first and ignores the value of such a member. It refuses
// types that are not in the map. Nil is null in results. In arguments nil is refused, unless the
// member is optional (omitempty or omitzero).
//
// Build reports these faults:
//
//   - I is not an interface, or does not have methods
//   - the discriminator cannot be the name of a member, such as ""
//   - there are no variants, or one has no name
//   - a variant is not a struct or a pointer to one
//   - a type has two names
//   - I was given before
//   - a variant encodes its own JSON, or has a member with the discriminator's name that is not a
//     string
//
// Functions without an app do not find the variants. [EncodeJSON] writes no discriminator.
// [DecodeJSON] and [DecodeResult] accept only null for a value of type I. The same applies to a handle
// before Build; if I is in its arguments, its methods return an error.
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
