package decimal_test

import (
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"github.com/kagami-mcp/kagami/framework/internal/decimal"
)

func of(t testing.TB, token string) decimal.Number {
	t.Helper()
	d, ok := decimal.Of([]byte(token))
	if !ok {
		t.Fatalf("%s is not read", token)
	}
	return d
}

func TestOf(t *testing.T) {
	t.Parallel()
	for token, want := range map[string]string{
		"0": "0", "-0": "0", "0.000e5": "0", "0E99999999999999999999": "0", "10": "1e1", "1e1": "1e1", "100e-1": "1e1", "0.50": "5e-1", "-12.30": "-123e-1", "9007199254740993": "9007199254740993",
		"1e999999": "1e999999",
	} {
		if got := string(of(t, token).Append(nil)); got != want {
			t.Errorf("%s is %s, want %s", token, got, want)
		}
	}
	for _, none := range []string{"", " 7", "7 ", "null", "true", `"7"`, "-", ".", "e5", "1e", "1e+", "1x", "0x10", "1_000", "+7", "Inf", "NaN", "{}", "1.2.3"} {
		if d, ok := decimal.Of([]byte(none)); ok {
			t.Errorf("%q is read as %v", none, d)
		}
	}
	for _, absurd := range []string{"1e1000001", "1e-1000001", "1e99999999999999999999"} {
		if d, ok := decimal.Of([]byte(absurd)); ok || d != (decimal.Number{}) {
			t.Errorf("%s is read as %v", absurd, d)
		}
	}
}

func TestInt(t *testing.T) {
	t.Parallel()
	for token, want := range map[string]string{"0": "0", "-12.0": "-12", "1.5e1": "15", "18446744073709551616": "18446744073709551616", "1.5": "", "1e401": ""} {
		i, ok := of(t, token).Int()
		if ok != (want != "") || ok && i.String() != want {
			t.Errorf("%s: %v %v", token, i, ok)
		}
	}
}

var tokens = rapid.StringMatching(`-?(0|[1-9][0-9]{0,18})(\.[0-9]{1,6})?([eE][+-]?[0-9]{1,2})?`)

// What is compared is what the numbers are.
func TestAgreesWithRationals(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		a, b := tokens.Draw(r, "a"), tokens.Draw(r, "b")
		if rapid.Bool().Draw(r, "product") {
			// Random numbers are hardly ever multiples of each other.
			unit, _ := new(big.Rat).SetString(b)
			a = new(big.Rat).Mul(unit, big.NewRat(rapid.Int64Range(-99, 99).Draw(r, "times"), 1)).FloatString(110)
		}
		x, _ := new(big.Rat).SetString(a)
		y, _ := new(big.Rat).SetString(b)
		p, q := of(t, a), of(t, b)
		if p.Compare(q) != x.Cmp(y) || q.Compare(p) != y.Cmp(x) || (p == q) != (x.Cmp(y) == 0) {
			r.Errorf("%s and %s compare as %d", a, b, p.Compare(q))
		}
		if p.Whole() != x.IsInt() {
			r.Errorf("%s is whole: %v", a, p.Whole())
		}
		multiple := x.Sign() == 0 || y.Sign() != 0 && new(big.Rat).Quo(x, y).IsInt()
		if p.MultipleOf(q) != multiple {
			r.Errorf("%s is a multiple of %s: %v", a, b, p.MultipleOf(q))
		}
	})
}

// Nothing is expanded.
func TestHugeExponents(t *testing.T) {
	huge, tiny := of(t, "7e999999"), of(t, "7e-999999")
	if huge.Compare(tiny) != 1 || !huge.MultipleOf(tiny) || tiny.MultipleOf(huge) || !huge.MultipleOf(of(t, "3.5")) || huge.MultipleOf(of(t, "3")) {
		t.Error("huge numbers compare wrongly")
	}
	if got := testing.AllocsPerRun(10, func() { huge.MultipleOf(tiny) }); got > 40 {
		t.Errorf("%v allocations", got)
	}
}
