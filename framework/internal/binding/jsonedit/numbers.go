package jsonedit

import (
	"math"
	"math/big"
	"strconv"

	"github.com/kagami-mcp/kagami/framework/internal/decimal"
)

// BigOf reads a whole number exactly; false for fractions and for exponents
// beyond 400.
func BigOf(raw []byte) (*big.Int, bool) {
	d, ok := decimal.Of(raw)
	if !ok {
		return nil, false
	}
	return d.Int()
}

// AppendFloat writes like encoding/json (and ECMAScript): exponents only where
// plain digits would be long.
func AppendFloat(dst []byte, f float64, bits int) []byte {
	format := byte('f')
	if abs := math.Abs(f); abs != 0 {
		if bits == 64 && (abs < 1e-6 || abs >= 1e21) || bits == 32 && (float32(abs) < 1e-6 || float32(abs) >= 1e21) {
			format = 'e'
		}
	}
	dst = strconv.AppendFloat(dst, f, format, -1, bits)
	if n := len(dst); format == 'e' && n >= 4 && dst[n-4] == 'e' && dst[n-3] == '-' && dst[n-2] == '0' {
		dst[n-2] = dst[n-1]
		dst = dst[:n-1]
	}
	return dst
}

// MaxNumberText bounds the text of a number, as the limits of JSON bound a number.
const MaxNumberText = 400

// AddOne adds by to a whole number. It returns nil if number is not a whole number of sane size.
func AddOne(number []byte, by int64) []byte {
	i, ok := BigOf(number)
	if !ok {
		return nil
	}
	return i.Add(i, big.NewInt(by)).Append(nil, 10)
}
