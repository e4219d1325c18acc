package jsontext

// Kind is the type of a JSON value, as its first byte tells it.
type Kind byte

// The kinds of RFC 8259. The kind of strings is KindString, because String is
// the function that reads one; the others follow it.
const (
	KindInvalid Kind = iota // bytes that cannot begin a value
	KindNull
	KindBool
	KindNumber
	KindString
	KindArray
	KindObject
)

// String returns the name that a fault message uses: "object", "number", ...
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

// KindOf tells the kind of a checked value by its first byte that is not
// space. Of an unchecked value it is only a guess.
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
