package jsontext

import (
	"bytes"
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

// numberOf returns a float64 if it certainly represents the same number. A decimal of at most 15
// digits survives the conversion in both directions. With more digits, the float64 must be written
// with the same ones. Otherwise numberOf returns a json.Number.
func numberOf(token string) any {
	digits := 0
	for _, c := range []byte(token) {
		if c >= '0' && c <= '9' {
			digits++
		}
	}
	f, err := strconv.ParseFloat(token, 64)
	normal := math.Abs(f) >= 0x1p-1022 || strings.Trim(token, "-0.") == "" // smaller numbers have less precision
	if err == nil && (digits <= 15 && normal || significant(token) == significant(strconv.FormatFloat(f, 'e', -1, 64))) {
		return f
	}
	return json.Number(token)
}

// significant returns the digits of a number without zeros at both ends. Python writes 1.5e-07, and
// JavaScript 1.5e-7.
func significant(number string) string {
	if i := strings.IndexAny(number, "eE"); i >= 0 {
		number = number[:i]
	}
	return strings.Trim(strings.ReplaceAll(number, ".", ""), "-0")
}

// AppendFloat appends a finite number as encoding/json does. Whole numbers have a fast path,
// because progress is mostly counted.
func AppendFloat(dst []byte, f float64) []byte {
	if math.Abs(f) < 1<<53 && f != 0 && f == math.Trunc(f) { // not -0
		return strconv.AppendInt(dst, int64(f), 10)
	}
	return appendFloat(dst, f, 64)
}

// AppendFloat32 appends a finite number of type float32 as encoding/json does.
func AppendFloat32(dst []byte, f float32) []byte {
	return appendFloat(dst, float64(f), 32)
}

// appendFloat appends a number of 32 or 64 bits, with an exponent only where plain digits would be long.
func appendFloat(dst []byte, f float64, bits int) []byte {
	abs, small, large := math.Abs(f), 1e-6, 1e21
	if bits == 32 {
		small, large = float64(float32(small)), float64(float32(large))
	}
	if abs == 0 || abs >= small && abs < large {
		return strconv.AppendFloat(dst, f, 'f', -1, bits)
	}
	dst = strconv.AppendFloat(dst, f, 'e', -1, bits)
	if n := len(dst); bytes.HasSuffix(dst[:n-1], []byte("e-0")) {
		dst = append(dst[:n-2], dst[n-1])
	}
	return dst
}
