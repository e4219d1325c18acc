//go:build validator_novalidatefn

package binding

import "reflect"

// judged is false: built with this tag, validator cannot call methods.
func judged(rule, reflect.Type) bool { return false }

func methodAdvice(rule) string {
	return "Build without the tag validator_novalidatefn, or remove the rule"
}
