package framework

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"github.com/kagami-mcp/kagami/framework/internal/binding"
)

// Validation adds a rule of your own to the tag validate. It is for fields, list items, map keys
// and map values of type T, and for pointers to T:
//
//	framework.Validation("nl_postcode", isPostcode, `{"pattern":"^[1-9][0-9]{3} ?[A-Z]{2}$"}`, "a Dutch postcode such as 1234 AB")
//
// check reports whether a value is valid. It is called concurrently, and only for values that were
// sent. If it panics, the value is refused. schema is a JSON object of keywords that are merged
// into the schema of the value, or "" for none. It must accept every value that check accepts, but
// may accept more. want completes the sentence "Want …" in the error for the model, and "Must be …"
// in the description.
//
// Build reports these faults:
//
//   - the tag exists already, or its name has other characters than a-z, 0-9 and _
//   - the function is nil, or want is empty
//   - T is a pointer or an interface
//   - the schema is invalid, or sets type, title, description, default or a reference
//   - the tag is used with a parameter, or on a type other than T
//
// Before Build, a handle of a type with the tag does not find the rule. Its methods then return an
// error, nil or "".
func Validation[T any](tag string, check func(T) bool, schema, want string) AppOption {
	k := binding.Check{Tag: tag, Type: reflect.TypeFor[T](), Schema: json.RawMessage(schema), Want: want}
	if check != nil {
		k.Holds = func(v reflect.Value) bool {
			value, ok := reflect.TypeAssert[T](v)
			return ok && check(value)
		}
	}
	return appOption{"Validation", func(c *appConfig) string {
		if problem := k.Problem(); problem != "" {
			return problem
		}
		if slices.ContainsFunc(c.plans.Checks, func(other binding.Check) bool { return other.Tag == tag }) {
			return fmt.Sprintf("the tag %q is given twice", tag)
		}
		c.plans.Checks = append(c.plans.Checks, k)
		return ""
	}}
}
