package binding

import "reflect"

// acceptor is one level of rules, compiled. It may accept only what validator accepts. Whatever
// it does not accept goes to validator, which decides and provides the fault. So validator
// remains the only judge, and valid calls, which are most, do not pay for it.
type acceptor struct {
	tests []test
	keys  *acceptor // of the keys of a map
	elem  *acceptor // of the elements
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

// accepts judges v. A nil pointer was null or absent, and no rule applies to that.
func (a *acceptor) accepts(v reflect.Value) bool {
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
func (a *acceptor) inside(v reflect.Value) bool {
	if a.elem == nil && a.keys == nil {
		return true
	}
	if v.Kind() == reflect.Map {
		for entry := v.MapRange(); entry.Next(); {
			if !a.keys.accepts(entry.Key()) || !a.elem.accepts(entry.Value()) {
				return false
			}
		}
		return true
	}
	for i := range v.Len() {
		if !a.elem.accepts(v.Index(i)) {
			return false
		}
	}
	return true
}
