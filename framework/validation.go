package framework

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"github.com/kagami-mcp/kagami/framework/internal/binding"
)

// Validation adds a validate tag of the app's own, for fields, list items, map
// keys and map values of type T, and pointers to T:
//
//	framework.Validation("nl_postcode", isPostcode, `{"pattern":"^[1-9][0-9]{3} ?[A-Z]{2}$"}`, "a Dutch postcode such as 1234 AB")
//
// check decides; it is called by many goroutines at once, for values that were
// sent, and a panic in it refuses the value. schema is a JSON object of keywords
// that are merged into the schema of the value, "" where there are none; it must
// accept whatever check accepts, and it need not say all. want completes the
// sentence "Want …" of the error that teaches, and "Must be …" of the description.
//
// Faults of Build: the tag is one that exists, or no name of a-z, 0-9 and _; the
// function is nil; the schema is none, or sets type, title, description, default
// or a reference; the tag has a parameter or stands on a type other than T.
// Handles that belong to no app do not know the tag.
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
