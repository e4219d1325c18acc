package jsontext

import "bytes"

// Key is the name of an object member as it is written. It aliases the text,
// is comparable to a name without being unescaped, and is valid as long as the
// text is not changed. The zero Key is no name.
type Key struct {
	raw     []byte
	escaped bool // there is a backslash in it
}

// keyOf is a name in which there may be a backslash, or there is none.
func keyOf(raw []byte, maybe bool) Key {
	return Key{raw: raw, escaped: maybe && bytes.IndexByte(raw, '\\') >= 0}
}

// Raw returns the name as written: a JSON string with its quotes and escapes.
func (k Key) Raw() []byte { return k.raw }

// Is reports whether the unescaped name is exactly name; case matters, and no
// Unicode normal form is applied. It does not allocate unless the name is
// written with escapes and is long.
func (k Key) Is(name string) bool {
	inner := k.inner()
	if !k.escaped {
		return string(inner) == name && len(k.raw) > 0
	}
	// Unescaping never lengthens, so a shorter text is another name.
	if len(inner) < len(name) {
		return false
	}
	var room [64]byte
	return string(unescape(room[:0], inner)) == name
}

// String returns the unescaped name.
func (k Key) String() string {
	inner := k.inner()
	if !k.escaped {
		return string(inner)
	}
	return string(unescape(nil, inner))
}

// Bytes returns the unescaped name, read-only; it aliases the text if it can.
func (k Key) Bytes() []byte {
	inner := k.inner()
	if !k.escaped {
		return inner
	}
	return unescape(make([]byte, 0, len(inner)), inner)
}

func (k Key) inner() []byte {
	if len(k.raw) < 2 {
		return nil
	}
	return k.raw[1 : len(k.raw)-1]
}
