package jsonedit

import (
	"strconv"

	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// ValueAt finds the value at a JSON pointer. It looks into strings that contain JSON, since
// values of a repaired document were there.
func ValueAt(raw []byte, path string) ([]byte, bool) {
	for path != "" {
		var part string
		part, path = FirstStep(path)
		if inner, ok := Unquoted(raw, jsontext.KindObject, jsontext.KindArray); ok {
			raw = inner
		}
		next, ok := childOf(raw, Unescaped(part))
		if !ok {
			return nil, false
		}
		raw = next
	}
	return raw, true
}

// childOf returns the value of a member, or the item at an index.
func childOf(raw []byte, part string) ([]byte, bool) {
	if jsontext.KindOf(raw) == jsontext.KindObject {
		return jsontext.Member(raw, part)
	}
	index, ok := Index(part)
	if !ok {
		return nil, false
	}
	for item := range jsontext.Elements(raw) {
		if index == 0 {
			return item, true
		}
		index--
	}
	return nil, false
}

// Index returns the index of an item that one part of a pointer stands for. It returns false if the part is
// not an index as pointers write it: digits, and no zero before them.
func Index(part string) (int, bool) {
	i, err := strconv.Atoi(part)
	return i, err == nil && i >= 0 && strconv.Itoa(i) == part
}
