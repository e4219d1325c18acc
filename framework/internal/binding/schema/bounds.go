package schema

import (
	"slices"

	"github.com/kagami-mcp/kagami/framework/internal/binding/jsonedit"
	"github.com/kagami-mcp/kagami/framework/internal/decimal"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// Raise sets a lower bound, unless the schema has a higher one, such as the bound of the type.
func (k *Keywords) Raise(name string, bound []byte) {
	if old, ok := k.Get(name); !ok || CompareNumbers(bound, old) > 0 {
		k.Set(name, bound)
	}
}

// Lower sets an upper bound, unless the schema has a lower one.
func (k *Keywords) Lower(name string, bound []byte) {
	if old, ok := k.Get(name); !ok || CompareNumbers(bound, old) < 0 {
		k.Set(name, bound)
	}
}

// DropBound removes an inclusive bound that an exclusive bound makes redundant.
func (k *Keywords) DropBound(name string, exclusive []byte, sign int) {
	if old, ok := k.Get(name); ok && CompareNumbers(old, exclusive)*sign >= 0 {
		k.Drop(name)
	}
}

// CompareNumbers compares JSON numbers of sane size exactly.
func CompareNumbers(a, b []byte) int {
	x, okx := decimal.Of(a)
	y, oky := decimal.Of(b)
	if !okx || !oky {
		return 0
	}
	return x.Compare(y)
}

// Narrow demands one of some values by a keyword. It drops bounds that all of the values satisfy, such as the
// bounds of the type.
func (k *Keywords) Narrow(name string, keyword []byte, values ...[]byte) {
	low, hasLow := k.Get("minimum")
	if hasLow && !slices.ContainsFunc(values, func(v []byte) bool { return CompareNumbers(v, low) < 0 }) {
		k.Drop("minimum")
	}
	high, hasHigh := k.Get("maximum")
	if hasHigh && !slices.ContainsFunc(values, func(v []byte) bool { return CompareNumbers(v, high) > 0 }) {
		k.Drop("maximum")
	}
	if old, ok := k.Get(name); !ok || string(old) != string(keyword) {
		k.Demand(name, keyword)
	}
}

// Exclude demands that a value does not satisfy a keyword.
func (k *Keywords) Exclude(name string, value []byte) {
	k.Demand("not", Keywords{{name, value}}.Render())
}

// Match demands one more pattern.
func (k *Keywords) Match(pattern string) { k.Demand("pattern", jsontext.Quote(nil, pattern)) }

// Demand sets a keyword. If the schema has the keyword already, the new one goes into allOf.
func (k *Keywords) Demand(name string, value []byte) {
	if !k.Has(name) {
		k.Set(name, value)
		return
	}
	all := slices.Collect(jsontext.Elements(Value(*k, "allOf")))
	k.Set("allOf", jsonedit.List(append(all, Keywords{{name, value}}.Render())))
}
