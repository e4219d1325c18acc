package jsonedit

import (
	"math/big"

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
