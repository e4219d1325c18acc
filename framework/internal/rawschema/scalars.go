package rawschema

import (
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/kagami-mcp/kagami/framework/internal/decimal"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

func (site) types(o operand) check {
	names := o.strings()
	if o.kind == jsontext.KindString {
		names = []string{string(o.text)}
	}
	integer := slices.Contains(names, "integer")
	return func(r *run, v *value, _ []bool) bool {
		return slices.Contains(names, v.kind.String()) || integer && v.kind == jsontext.KindNumber && isWhole(v) || r.fail(v, o)
	}
}

// isWhole accepts 1.0, as JSON and all drafts since 6 do.
func isWhole(v *value) bool {
	if jsontext.IsInteger(v.raw) {
		return true
	}
	d, ok := decimal.Of(v.raw)
	return ok && d.Whole()
}

// enum compiles enum and const. const is an enum with one value.
func (site) enum(o operand) check {
	values := o.items
	if o.keyword == "const" {
		values = []value{*o.value}
	}
	keys := map[string]bool{}
	var kinds []jsontext.Kind // a value of another kind is not compared
	for i := range values {
		keys[string(values[i].appendKey(nil))] = true
		kinds = append(kinds, values[i].kind)
	}
	return func(r *run, v *value, _ []bool) bool {
		return slices.Contains(kinds, v.kind) && keys[string(v.appendKey(nil))] || r.fail(v, o)
	}
}

// format compiles format for dialects with format as an assertion.
func (site) format(o operand) check {
	accepts, known := formats[string(o.text)]
	if !known {
		return nil
	}
	return func(r *run, v *value, _ []bool) bool { return accepts(string(v.text)) || r.fail(v, o) }
}

func (s site) pattern(o operand) check {
	expression := s.expression(o.text)
	return func(r *run, v *value, _ []bool) bool { return expression.Match(v.text) || r.fail(v, o) }
}

// count compiles a bound of the length of a text, or of the number of items or members.
func (site) count(o operand) check {
	bound, minimum := o.count(), strings.HasPrefix(o.keyword, "min")
	return func(r *run, v *value, _ []bool) bool {
		n := size(v)
		return n == bound || n > bound == minimum || r.fail(v, o)
	}
}

// count reads a number of items or characters. A number that is too large for an int becomes the
// largest int, because no value has so many.
func (v *value) count() int {
	if n, ok := jsontext.Int64(v.raw); ok {
		return int(min(n, math.MaxInt))
	}
	return math.MaxInt
}

// size is the number of characters of a text, or of items.
func size(v *value) int {
	if v.kind == jsontext.KindString {
		return utf8.RuneCount(v.text)
	}
	return len(v.items)
}

// draft4Flags make a bound exclusive in draft 4. In later drafts these keywords are bounds
// themselves.
var draft4Flags = map[string]string{"minimum": "exclusiveMinimum", "maximum": "exclusiveMaximum"}

// bound compiles a bound of a number.
func (s site) bound(o operand) check {
	bound, minimum := s.number(o), strings.HasSuffix(o.keyword, "inimum")
	open := strings.HasPrefix(o.keyword, "exclusive") || s.v.member(draft4Flags[o.keyword]).isTrue()
	return func(r *run, v *value, _ []bool) bool {
		n, known := decimal.Of(v.raw)
		c := n.Compare(bound)
		return known && (c == 0 && !open || c != 0 && c > 0 == minimum) || r.fail(v, o)
	}
}

func (s site) multiple(o operand) check {
	unit := s.number(o)
	return func(r *run, v *value, _ []bool) bool {
		n, ok := decimal.Of(v.raw)
		return ok && n.MultipleOf(unit) || r.fail(v, o)
	}
}
