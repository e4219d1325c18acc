package jsontext

import (
	"bytes"
	"slices"
)

// Canonical appends a checked value to dst without space, with the members of objects in
// the order of their names and texts in one spelling: values that are alike for a reader
// become the same bytes. Numbers stay as they are written.
func Canonical(dst, value []byte) []byte {
	switch KindOf(value) {
	case KindObject:
		return canonicalObject(dst, value)
	case KindArray:
		dst = append(dst, '[')
		next := false
		for v := range Elements(value) {
			if next {
				dst = append(dst, ',')
			}
			dst, next = Canonical(dst, v), true
		}
		return append(dst, ']')
	case KindString:
		text, _ := String(value)
		return Quote(dst, text)
	}
	return Compact(dst, value)
}

func canonicalObject(dst, value []byte) []byte {
	type member struct{ name, value []byte }
	var few [8]member
	all := few[:0]
	for key, v := range Members(value) {
		all = append(all, member{Quote(nil, key.String()), v})
	}
	slices.SortStableFunc(all, func(a, b member) int { return bytes.Compare(a.name, b.name) })
	dst = append(dst, '{')
	for i, m := range all {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = Canonical(append(append(dst, m.name...), ':'), m.value)
	}
	return append(dst, '}')
}
