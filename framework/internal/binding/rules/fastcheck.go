package rules

import (
	"reflect"
)

// FastCheck is one level of rules, compiled. It may accept only values that validator accepts. Validator
// judges every other value and provides the fault. So the verdicts are validator's, and valid calls, the most
// frequent ones, do not need it.
type FastCheck struct {
	tests []test
	keys  *FastCheck // of the keys of a map
	elem  *FastCheck // of the elements
}

// test judges a value that is not a pointer. indirect is set if a pointer led to the value.
type test func(v reflect.Value, indirect bool) verdict

// verdict is the result of a test.
type verdict uint8

const (
	doubtful verdict = iota // validator must judge the value
	holds                   // the next rule is tested
	settled                 // the rest of the tag does not apply
)

func certain(ok bool) verdict {
	if ok {
		return holds
	}
	return doubtful
}

// Accepts reports whether the check accepts v. It accepts a nil pointer, which was null or absent, because no
// rule applies to it.
func (a *FastCheck) Accepts(v reflect.Value) bool { return a.Judge(v) == Accepted }

// Judge is like Accepts, and returns which rules did not accept v.
func (a *FastCheck) Judge(v reflect.Value) Judgment {
	if a == nil {
		return Accepted
	}
	value, said := a.own(v)
	switch {
	case said == doubtful:
		return Refused
	case said == holds && !a.inside(value):
		return RefusedInside
	}
	return Accepted
}

// Judgment is the verdict of a FastCheck on a value.
type Judgment uint8

// Judgments.
const (
	Accepted      Judgment = iota
	Refused                // by the rules of the value itself; the values inside were not judged
	RefusedInside          // by the rules of a value inside, or of a key
)

// own judges v by the rules of this level. value is v without pointers.
func (a *FastCheck) own(v reflect.Value) (value reflect.Value, said verdict) {
	indirect := false
	for v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return v, settled
		}
		v, indirect = v.Elem(), true
	}
	for _, t := range a.tests {
		if said := t(v, indirect); said != holds {
			return v, said
		}
	}
	return v, holds
}

// Elem returns the check of the values inside, or nil if they have no rules.
func (a *FastCheck) Elem() *FastCheck { return a.elem }

// Keys returns the check of the keys of a map, or nil if they have no rules.
func (a *FastCheck) Keys() *FastCheck { return a.keys }

// Inside reports whether there are rules for the values inside, or for their keys.
func (a *FastCheck) Inside() bool { return a.elem != nil || a.keys != nil }

// inside judges the elements by the rules behind dive.
func (a *FastCheck) inside(v reflect.Value) bool {
	if a.elem == nil && a.keys == nil {
		return true
	}
	if v.Kind() == reflect.Map {
		for entry := v.MapRange(); entry.Next(); {
			if !a.keys.Accepts(entry.Key()) || !a.elem.Accepts(entry.Value()) {
				return false
			}
		}
		return true
	}
	for i := range v.Len() {
		if !a.elem.Accepts(v.Index(i)) {
			return false
		}
	}
	return true
}
