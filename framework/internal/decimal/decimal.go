// Package decimal reads the numbers of JSON texts exactly. JSON Schema and
// models reckon in decimals: 0.3 is a multiple of 0.1, 1e400 is a whole number,
// and 2^53+1 is not 2^53. Nothing is expanded, so that ten bytes of text never
// become a gigabit of number.
package decimal

import (
	"cmp"
	"math/big"
	"strconv"
	"strings"
)

// Number is a number's value in a normal form: digits without zeros at either
// end, times ten to the exponent. Equal numbers are == however they are written;
// the zero Number is zero.
type Number struct {
	negative bool
	digits   string // "" for zero
	exp      int
}

// maxExponent bounds what Of reads, far beyond what any type of Go holds.
const maxExponent = 1e6

// maxWhole bounds the exponent of what Int expands: as far as a number of
// jsontext.DefaultLimits could be written out.
const maxWhole = 400

// Of reads a number; false for a text that is not one, and for an absurd exponent.
func Of(token []byte) (Number, bool) {
	if !isNumber(token) {
		return Number{}, false
	}
	text, negative := strings.CutPrefix(string(token), "-")
	exponent := "0"
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		text, exponent = text[:i], text[i+1:]
	}
	whole, fraction, _ := strings.Cut(text, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	if digits == "" {
		return Number{}, true
	}
	exp, err := strconv.Atoi(exponent)
	if err != nil || exp > maxExponent || exp < -maxExponent {
		return Number{}, false
	}
	d := Number{negative: negative, digits: strings.TrimRight(digits, "0")}
	d.exp = exp - len(fraction) + len(digits) - len(d.digits)
	return d, true
}

// isNumber reports whether text has the shape of a number token: a sign, digits, a fraction
// and an exponent. Texts of callers come here too, with spaces, or of other kinds.
func isNumber(text []byte) bool {
	i, digits := 0, 0
	skip := func() (n int) {
		for i < len(text) && text[i] >= '0' && text[i] <= '9' {
			i++
			n++
		}
		return n
	}
	if i < len(text) && text[i] == '-' {
		i++
	}
	digits += skip()
	if i < len(text) && text[i] == '.' {
		i++
		digits += skip()
	}
	if i < len(text) && (text[i] == 'e' || text[i] == 'E') {
		if i++; i < len(text) && (text[i] == '+' || text[i] == '-') {
			i++
		}
		if skip() == 0 {
			return false
		}
	}
	return digits > 0 && i == len(text)
}

// Whole reports whether the number has no fraction.
func (d Number) Whole() bool { return d.exp >= 0 }

// Int is the number as an integer; false for fractions and for exponents
// beyond 400.
func (d Number) Int() (*big.Int, bool) {
	if !d.Whole() || d.exp > maxWhole {
		return nil, false
	}
	i := d.mantissa()
	return i.Mul(i, power(d.exp, nil)), true
}

// Append appends the normal form of the number to dst.
func (d Number) Append(dst []byte) []byte {
	if d.digits == "" {
		return append(dst, '0')
	}
	if d.negative {
		dst = append(dst, '-')
	}
	dst = append(dst, d.digits...)
	if d.exp == 0 {
		return dst
	}
	return strconv.AppendInt(append(dst, 'e'), int64(d.exp), 10)
}

// Compare is -1, 0 or 1 as d is less than, equal to or greater than other.
func (d Number) Compare(other Number) int {
	if d.sign() != other.sign() {
		return cmp.Compare(d.sign(), other.sign())
	}
	return d.sign() * d.compareSize(other)
}

func (d Number) sign() int {
	switch {
	case d.digits == "":
		return 0
	case d.negative:
		return -1
	}
	return 1
}

// compareSize compares without the signs. Digits of one length behind the same
// point compare as text, and shorter ones as if zeros followed.
func (d Number) compareSize(other Number) int {
	if c := cmp.Compare(len(d.digits)+d.exp, len(other.digits)+other.exp); c != 0 {
		return c
	}
	return cmp.Compare(d.digits, other.digits)
}

// MultipleOf reports whether d is a whole multiple of unit. Only zero is a multiple of zero.
func (d Number) MultipleOf(unit Number) bool {
	if d.digits == "" {
		return true
	}
	// Digits do not end in zero, so that they have no room for a smaller exponent.
	if unit.digits == "" || d.exp < unit.exp {
		return false
	}
	unit.negative = false
	modulus, rest := unit.mantissa(), d.mantissa()
	rest.Mul(rest, power(d.exp-unit.exp, modulus))
	return rest.Mod(rest, modulus).Sign() == 0
}

func (d Number) mantissa() *big.Int {
	i, _ := new(big.Int).SetString("0"+d.digits, 10)
	if d.negative {
		i.Neg(i)
	}
	return i
}

// power is ten to the n, modulo modulus if there is one.
func power(n int, modulus *big.Int) *big.Int {
	return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), modulus)
}
