package jsontext

// Kind is the type of a JSON value.
type Kind byte

// The kinds of RFC 8259. They have the prefix Kind because String is a function of this package.
const (
	KindInvalid Kind = iota // bytes that cannot begin a value
	KindNull
	KindBool
	KindNumber
	KindString
	KindArray
	KindObject
)

var kindNames = [...]string{"invalid", "null", "boolean", "number", "string", "array", "object"}

// String returns the name of the kind for error messages: "object", "number" and so on.
func (k Kind) String() string {
	if int(k) >= len(kindNames) {
		k = KindInvalid
	}
	return kindNames[k]
}

// kindBy is the kind of a value by its first byte.
var kindBy = [256]Kind{
	'{': KindObject, '[': KindArray, '"': KindString, 't': KindBool, 'f': KindBool, 'n': KindNull, '-': KindNumber,
	'0': KindNumber, '1': KindNumber, '2': KindNumber, '3': KindNumber, '4': KindNumber,
	'5': KindNumber, '6': KindNumber, '7': KindNumber, '8': KindNumber, '9': KindNumber,
}

// KindOf returns the kind of a checked value, determined by its first byte that is not space. For
// an unchecked value the result is only a guess.
func KindOf(value []byte) Kind {
	i := skipSpace(value, 0)
	if i == len(value) {
		return KindInvalid
	}
	return kindBy[value[i]]
}

// IsEmptyArray reports whether text, one JSON value, is an array without elements.
func IsEmptyArray(text []byte) bool {
	return KindOf(text) == KindArray && Len(text) == 0
}
