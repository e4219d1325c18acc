package rules

import (
	"reflect"
)

// Kind is how validator sees a value. JSON Schema sees the wire form of the value. If the two differ (a quoted
// number, a type with a text form), no keyword can express the rule.
type Kind uint8

// Kinds. Values of the kind Opaque differ from their JSON, so no keyword can express their rules.
const (
	Opaque Kind = iota
	TextKind
	IntKind
	UintKind
	FloatKind
	BoolKind
	ListKind
	MapKind
	TimeKind
	DurationKind
)

// IsNumber reports whether values of the kind are numbers.
func (k Kind) IsNumber() bool { return k == IntKind || k == UintKind || k == FloatKind }

// Value describes the values that a rule applies to.
type Value struct {
	T       reflect.Type // behind pointers
	Kind    Kind
	Quoted  Kind         // kind of a value that json:",string" writes as a text; Opaque for other values
	Bytes   bool         // a text in JSON, and a slice of bytes for validator
	Elem    func() Value // the elements of a list or a map; nil for other values
	Key     *Value       // the keys of a map; nil for other values
	Strings bool         // the keys are strings in Go, and no method of their type reads them
}
