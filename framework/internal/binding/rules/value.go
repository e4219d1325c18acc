package rules

import (
	"reflect"
)

// Kind is how validator looks at a value whose wire form is what JSON Schema
// looks at. Where the two differ (a quoted number, a type with a text form)
// no keyword can speak for the rule.
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

// Value is what rules must know of the values that they are about.
type Value struct {
	T       reflect.Type // behind pointers
	Kind    Kind
	Quoted  Kind         // of a value that is written as a text, by json:",string"; opaque: it is not
	Bytes   bool         // it is a text in JSON, and a slice of bytes for validator
	Elem    func() Value // of the elements of a list or a map; nil: there are none
	Key     *Value       // of the keys of a map, which are texts; nil: there are none
	Strings bool         // the keys are strings in Go, and no method of their type reads them
}
