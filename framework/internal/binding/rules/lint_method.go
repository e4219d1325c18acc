//go:build !validator_novalidatefn

package rules

import (
	"cmp"
	"fmt"
	"reflect"
)

// judged reports whether t has the method that r, of the kind ruleMethod, names, and its first result
// is one that validator understands, a bool or an error. For an interface that is not known.
//
// Like validator's own code it looks a method up whose name the linker does not know, which makes it
// keep all methods of all types. Hence validator's tag.
func judged(r Rule, t reflect.Type) bool {
	if t.Kind() == reflect.Interface || has(t, ValuerType) {
		return true
	}
	m, ok := reflect.PointerTo(t).MethodByName(methodOf(r))
	if !ok || m.Type.NumOut() == 0 {
		return false
	}
	first := m.Type.Out(0)
	return first.Kind() == reflect.Bool || first.Kind() == reflect.Interface && first.Implements(reflect.TypeFor[error]())
}

func methodOf(r Rule) string { return cmp.Or(r.Param, "Validate") }

func methodAdvice(r Rule) string {
	return fmt.Sprintf("Give the type a method %s() error, or remove the rule", methodOf(r))
}
