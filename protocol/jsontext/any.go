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
	v, _ := anyAt(value, skipSpace(value, 0))
	return v
}

// anyAt returns the value at i and the index after it. The walk is one pass. With an iterator for
// each level, the time would be quadratic in the depth.
func anyAt(text []byte, i int) (v any, end int) {
	switch KindOf(text[i:]) {
	case KindArray:
		list := []any{}
		i, more := inside(text, i, ']')
		for more {
			var e any
			e, i = anyAt(text, i)
			list = append(list, e)
			i, more = following(text, i)
		}
		return list, min(i+1, len(text))
	case KindObject:
		m := map[string]any{}
		i, more := inside(text, i, '}')
		for more {
			key, at, ok := nameAt(text, i)
			if !ok {
				return m, len(text)
			}
			m[key.String()], i = anyAt(text, at)
			i, more = following(text, i)
		}
		return m, min(i+1, len(text))
	}
	end = skipValue(text, i)
	return scalar(text[i:end]), end
}

// scalar returns a value that is not a container.
func scalar(value []byte) any {
	switch KindOf(value) {
	case KindBool:
		return value[0] == 't'
	case KindNumber:
		return numberOf(string(value))
	case KindString:
		s, _ := String(value)
		return s
	}
	return nil
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
	if err == nil && (digits <= 15 && normal || string(AppendFloat(nil, f)) == token) {
		return f
	}
	return json.Number(token)
}

// AppendFloat appends a finite number as encoding/json does. Whole numbers have a fast path,
// because progress is mostly counted.
func AppendFloat(dst []byte, f float64) []byte {
	form := byte('f')
	abs := math.Abs(f)
	if abs < 1<<53 && f != 0 && f == math.Trunc(f) { // not -0
		return strconv.AppendInt(dst, int64(f), 10)
	}
	if abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		form = 'e'
	}
	return strconv.AppendFloat(dst, f, form, -1, 64)
}
