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

// String returns the name of the kind for error messages: "object", "number" and so on.
func (k Kind) String() string {
	switch k {
	case KindNull:
		return "null"
	case KindBool:
		return "boolean"
	case KindNumber:
		return "number"
	case KindString:
		return "string"
	case KindArray:
		return "array"
	case KindObject:
		return "object"
	default:
		return "invalid"
	}
}

// KindOf returns the kind of a checked value, determined by its first byte that is not space. For
// an unchecked value the result is only a guess.
func KindOf(value []byte) Kind {
	i := skipSpace(value, 0)
	if i == len(value) {
		return KindInvalid
	}
	switch b := value[i]; {
	case b == '{':
		return KindObject
	case b == '[':
		return KindArray
	case b == '"':
		return KindString
	case b == '-', isDigit(b):
		return KindNumber
	case b == 't', b == 'f':
		return KindBool
	case b == 'n':
		return KindNull
	default:
		return KindInvalid
	}
}

// IsEmptyArray reports whether text, one JSON value, is an array without elements.
func IsEmptyArray(text []byte) bool {
	return KindOf(text) == KindArray && Len(text) == 0
}
