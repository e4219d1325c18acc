package jsontext

import (
	"bytes"
	"slices"
)

// Canonical appends a checked value to dst in a canonical form. The form has no space, members in
// the order of their names, and one spelling of each string. Values with the same content thus have
// the same bytes, except for numbers, which keep their spelling.
func Canonical(dst, value []byte) []byte {
	var spare []byte
	dst, _ = canonicalAt(dst, value, skipSpace(value, 0), &spare)
	return dst
}

// canonicalAt appends the value at i, and returns the index after it. The text is read in one pass.
// With an iterator for each level, the time would be quadratic in the depth. Members in another
// order are copied to spare and back.
func canonicalAt(dst, text []byte, i int, spare *[]byte) (out []byte, end int) {
	switch KindOf(text[i:]) {
	case KindObject:
		return canonicalObject(dst, text, i, spare)
	case KindArray:
		dst = append(dst, '[')
		i, more := inside(text, i, ']')
		for more {
			dst, i = canonicalAt(dst, text, i, spare)
			if i, more = following(text, i); more {
				dst = append(dst, ',')
			}
		}
		return append(dst, ']'), min(i+1, len(text))
	}
	end = skipValue(text, i)
	if s, ok := String(text[i:end]); ok {
		return Quote(dst, s), end
	}
	return append(dst, text[i:end]...), end
}

// place is a member in a canonical text: its name and value are text[start:end].
type place struct{ start, nameEnd, end int }

func canonicalObject(dst, text []byte, i int, spare *[]byte) (out []byte, end int) {
	var few [8]place
	members := few[:0]
	dst = append(dst, '{')
	i, more := inside(text, i, '}')
	for more {
		key, at, ok := nameAt(text, i)
		if !ok {
			return dst, len(text)
		}
		m := place{start: len(dst)}
		dst = Quote(dst, key.String())
		m.nameEnd = len(dst)
		dst, i = canonicalAt(append(dst, ':'), text, at, spare)
		m.end = len(dst)
		members = append(members, m)
		if i, more = following(text, i); more {
			dst = append(dst, ',')
		}
	}
	orderMembers(dst, members, spare)
	return append(dst, '}'), min(i+1, len(text))
}

// orderMembers puts the members at the end of text into the order of their names.
func orderMembers(text []byte, members []place, spare *[]byte) {
	byName := func(a, b place) int {
		return bytes.Compare(text[a.start:a.nameEnd], text[b.start:b.nameEnd])
	}
	if slices.IsSortedFunc(members, byName) {
		return
	}
	start := members[0].start
	*spare = append((*spare)[:0], text[start:]...) // the objects inside are in order already
	written := *spare
	slices.SortStableFunc(members, byName)
	ordered := text[:start]
	for i, m := range members {
		if i > 0 {
			ordered = append(ordered, ',')
		}
		ordered = append(ordered, written[m.start-start:m.end-start]...)
	}
}
