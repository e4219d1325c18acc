package jsontext

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
)

// Any returns a checked value as encoding/json has it: nil, bool, string, []any, map[string]any
// and float64, or json.Number where a float64 would be written as another number. Of a repeated
// name the last value counts. Its depth is that of the value, which [Check] has bounded.
func Any(value []byte) any {
	switch KindOf(value) {
	case KindBool:
		return value[0] == 't'
	case KindNumber:
		return numberOf(string(value))
	case KindString:
		s, _ := String(value)
		return s
	case KindArray:
		list := make([]any, 0, Len(value))
		for e := range Elements(value) {
			list = append(list, Any(e))
		}
		return list
	case KindObject:
		m := make(map[string]any, Len(value))
		for key, e := range Members(value) {
			m[key.String()] = Any(e)
		}
		return m
	default:
		return nil
	}
}

// numberOf is a float64 if that is sure to name the same number: a decimal of at most 15 digits
// survives the way there and back.
func numberOf(token string) any {
	digits := 0
	for _, c := range []byte(token) {
		if c >= '0' && c <= '9' {
			digits++
		}
	}
	f, err := strconv.ParseFloat(token, 64)
	normal := math.Abs(f) >= 0x1p-1022 || strings.Trim(token, "-0.") == "" // smaller ones have fewer digits
	if err == nil && (digits <= 15 && normal || written(f) == token) {
		return f
	}
	return json.Number(token)
}

// written is a finite number as it would be written again.
func written(f float64) string {
	form := byte('f')
	if abs := math.Abs(f); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		form = 'e'
	}
	return strconv.FormatFloat(f, form, -1, 64)
}
