package jsontext

import (
	"bytes"
	"math"
)

// IsInteger reports whether value is a number without fraction and exponent. The number may be of
// any size.
func IsInteger(value []byte) bool {
	value = trim(value)
	if len(value) == 0 || (value[0] != '-' && !isDigit(value[0])) {
		return false
	}
	end, reason := scanNumber(value, 0)
	return reason == "" && end == len(value) && !bytes.ContainsAny(value, ".eE")
}

// Int64 returns a number that is an integer in the range of int64, in any spelling: 10, 10.0, 1e1
// and 100e-1 are all exactly ten. It returns false for any other number or value.
func Int64(value []byte) (n int64, ok bool) {
	if n, ok = plainInt64(value); ok {
		return n, true
	}
	value = trim(value)
	if len(value) == 0 || (value[0] != '-' && !isDigit(value[0])) {
		return 0, false
	}
	if end, reason := scanNumber(value, 0); reason != "" || end != len(value) {
		return 0, false
	}
	negative := value[0] == '-'
	if negative {
		value = value[1:]
	}
	size, ok := magnitude(value)
	switch {
	case !ok:
		return 0, false
	case negative && size <= -math.MinInt64:
		return -int64(size), true // also correct for -2^63, which is its own negative
	case !negative && size <= math.MaxInt64:
		return int64(size), true
	}
	return 0, false
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

// magnitude returns the value of number, a valid number without sign. It returns false if the value
// is not an integer or overflows.
func magnitude(number []byte) (n uint64, ok bool) {
	whole, rest := number, []byte(nil)
	if i := bytes.IndexAny(number, ".eE"); i >= 0 {
		whole, rest = number[:i], number[i:]
	}
	var fraction []byte
	if len(rest) > 0 && rest[0] == '.' {
		end := skipDigits(rest, 1)
		fraction, rest = rest[1:end], rest[end:]
	}
	fraction = bytes.TrimRight(fraction, "0")
	shift := exponent(rest) - len(fraction)
	n, zeros, ok := digits(0, 0, whole)
	if ok {
		n, zeros, ok = digits(n, zeros, fraction)
	}
	if !ok || n == 0 {
		return 0, ok
	}
	return scale(n, shift+zeros)
}

// digits appends decimal digits to n. It only counts zeros at the end, so that 1000…000e-400 does
// not overflow on the way.
func digits(n uint64, zeros int, text []byte) (uint64, int, bool) {
	for _, b := range text {
		if b == '0' {
			zeros++
			continue
		}
		var ok bool
		if n, ok = scale(n, zeros); !ok {
			return 0, 0, false
		}
		if n, ok = scale(n, 1); !ok || n > math.MaxUint64-uint64(b-'0') {
			return 0, 0, false
		}
		n += uint64(b - '0')
		zeros = 0
	}
	return n, zeros, true
}

// scale multiplies n by ten to the power by. If by is negative, n must have no trailing zero, so
// that the product is not an integer. scale returns false if the product is not an integer or
// overflows.
func scale(n uint64, by int) (uint64, bool) {
	if n == 0 {
		return 0, true
	}
	if by < 0 {
		return 0, false
	}
	for ; by > 0; by-- {
		if n > math.MaxUint64/10 {
			return 0, false
		}
		n *= 10
	}
	return n, true
}

// exponent returns the value of the exponent part of a valid number, or 0 if the part is empty. It
// stops at a hundred million, because only a mantissa of 100 MB could balance a larger exponent.
func exponent(part []byte) int {
	const enough = 100_000_000
	if len(part) == 0 {
		return 0
	}
	part = part[1:]
	negative := part[0] == '-'
	if negative || part[0] == '+' {
		part = part[1:]
	}
	e := 0
	for _, b := range part {
		if e = e*10 + int(b-'0'); e > enough {
			break
		}
	}
	if negative {
		return -e
	}
	return e
}
