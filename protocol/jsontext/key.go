package jsontext

import "bytes"

// Key is the name of an object member as it is written. It aliases the text, and is valid as long
// as the text is not modified. Is compares it to a name. The zero Key is equal to no name.
type Key struct {
	raw     []byte
	escaped bool // raw contains a backslash
}

// keyOf returns the Key for raw. maybe is false if raw certainly has no backslash.
func keyOf(raw []byte, maybe bool) Key {
	return Key{raw: raw, escaped: maybe && bytes.IndexByte(raw, '\\') >= 0}
}

// Raw returns the name as written: a JSON string with its quotes and escapes.
func (k Key) Raw() []byte { return k.raw }

// Is reports whether the unescaped name is exactly name. Case matters, and no Unicode normalization
// is applied. Is allocates only if the written name has escapes and more than 64 bytes.
func (k Key) Is(name string) bool {
	if !k.escaped {
		return len(k.raw) == len(name)+2 && string(k.inner()) == name
	}
	inner := k.inner()
	// Unescaping never makes a text longer, so a text shorter than name cannot be equal.
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

// Bytes returns the unescaped name. It aliases the text if the name has no escapes, so callers must
// not modify it.
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
