package rules

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/kagami-mcp/kagami/framework/internal/binding/gotype"
)

// lintRelation refuses a rule that compares a value of t with another field, if validator cannot compare them.
// It looks only at the kinds: for validator, values of different kinds are never equal, greater or less, so it
// would refuse every call.
func (c *Compiler) lintRelation(r Rule, t, owner reflect.Type) bool {
	other := fieldAt(owner, r.Param)
	if other == nil || t.Kind() == reflect.Interface || other.Kind() == reflect.Interface {
		return true // the values are not known
	}
	problem := fmt.Sprintf("validate rule %q cannot compare %s with %s", r, t, other)
	switch r.Name {
	case "fieldcontains", "fieldexcludes", "postcode_iso3166_alpha2_field":
		if t.Kind() != reflect.String || other.Kind() != reflect.String {
			c.Fault("", problem, "Use it between strings")
			return false
		}
		return true
	}
	switch {
	case t.Kind() != other.Kind():
		c.Fault("", problem, "Give both fields the same type")
	case t == gotype.NumberType || other == gotype.NumberType:
		c.Fault("", problem, "Use numbers of Go")
	case !canCompare(r.Name, t) || !canCompare(r.Name, other):
		c.Fault("", problem, "Compare them in a method Validate() error of the struct")
	case t.Kind() == reflect.String && orders(r.Name):
		c.Warn(fmt.Sprintf("validate rule %q compares the lengths of the texts", r), "Use time.Time or numbers, or compare them in a method Validate() error of the struct")
		return true
	default:
		return true
	}
	return false
}

// orders reports whether a rule is about which value is greater.
func orders(rule string) bool {
	return strings.HasPrefix(rule, "gt") || strings.HasPrefix(rule, "lt")
}

// canCompare reports whether validator looks at values of t, and not only at their length or
// type, when it compares them by the rule. Strings are ordered by their length.
func canCompare(rule string, t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Bool:
		return rule == "eqfield" || rule == "nefield"
	case reflect.Struct:
		return t.ConvertibleTo(gotype.TimeType)
	case reflect.Slice, reflect.Array, reflect.Map, reflect.Func, reflect.Chan, reflect.Complex64, reflect.Complex128:
		return false
	}
	return true
}

// fieldAt returns the type of the field that a rule names, without pointers. It returns nil if there is no
// such field.
func fieldAt(owner reflect.Type, path string) reflect.Type {
	t := gotype.Deref(owner)
	for name := range strings.SplitSeq(path, ".") {
		if t.Kind() != reflect.Struct {
			return nil
		}
		f, ok := t.FieldByName(name)
		if !ok {
			return nil
		}
		t = gotype.Deref(f.Type)
	}
	return t
}

// lintValue refuses a value that a presence rule compares with a field, if validator cannot read it as a value
// of the field's kind: validator would panic in every call.
func (c *Compiler) lintValue(r Rule, owner reflect.Type, name, value string) bool {
	t := fieldAt(owner, name)
	if t == nil || readable(t, value) {
		return true
	}
	c.Fault("", fmt.Sprintf("validate rule %q compares %s with %q, which is not %s", r, name, value, kindWords(t)),
		"Write a value of that kind")
	return false
}

// readable reports whether validator reads value as a value of t's kind.
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

// kindWords describes the values that can be compared with a field of type t.
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

// lintUnique refuses unique on elements that validator cannot put into a map, and on elements that are
// different keys of a map although their JSON is equal.
func (c *Compiler) lintUnique(r Rule, t reflect.Type) bool {
	if r.Name != "unique" || t.Kind() != reflect.Slice && t.Kind() != reflect.Array && t.Kind() != reflect.Map {
		return true
	}
	key := pointee(t.Elem())
	if r.Param != "" && t.Kind() != reflect.Map {
		if key.Kind() != reflect.Struct {
			return true // the sample makes validator panic, also if there is no such field
		}
		field, ok := key.FieldByName(r.Param)
		if !ok {
			return true
		}
		if _, nilable := followPath(key, r.Param); nilable {
			c.Fault("", fmt.Sprintf("validate rule %q: %s is a field of an embedded pointer, and validator panics where that is nil", r, r.Param),
				"Embed the struct itself, or compare them in a method Validate() error of the struct")
			return false
		}
		key = pointee(field.Type)
	}
	const fix = "Use a type of elements that are comparable in Go, or check them in a method Validate() error"
	switch {
	case !key.Comparable(), holdsAny(key):
		c.Fault("", fmt.Sprintf("validate rule %q does not work on type %s: its elements cannot be compared", r, t), fix)
	case !byValue(key):
		c.Fault("", fmt.Sprintf("validate rule %q does not work on type %s: Go compares its elements by their addresses", r, t), fix)
	default:
		return true
	}
	return false
}

// pointee returns the type behind the one pointer that validator follows.
func pointee(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

// holdsAny reports whether a value of a comparable type may contain any JSON value, which Go may not be able
// to compare.
func holdsAny(t reflect.Type) bool {
	return someFlat(t, func(t reflect.Type) bool { return t.Kind() == reflect.Interface && t.NumMethod() == 0 })
}

// byValue reports whether Go compares values of a comparable type by what their JSON contains. It assumes so
// for types that decode themselves, such as times and addresses.
func byValue(t reflect.Type) bool {
	return !someFlat(t, func(t reflect.Type) bool { return t.Kind() == reflect.Pointer })
}

// someFlat reports whether is returns true for t, or for the type of a part of t that is not behind a pointer.
func someFlat(t reflect.Type, is func(reflect.Type) bool) bool {
	switch {
	case is(t):
		return true
	case has(t, gotype.TextReader) || has(t, gotype.JSONReader):
		return false
	case t.Kind() == reflect.Array:
		return someFlat(t.Elem(), is)
	case t.Kind() != reflect.Struct:
		return false
	}
	for f := range t.Fields() {
		if (f.IsExported() || f.Anonymous) && f.Tag.Get("json") != "-" && someFlat(f.Type, is) {
			return true
		}
	}
	return false
}
