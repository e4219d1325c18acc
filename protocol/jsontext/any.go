package jsontext

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
)

// Any returns a checked value in the types of encoding/json: nil, bool, string, []any,
// map[string]any and float64. If a float64 would be written as another number, Any returns a
// json.Number. If a name is repeated, its last value counts. Any recurses to the depth of the
// value, which [Check] has limited.
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

// numberOf returns a float64 if it certainly represents the same number: a decimal of at most 15
// digits survives the conversion in both directions. Otherwise it returns a json.Number.
func numberOf(token string) any {
	digits := 0
	for _, c := range []byte(token) {
		if c >= '0' && c <= '9' {
			digits++
		}
	}
	f, err := strconv.ParseFloat(token, 64)
	normal := math.Abs(f) >= 0x1p-1022 || strings.Trim(token, "-0.") == "" // smaller numbers have less precision
	if err == nil && (digits <= 15 && normal || written(f) == token) {
		return f
	}
	return json.Number(token)
}

// written returns a finite number as encoding/json writes it.
func written(f float64) string {
	form := byte('f')
	if abs := math.Abs(f); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		form = 'e'
	}
	return strconv.FormatFloat(f, form, -1, 64)
}
