package binding

import "reflect"

// kind is how validator looks at a value whose wire form is what JSON Schema
// looks at. Where the two differ (a quoted number, a type with a text form)
// no keyword can speak for the rule.
type kind uint8

const (
	opaque kind = iota
	textKind
	intKind
	uintKind
	floatKind
	boolKind
	listKind
	mapKind
	timeKind
	durationKind
)

func (k kind) isNumber() bool { return k == intKind || k == uintKind || k == floatKind }

// ruleValue is what rules must know of the values that they are about.
type ruleValue struct {
	t       reflect.Type // behind pointers
	kind    kind
	quoted  kind             // of a value that is written as a text, by json:",string"; opaque: it is not
	bytes   bool             // it is a text in JSON, and a slice of bytes for validator
	elem    func() ruleValue // of the elements of a list or a map; nil: there are none
	key     *ruleValue       // of the keys of a map, which are texts; nil: there are none
	strings bool             // the keys are strings in Go, and no method of their type reads them
}
