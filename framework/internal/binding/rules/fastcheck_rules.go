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

// nativeTest is the test for a rule about a size, a bound or a list of words, whose parameter
// it reads as validator does; nil for any other rule.
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
	switch t.Kind() {
	case reflect.String:
		return sizeTest(r, fits, func(v reflect.Value) int { return utf8.RuneCountInString(v.String()) })
	case reflect.Slice, reflect.Map, reflect.Array:
		return sizeTest(r, fits, reflect.Value.Len)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return intTest(r, t, fits)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return uintTest(r, fits)
	case reflect.Float32, reflect.Float64:
		return floatTest(r, t.Bits(), fits)
	default:
		return nil
	}
}

// comparisons decide by the order of a value and the rule's parameter.
var comparisons = map[string]func(order int) bool{
	"min": func(o int) bool { return o >= 0 }, "gte": func(o int) bool { return o >= 0 }, "gt": func(o int) bool { return o > 0 },
	"max": func(o int) bool { return o <= 0 }, "lte": func(o int) bool { return o <= 0 }, "lt": func(o int) bool { return o < 0 },
	"len": func(o int) bool { return o == 0 }, "eq": func(o int) bool { return o == 0 }, "ne": func(o int) bool { return o != 0 },
}

func sizeTest(r Rule, fits func(int) bool, size func(reflect.Value) int) test {
	bound, err := strconv.ParseInt(r.Param, 0, 64)
	if err != nil {
		return nil
	}
	return func(v reflect.Value, _ bool) verdict { return certain(fits(cmp.Compare(int64(size(v)), bound))) }
}

func intTest(r Rule, t reflect.Type, fits func(int) bool) test {
	bound, err := strconv.ParseInt(r.Param, 0, 64)
	if t == gotype.DurationType {
		if d, problem := time.ParseDuration(r.Param); problem == nil {
			bound, err = int64(d), nil
		}
	}
	if err != nil {
		return nil
	}
	return func(v reflect.Value, _ bool) verdict { return certain(fits(cmp.Compare(v.Int(), bound))) }
}

func uintTest(r Rule, fits func(int) bool) test {
	bound, err := strconv.ParseUint(r.Param, 0, 64)
	if err != nil {
		return nil
	}
	return func(v reflect.Value, _ bool) verdict { return certain(fits(cmp.Compare(v.Uint(), bound))) }
}

// floatTest does not expect a NaN: no decoded value is one, but a bound may be.
func floatTest(r Rule, bits int, fits func(int) bool) test {
	bound, err := strconv.ParseFloat(r.Param, bits)
	if err != nil || bound != bound {
		return nil
	}
	return func(v reflect.Value, _ bool) verdict { return certain(fits(cmp.Compare(v.Float(), bound))) }
}

// wordTest compares numbers by their digits, as validator does.
func wordTest(r Rule, t reflect.Type) test {
	words := r.words()
	switch t.Kind() {
	case reflect.String:
		return func(v reflect.Value, _ bool) verdict { return certain(slices.Contains(words, v.String())) }
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return func(v reflect.Value, _ bool) verdict {
			return certain(slices.Contains(words, strconv.FormatInt(v.Int(), 10)))
		}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return func(v reflect.Value, _ bool) verdict {
			return certain(slices.Contains(words, strconv.FormatUint(v.Uint(), 10)))
		}
	default:
		return nil
	}
}
