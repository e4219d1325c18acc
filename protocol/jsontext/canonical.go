package jsontext

import (
	"bytes"
	"slices"
)

// Canonical appends a checked value to dst in a canonical form. The form has no space, members in
// the order of their names, and one spelling of each string. Values with the same content thus have
// the same bytes, except for numbers, which keep their spelling.
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
