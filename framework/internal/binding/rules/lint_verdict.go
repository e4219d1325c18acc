package rules

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/go-playground/validator/v10"

	"github.com/kagami-mcp/kagami/framework/internal/binding/gotype"
)

// ValuerType is the interface of types that give validator another value to judge.
var ValuerType = reflect.TypeFor[validator.Valuer]()

// lintVerdict refuses rules for texts that no value of t passes. For most of them validator
// does not panic: it judges the text that package reflect prints for a value of another kind,
// and refuses it.
func (c *Compiler) lintVerdict(r Rule, t reflect.Type) bool {
	if t == gotype.NumberType && r.isSize() {
		c.Fault("", fmt.Sprintf("validate rule %q would measure the characters of a json.Number, not its value", r), "Use a number of Go")
		return false
	}
	if t.Kind() == reflect.Struct && t.ConvertibleTo(gotype.TimeType) && r.measuresBy() {
		c.Fault("", fmt.Sprintf("validate rule %q would compare the time with the moment of the call: validator ignores the parameter", r),
			"Leave the parameter out, or compare them in a method Validate() error of the struct")
		return false
	}
	if !c.hopeless(r, t) {
		return true
	}
	c.Fault("", fmt.Sprintf("validate rule %q does not work on type %s: no value passes it", r, t), wayOut(r, t))
	return false
}

// measuresBy reports whether the rule, or a part of it, measures a value by a parameter.
func (r Rule) measuresBy() bool {
	return slices.Contains(sizeRules, r.Name) && r.Param != "" || slices.ContainsFunc(r.alts, Rule.measuresBy)
}

// wayOut suggests what to use instead of a rule that no value of t passes.
func wayOut(r Rule, t reflect.Type) string {
	switch {
	case r.Name == ruleMethod:
		return methodAdvice(r)
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8:
		return "Remove it: what is in the text was decoded already"
	case measuresArray(r, t):
		return fmt.Sprintf("Remove it: the rule counts elements, and all values have %d", t.Len())
	case t.Kind() == reflect.Slice, t.Kind() == reflect.Array, t.Kind() == reflect.Map:
		return "Write dive before it to ask it of each element"
	}
	return "Use a string, or a rule for the type"
}

// ruleMethod is the rule that calls a method of the value.
const ruleMethod = "validateFn"

// hopeless reports whether the rule, or each part of it, refuses every value of t.
func (c *Compiler) hopeless(r Rule, t reflect.Type) bool {
	if len(r.alts) > 0 {
		return !slices.ContainsFunc(r.alts, func(alt Rule) bool { return !c.hopeless(alt, t) })
	}
	if r.Name == ruleMethod {
		return !hasRuleMethod(r, t)
	}
	if measuresArray(r, t) {
		holds, problem := tryRule(c.Validator(), r, reflect.Zero(t))
		return !holds && problem == ""
	}
	if !foreseeable(r, t) {
		return false
	}
	if _, problem := tryRule(c.Validator(), r, Sample(reflect.TypeFor[string](), 1)); problem != "" {
		return false // it is not a rule for texts
	}
	return !slices.ContainsFunc(probes(t), func(v reflect.Value) bool {
		holds, problem := tryRule(c.Validator(), r, v)
		return holds || problem != ""
	})
}

// measuresArray reports whether the rule is about the length of an array, and validator judges the array
// itself.
func measuresArray(r Rule, t reflect.Type) bool {
	return t.Kind() == reflect.Array && (r.isSize() || r.Name == "eq" || r.Name == "ne") && !has(t, ValuerType)
}

// foreseeable reports whether validator's verdict on a few values of t applies to all values.
func foreseeable(r Rule, t reflect.Type) bool {
	switch {
	case t.Kind() == reflect.String, t.Kind() == reflect.Interface, has(t, ValuerType):
		return false
	case t.Kind() == reflect.Struct && HasRules(t, map[reflect.Type]bool{}):
		return false // validator judges it with its members
	case r.check != nil, r.structural(), r.between(), nativeTest(r, t) != nil:
		return false
	case strings.HasPrefix(r.Name, "uuid"), r.Name == "ulid": // validator calls String for these
		return t == gotype.DurationType || !has(t, stringerType)
	}
	return true
}

var stringerType = reflect.TypeFor[fmt.Stringer]()

func has(t, methods reflect.Type) bool {
	return t.Implements(methods) || reflect.PointerTo(t).Implements(methods)
}

// probes returns values of t. If a rule makes sense for t, at least one of them passes.
func probes(t reflect.Type) []reflect.Value {
	out := []reflect.Value{reflect.Zero(t), Sample(t, 3)}
	for _, code := range []int64{8, 18, 40} { // a country and a currency; a valid check digit; a country in the EU
		v := reflect.New(t).Elem()
		switch {
		case v.CanInt():
			v.SetInt(code)
		case v.CanUint():
			v.SetUint(uint64(code))
		case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8:
			v.SetBytes([]byte("8")) // as JSON
		}
		out = append(out, v)
	}
	return out
}
