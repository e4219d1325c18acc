package rules

import (
	"cmp"
	"reflect"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/kagami-mcp/kagami/framework/internal/binding/gotype"
)

// nativeTest returns a test for a rule about a size, a bound or a list of words. It reads the rule's parameter
// as validator does. For any other rule it returns nil.
func nativeTest(r Rule, t reflect.Type) test {
	switch r.Name {
	case "oneof":
		return wordTest(r, t)
	case "eq", "ne":
		if t.Kind() == reflect.String {
			return func(v reflect.Value, _ bool) verdict { return certain((v.String() == r.Param) == (r.Name == "eq")) }
		}
	}
	fits := comparisons[r.Name]
	if fits == nil {
		return nil
	}
	size, err := strconv.ParseInt(r.Param, 0, 64)
	switch kind := t.Kind(); {
	case kind == reflect.String:
		return boundTest(size, err, fits, func(v reflect.Value) int64 { return int64(utf8.RuneCountInString(v.String())) })
	case kind == reflect.Slice, kind == reflect.Map, kind == reflect.Array:
		return boundTest(size, err, fits, func(v reflect.Value) int64 { return int64(v.Len()) })
	case gotype.IsInt(kind):
		if d, problem := time.ParseDuration(r.Param); problem == nil && t == gotype.DurationType {
			size, err = int64(d), nil
		}
		return boundTest(size, err, fits, reflect.Value.Int)
	case gotype.IsUint(kind):
		bound, err := strconv.ParseUint(r.Param, 0, 64)
		return boundTest(bound, err, fits, reflect.Value.Uint)
	case kind == reflect.Float32, kind == reflect.Float64:
		bound, err := strconv.ParseFloat(r.Param, t.Bits())
		if bound != bound { // no decoded value is NaN
			return nil
		}
		return boundTest(bound, err, fits, reflect.Value.Float)
	}
	return nil
}

// comparisons report whether a rule holds, from the order of a value and the rule's parameter.
var comparisons = map[string]func(order int) bool{
	"min": func(o int) bool { return o >= 0 }, "gte": func(o int) bool { return o >= 0 }, "gt": func(o int) bool { return o > 0 },
	"max": func(o int) bool { return o <= 0 }, "lte": func(o int) bool { return o <= 0 }, "lt": func(o int) bool { return o < 0 },
	"len": func(o int) bool { return o == 0 }, "eq": func(o int) bool { return o == 0 }, "ne": func(o int) bool { return o != 0 },
}

// boundTest compares the number of a value with a bound. It returns nil if the bound could not be read.
func boundTest[N cmp.Ordered](bound N, err error, fits func(int) bool, number func(reflect.Value) N) test {
	if err != nil {
		return nil
	}
	return func(v reflect.Value, _ bool) verdict { return certain(fits(cmp.Compare(number(v), bound))) }
}

// wordTest compares numbers by their digits, as validator does.
func wordTest(r Rule, t reflect.Type) test {
	var text func(reflect.Value) string
	switch kind := t.Kind(); {
	case kind == reflect.String:
		text = reflect.Value.String
	case gotype.IsInt(kind):
		text = func(v reflect.Value) string { return strconv.FormatInt(v.Int(), 10) }
	case gotype.IsUint(kind):
		text = func(v reflect.Value) string { return strconv.FormatUint(v.Uint(), 10) }
	default:
		return nil
	}
	words := r.words()
	return func(v reflect.Value, _ bool) verdict { return certain(slices.Contains(words, text(v))) }
}
