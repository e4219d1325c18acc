package binding

import (
	"math/big"

	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// misplaced reports whether a value is a list or an object, but not of the kind that k wants.
func misplaced(k keywords, value []byte) bool {
	kind := jsontext.KindOf(value)
	return (kind == jsontext.KindObject || kind == jsontext.KindArray) && !sameShape(k, value)
}

// sameShape reports whether a container is the kind of container wanted.
func sameShape(k keywords, value []byte) bool {
	wanted := k.text("type")
	if k.has("$ref") {
		wanted = "object"
	}
	return wanted == "array" && jsontext.KindOf(value) == jsontext.KindArray ||
		wanted == "object" && jsontext.KindOf(value) == jsontext.KindObject
}

// clamp moves a number to the nearest bound, unless that is only the limit of int64 and the
// like, which nobody means.
func clamp(k keywords, value []byte) []byte {
	if value == nil {
		return nil
	}
	if low, ok := bound(k, "minimum"); ok && compareNumbers(value, []byte(low)) < 0 {
		return []byte(low)
	}
	if high, ok := bound(k, "maximum"); ok && compareNumbers(value, []byte(high)) > 0 {
		return []byte(high)
	}
	whole := k.text("type") == "integer"
	if low, ok := k.get("exclusiveMinimum"); ok && whole && compareNumbers(value, low) <= 0 {
		return addOne(low, 1)
	}
	if high, ok := k.get("exclusiveMaximum"); ok && whole && compareNumbers(value, high) >= 0 {
		return addOne(high, -1)
	}
	return nil
}

func addOne(number []byte, by int64) []byte {
	i, ok := bigOf(number)
	if !ok {
		return nil
	}
	return i.Add(i, big.NewInt(by)).Append(nil, 10)
}
