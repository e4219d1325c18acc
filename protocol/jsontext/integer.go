package jsontext

import (
	"bytes"
	"strconv"
)

// IsInteger reports whether value is a number without fraction and exponent. The number may be of
// any size.
func IsInteger(value []byte) bool {
	value = trim(value)
	return isNumber(value) && !bytes.ContainsAny(value, ".eE")
}

func isNumber(value []byte) bool {
	if len(value) == 0 || (value[0] != '-' && !isDigit(value[0])) {
		return false
	}
	end, reason := scanNumber(value, 0)
	return reason == "" && end == len(value)
}

// Int64 returns a number that is an integer in the range of int64, in any spelling: 10, 10.0, 1e1
// and 100e-1 are all exactly ten. It returns false for any other number or value.
func Int64(value []byte) (n int64, ok bool) {
	if n, ok = plainInt64(value); ok {
		return n, true
	}
	value = trim(value)
	if !isNumber(value) {
		return 0, false
	}
	var err error
	mantissa, exponent := value, 0
	if i := bytes.IndexAny(value, "eE"); i >= 0 {
		mantissa = value[:i]
		exponent, err = strconv.Atoi(string(value[i+1:]))
	}
	mantissa, negative := bytes.CutPrefix(mantissa, []byte("-"))
	whole, fraction, _ := bytes.Cut(mantissa, []byte("."))
	fraction = bytes.TrimRight(fraction, "0")
	exponent -= len(fraction)
	if len(fraction) == 0 {
		before := len(whole)
		whole = bytes.TrimRight(whole, "0")
		exponent += before - len(whole)
	}
	if whole = bytes.TrimLeft(whole, "0"); len(whole) == 0 {
		fraction = bytes.TrimLeft(fraction, "0")
	}
	const most = len("9223372036854775807")
	size := len(whole) + len(fraction)
	switch {
	case size == 0:
		return 0, true
	case err != nil || size > most || exponent < 0 || exponent > most-size: // err: no mantissa balances the exponent
		return 0, false
	}
	var room [1 + most]byte
	text := room[:0]
	if negative {
		text = append(text, '-')
	}
	text = append(append(text, whole...), fraction...)
	for range exponent {
		text = append(text, '0')
	}
	if n, err = strconv.ParseInt(string(text), 10, 64); err != nil {
		return 0, false
	}
	return n, true
}

// plainInt64 reads the most common integers: an optional sign and up to 18 digits. If it returns
// false, value may still be an integer.
func plainInt64(value []byte) (n int64, ok bool) {
	negative := len(value) > 0 && value[0] == '-'
	if negative {
		value = value[1:]
	}
	const few = 18 // 18 digits never overflow
	if len(value) == 0 || len(value) > few || value[0] == '0' && len(value) > 1 {
		return 0, false
	}
	for _, b := range value {
		if !isDigit(b) {
			return 0, false
		}
		n = n*10 + int64(b-'0')
	}
	if negative {
		n = -n
	}
	return n, true
}
