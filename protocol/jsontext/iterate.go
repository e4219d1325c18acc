package jsontext

import (
	"bytes"
	"iter"
	"math/bits"
)

// The functions of this file read texts that Check has accepted. For any other
// text their results are undefined, but they terminate and do not panic.

// Members returns an iterator over the members of a checked object in their written order, repeated
// names included. The values alias object and have no space around them. If object is a value of
// another kind, the iterator yields nothing.
func Members(object []byte) iter.Seq2[Key, []byte] {
	return func(yield func(Key, []byte) bool) { walkMembers(object, yield) }
}

func walkMembers(object []byte, yield func(Key, []byte) bool) {
	i, more := enter(object, '{', '}')
	for more {
		key, start, ok := nameAt(object, i)
		if !ok {
			return
		}
		end := skipValue(object, start)
		if !yield(key, object[start:end:end]) {
			return
		}
		i, more = following(object, end)
	}
}

// Elements returns an iterator over the items of a checked array. The items alias array and have no
// space around them. If array is a value of another kind, the iterator yields nothing.
func Elements(array []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) { walkElements(array, yield) }
}

func walkElements(array []byte, yield func([]byte) bool) {
	i, more := enter(array, '[', ']')
	for more {
		end := skipValue(array, i)
		if !yield(array[i:end:end]) {
			return
		}
		i, more = following(array, end)
	}
}

// Member returns the value of the first member whose unescaped name is exactly name. object must be
// checked.
func Member(object []byte, name string) (value []byte, ok bool) {
	for key, value := range Members(object) {
		if key.Is(name) {
			return value, true
		}
	}
	return nil, false
}

// Len returns the number of items of a checked array, or of members of a checked object. It returns
// 0 for any other value.
func Len(container []byte) int {
	n := 0
	if KindOf(container) == KindArray {
		for range Elements(container) {
			n++
		}
		return n
	}
	for range Members(container) {
		n++
	}
	return n
}

// enter returns the index of the first element of a container that begins with open. more is false
// if there is no element, or text is of another kind.
func enter(text []byte, open, shut byte) (i int, more bool) {
	i = skipSpace(text, 0)
	if i == len(text) || text[i] != open {
		return i, false
	}
	return inside(text, i, shut)
}

// inside returns the index of the first element of the container at i. more is false if there is no
// element; the index is then the one of shut.
func inside(text []byte, i int, shut byte) (first int, more bool) {
	i = skipSpace(text, i+1)
	return i, i < len(text) && text[i] != shut
}

// following returns the index of the element after the one that ended at i. more is false if that
// was the last.
func following(text []byte, i int) (next int, more bool) {
	i = skipSpace(text, i)
	if i == len(text) || text[i] != ',' {
		return i, false
	}
	i = skipSpace(text, i+1)
	return i, i < len(text)
}

// nameAt reads the name at i, and returns the index of its value. It returns false only for an
// unchecked text.
func nameAt(text []byte, i int) (key Key, value int, ok bool) {
	if text[i] != '"' {
		return Key{}, i, false
	}
	end, maybe := skipString(text, i)
	colon := skipSpace(text, end)
	if colon == len(text) || text[colon] != ':' {
		return Key{}, colon, false
	}
	return keyOf(text[i:end:end], maybe), skipSpace(text, colon+1), true
}

// skipValue returns the index after the value at i. It advances by at least one byte unless i is
// the end, so that iteration terminates on any input.
func skipValue(text []byte, i int) int {
	if i == len(text) {
		return i
	}
	switch text[i] {
	case '"':
		end, _ := skipString(text, i)
		return end
	case '{', '[':
		return skipContainer(text, i)
	}
	i++
	for i < len(text) && !endsScalar(text[i]) {
		i++
	}
	return i
}

// endsScalar reports whether b cannot be part of a number or literal.
func endsScalar(b byte) bool { return b == ',' || b == ']' || b == '}' || isSpace(b) }

// skipContainer returns the index after the container at i. It does not distinguish brackets from
// braces, because they match in a checked text.
func skipContainer(text []byte, i int) int {
	depth := 0
	for i < len(text) {
		switch text[i] {
		case '"':
			i, _ = skipString(text, i)
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
		i++
	}
	return i
}

// near is how many bytes of a string skipString examines word by word before it calls skipLong.
// Most strings are names or single words and are shorter.
const near = 64

// skipString returns the index after the string whose opening quote is at i. escaped is false if
// the string has no backslash. It may be true for a long string without one.
func skipString(text []byte, i int) (end int, escaped bool) {
	i++
	far := min(len(text), i+near)
	for i+8 <= far {
		hit := quoteOrSlash(load8(text, i))
		if hit == 0 {
			i += 8
			continue
		}
		i += bits.TrailingZeros64(hit) / 8
		if text[i] == '"' {
			return i + 1, escaped
		}
		i, escaped = i+2, true // skip the backslash and the byte that it escapes
	}
	if far < len(text) {
		return skipLong(text, i), true
	}
	for ; i < len(text); i++ {
		switch text[i] {
		case '"':
			return i + 1, escaped
		case '\\':
			i, escaped = i+1, true
		}
	}
	return len(text), escaped
}

// skipLong is like skipString, but starts at from, an index inside the string at which no escape is
// open. A quote ends the string if it follows an even number of backslashes.
func skipLong(text []byte, from int) int {
	for {
		n := bytes.IndexByte(text[from:], '"')
		if n < 0 {
			return len(text)
		}
		quote := from + n
		slash := quote
		for slash > from && text[slash-1] == '\\' {
			slash--
		}
		from = quote + 1
		if (quote-slash)%2 == 0 {
			return from
		}
	}
}
