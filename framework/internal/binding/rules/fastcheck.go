package rules

import (
	"reflect"
)

// FastCheck is one level of rules, compiled. It may accept only what validator accepts. Whatever
// it does not accept goes to validator, which decides and provides the fault. So validator
// remains the only judge, and valid calls, which are most, do not pay for it.
type FastCheck struct {
	tests []test
	keys  *FastCheck // of the keys of a map
	elem  *FastCheck // of the elements
}

// test judges a value that is not a pointer; indirect says that a pointer led to it.
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

// Accepts judges v. A nil pointer was null or absent, and no rule applies to that.
func (a *FastCheck) Accepts(v reflect.Value) bool {
	if a == nil {
		return true
	}
	indirect := false
	for v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return true
		}
		v, indirect = v.Elem(), true
	}
	for _, t := range a.tests {
		switch t(v, indirect) {
		case doubtful:
			return false
		case settled:
			return true
		case holds:
		}
	}
	return a.inside(v)
}

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
