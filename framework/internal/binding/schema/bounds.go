package schema

import (
	"slices"

	"github.com/kagami-mcp/kagami/framework/internal/binding/jsonedit"
	"github.com/kagami-mcp/kagami/framework/internal/decimal"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// AtLeast and atMost keep the stricter of two bounds.
func (k *Keywords) AtLeast(name string, n int) {
	if raw, ok := k.Get(name); ok {
		if old, _ := jsontext.Int64(raw); int64(n) < old {
			return
		}
	}
	k.SetInt(name, n)
}

// AtMost sets a bound, unless there is a smaller one.
func (k *Keywords) AtMost(name string, n int) {
	if raw, ok := k.Get(name); ok {
		if old, _ := jsontext.Int64(raw); int64(n) > old {
			return
		}
	}
	k.SetInt(name, n)
}

// Raise and lower keep the stricter of two bounds; the type's own is there first.
func (k *Keywords) Raise(name string, bound []byte) {
	if old, ok := k.Get(name); !ok || CompareNumbers(bound, old) > 0 {
		k.Set(name, bound)
	}
}

// Lower sets a bound of numbers, unless there is a smaller one.
func (k *Keywords) Lower(name string, bound []byte) {
	if old, ok := k.Get(name); !ok || CompareNumbers(bound, old) < 0 {
		k.Set(name, bound)
	}
}

// DropBound removes an inclusive bound that an exclusive one makes idle.
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

// Narrow demands one of some values by the keyword name. It drops bounds that all of the
// values keep, such as the bounds of the type.
func (k *Keywords) Narrow(name string, keyword []byte, values ...[]byte) {
	low, hasLow := k.Get("minimum")
	if hasLow && !slices.ContainsFunc(values, func(v []byte) bool { return CompareNumbers(v, low) < 0 }) {
		k.Drop("minimum")
	}
	high, hasHigh := k.Get("maximum")
	if hasHigh && !slices.ContainsFunc(values, func(v []byte) bool { return CompareNumbers(v, high) > 0 }) {
		k.Drop("maximum")
	}
	switch old, ok := k.Get(name); {
	case !ok:
		k.Set(name, keyword)
	case string(old) != string(keyword):
		k.Also(Keywords{{name, keyword}})
	}
}

// Exclude adds a not. A second one goes into allOf.
func (k *Keywords) Exclude(what Keywords) bool {
	raw := what.Render()
	if !k.Has("not") {
		k.Set("not", raw)
		return true
	}
	k.Also(Keywords{{"not", raw}})
	return true
}

// Also demands one more schema.
func (k *Keywords) Also(what Keywords) {
	raw := what.Render()
	if old, ok := k.Get("allOf"); ok {
		k.Set("allOf", append(append(append([]byte(nil), old[:len(old)-1]...), ','), append(raw, ']')...))
		return
	}
	k.Set("allOf", jsonedit.List([][]byte{raw}))
}

// Match demands one more pattern. It returns true, for the callers that report whether keywords say all.
func (k *Keywords) Match(pattern string) bool {
	value := jsontext.Quote(nil, pattern)
	if k.Has("pattern") {
		k.Also(Keywords{{"pattern", value}})
		return true
	}
	k.Set("pattern", value)
	return true
}
