package schema

import (
	"github.com/kagami-mcp/kagami/framework/internal/binding/jsonedit"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// Misplaced reports whether a value is a list or an object, but not of the kind that k wants.
func Misplaced(k Keywords, value []byte) bool {
	return jsonedit.IsContainer(value) && !SameShape(k, value)
}

// SameShape reports whether a container is of the kind that k wants.
func SameShape(k Keywords, value []byte) bool {
	wanted := k.Text("type")
	if k.Has("$ref") {
		wanted = "object"
	}
	return wanted == "array" && jsontext.KindOf(value) == jsontext.KindArray ||
		wanted == "object" && jsontext.KindOf(value) == jsontext.KindObject
}

// Clamp returns the bound that a number is beyond. It returns nil if the number is in range, or beyond only the
// limit of a 64-bit type.
func Clamp(k Keywords, value []byte) []byte {
	if value == nil {
		return nil
	}
	if low, ok := Bound(k, "minimum"); ok && CompareNumbers(value, []byte(low)) < 0 {
		return []byte(low)
	}
	if high, ok := Bound(k, "maximum"); ok && CompareNumbers(value, []byte(high)) > 0 {
		return []byte(high)
	}
	whole := k.Text("type") == "integer"
	if low, ok := k.Get("exclusiveMinimum"); ok && whole && CompareNumbers(value, low) <= 0 {
		return jsonedit.AddOne(low, 1)
	}
	if high, ok := k.Get("exclusiveMaximum"); ok && whole && CompareNumbers(value, high) >= 0 {
		return jsonedit.AddOne(high, -1)
	}
	return nil
}
