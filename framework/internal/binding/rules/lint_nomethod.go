//go:build validator_novalidatefn

package rules

import "reflect"

// hasRuleMethod returns false: if validator is built with this tag, it cannot call methods.
func hasRuleMethod(Rule, reflect.Type) bool { return false }

func methodAdvice(Rule) string {
	return "Build without the tag validator_novalidatefn, or remove the rule"
}
