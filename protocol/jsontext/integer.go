package jsontext

import (
	"bytes"
	"math"
)

// IsInteger reports whether a value is a number written without fraction and
// exponent. Its size does not matter.
func IsInteger(value []byte) bool {
	value = trim(value)
	if len(value) == 0 || (value[0] != '-' && !isDigit(value[0])) {
		return false
	}
	end, reason := scanNumber(value, 0)
	return reason == "" && end == len(value) && !bytes.ContainsAny(value, ".eE")
}

// Int64 returns a number that is an integer in the range of int64, however it
// is written: 10, 10.0, 1e1 and 100e-1 are all ten, exactly. It is not ok for
// any other number or value.
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
		return -int64(size), true // -2^63 is its own negative
	case !negative && size <= math.MaxInt64:
		return int64(size), true
	}
	return 0, false
}

// plainInt64 reads what most integers are: a sign, if any, and a few digits. It is not ok
// for what may be an integer nevertheless.
func plainInt64(value []byte) (n int64, ok bool) {
	negative := len(value) > 0 && value[0] == '-'
	if negative {
		value = value[1:]
	}
	const few = 18 // never too large
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

// magnitude reads a valid number without sign, if it is integral and fits.
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

// digits appends decimal digits to n. Zeros at the end are only counted, so
// that 1000…000e-400 does not overflow on the way.
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

// scale multiplies n, which has no zero at its end, by ten to the power by. It
// is not ok if the product is no integer or too large.
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

// exponent reads the exponent part of a valid number; none is 0. It stops at a
// hundred million, which only a mantissa of 100 MB could offset.
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
