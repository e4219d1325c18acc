package jsonedit

import (
	"fmt"

	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// Ordinal returns the position of a member or an item in an object or an array. If there is none, it returns
// their number.
func Ordinal(raw []byte, part string) int {
	i := 0
	if jsontext.KindOf(raw) == jsontext.KindArray {
		for range jsontext.Elements(raw) {
			if jsontext.PointerIndex("", i) == "/"+part {
				return i
			}
			i++
		}
		return i
	}
	for key := range jsontext.Members(raw) {
		if key.Is(part) {
			return i
		}
		i++
	}
	return i
}

// ValueAt finds the value at a JSON pointer. It looks into strings that contain JSON, since
// values of a repaired document were there.
func ValueAt(raw []byte, path string) ([]byte, bool) {
	for path != "" {
		var part string
		part, path = FirstStep(path)
		if inner, ok := Unquoted(raw, jsontext.KindObject, jsontext.KindArray); ok {
			raw = inner
		}
		next, ok := ChildOf(raw, Unescaped(part))
		if !ok {
			return nil, false
		}
		raw = next
	}
	return raw, true
}

// ChildOf returns the value of a member, or the item at an index.
func ChildOf(raw []byte, part string) ([]byte, bool) {
	if jsontext.KindOf(raw) == jsontext.KindObject {
		return jsontext.Member(raw, part)
	}
	i := 0
	for item := range jsontext.Elements(raw) {
		if fmt.Sprint(i) == part {
			return item, true
		}
		i++
	}
	return nil, false
}
