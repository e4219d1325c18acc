//go:build !validator_novalidatefn

package rules

import (
	"cmp"
	"fmt"
	"reflect"
)

// hasRuleMethod reports whether t has the method that r demands, and the first result of the method is a bool or
// an error. The name of r is ruleMethod. For an interface, the method is not known, and hasRuleMethod returns true.
//
// Like validator, it looks up a method by a name that the linker does not know, so the linker keeps all methods
// of all types. The build tag of validator avoids that.
func hasRuleMethod(r Rule, t reflect.Type) bool {
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
