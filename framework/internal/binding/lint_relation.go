package binding

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// lintRelation refuses a rule that compares values of t with another field if validator cannot
// compare them. It looks at the kinds alone: values of different kinds are never equal, greater
// or less for it, so that every call would be judged wrong.
func (c *ruleCompiler) lintRelation(r rule, t, owner reflect.Type) bool {
	other := fieldAt(owner, r.param)
	if other == nil || t.Kind() == reflect.Interface || other.Kind() == reflect.Interface {
		return true // nothing is known of the values
	}
	problem := fmt.Sprintf("validate rule %q cannot compare %s with %s", r, t, other)
	switch r.name {
	case "fieldcontains", "fieldexcludes", "postcode_iso3166_alpha2_field":
		if t.Kind() != reflect.String || other.Kind() != reflect.String {
			c.fault("", problem, "Use it between strings")
			return false
		}
		return true
	}
	switch {
	case t.Kind() != other.Kind():
		c.fault("", problem, "Give both fields the same type")
	case t == numberType || other == numberType:
		c.fault("", problem, "Use numbers of Go")
	case !canCompare(r.name, t) || !canCompare(r.name, other):
		c.fault("", problem, "Compare them in a method Validate() error of the struct")
	default:
		return true
	}
	return false
}

// canCompare reports whether validator looks at values of t, and not only at their length or
// type, when it compares them by the rule. Strings are ordered by their length.
func canCompare(rule string, t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Bool:
		return rule == "eqfield" || rule == "nefield"
	case reflect.Struct:
		return t.ConvertibleTo(timeType)
	case reflect.Slice, reflect.Array, reflect.Map, reflect.Func, reflect.Chan, reflect.Complex64, reflect.Complex128:
		return false
	}
	return true
}

// fieldAt returns the type of the field that a rule names, without pointers; nil if it is not
// found.
func fieldAt(owner reflect.Type, path string) reflect.Type {
	t := deref(owner)
	for name := range strings.SplitSeq(path, ".") {
		if t.Kind() != reflect.Struct {
			return nil
		}
		f, ok := t.FieldByName(name)
		if !ok {
			return nil
		}
		t = deref(f.Type)
	}
	return t
}

// lintValue refuses a value that a presence rule compares with a field, if validator cannot read
// it as one of the field's kind: it would panic with every call.
func (c *ruleCompiler) lintValue(r rule, owner reflect.Type, name, value string) bool {
	t := fieldAt(owner, name)
	if t == nil || readable(t, value) {
		return true
	}
	c.fault("", fmt.Sprintf("validate rule %q compares %s with %q, which is not %s", r, name, value, kindWords(t)),
		"Write a value of that kind")
	return false
}

// readable reports whether validator reads value as one of t's kind.
func readable(t reflect.Type, value string) bool {
	var err error
	switch t.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		_, err = strconv.ParseInt(value, 0, 64)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		_, err = strconv.ParseUint(value, 0, 64)
	case reflect.Float32, reflect.Float64:
		_, err = strconv.ParseFloat(value, t.Bits())
	case reflect.Slice, reflect.Map:
		if value != "nil" {
			_, err = strconv.ParseInt(value, 0, 64)
		}
	case reflect.Array:
		_, err = strconv.ParseInt(value, 0, 64)
	case reflect.Bool:
		return value == "true" || value == "false"
	case reflect.String, reflect.Interface:
	default:
		return false
	}
	return err == nil
}

// kindWords says what a value compared with a field of type t must be.
func kindWords(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Slice, reflect.Map, reflect.Array:
		return "a length"
	case reflect.Bool:
		return "true or false"
	case reflect.Struct, reflect.Func, reflect.Chan:
		return "comparable with " + t.String()
	}
	return "a value of " + t.String()
}

// lintUnique refuses unique on elements that validator cannot put into a map.
func (c *ruleCompiler) lintUnique(r rule, t reflect.Type) bool {
	if r.name != "unique" || r.param != "" {
		return true
	}
	switch t.Kind() {
	case reflect.Slice, reflect.Array, reflect.Map:
		if elem := deref(t.Elem()); elem.Comparable() && (elem.Kind() != reflect.Interface || elem.NumMethod() > 0) {
			return true
		}
		c.fault("", fmt.Sprintf("validate rule %q does not work on type %s: its elements cannot be compared", r, t),
			"Use a type of elements that are comparable in Go, or check them in a method Validate() error")
		return false
	}
	return true
}
