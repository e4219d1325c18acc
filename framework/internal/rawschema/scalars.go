package rawschema

import (
	"regexp"
	"slices"
	"unicode/utf8"

	"github.com/kagami-mcp/kagami/framework/internal/decimal"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// types is the keyword type.
type types struct {
	kinds   []jsontext.Kind
	integer bool
	want    []byte
}

var kinds = map[string]jsontext.Kind{
	"null": jsontext.KindNull, "boolean": jsontext.KindBool, "number": jsontext.KindNumber,
	"string": jsontext.KindString, "array": jsontext.KindArray, "object": jsontext.KindObject,
}

func (s site) types() keyword {
	v := s.v.member("type")
	if v == nil {
		return nil
	}
	names := v.strings()
	if v.kind == jsontext.KindString {
		names = []string{string(v.text)}
	}
	k := types{want: v.raw}
	for _, name := range names {
		if kind, ok := kinds[name]; ok {
			k.kinds = append(k.kinds, kind)
		}
		k.integer = k.integer || name == "integer"
	}
	return k
}

func (k types) check(r *run, v *value, _ []bool) bool {
	if slices.Contains(k.kinds, v.kind) || k.integer && v.kind == jsontext.KindNumber && isWhole(v) {
		return true
	}
	return r.fail(v, "type", k.want)
}

// isWhole accepts 1.0, as JSON and all drafts since 6 do.
func isWhole(v *value) bool {
	if jsontext.IsInteger(v.raw) {
		return true
	}
	d, ok := decimal.Of(v.raw)
	return ok && d.Whole()
}

// enum is the keyword enum, or const with one value.
type enum struct {
	keyword string
	keys    map[string]bool
	kinds   []jsontext.Kind // of its values: a value of another kind is not compared
	want    []byte
}

func (s site) enum() keyword {
	if v := s.v.member("enum"); v != nil {
		return enumOf("enum", v.items, v.raw)
	}
	return nil
}

func (s site) constant() keyword {
	if v := s.v.member("const"); v != nil {
		return enumOf("const", []value{*v}, v.raw)
	}
	return nil
}

func enumOf(keyword string, values []value, want []byte) enum {
	k := enum{keyword: keyword, keys: map[string]bool{}, want: want}
	for i := range values {
		k.keys[string(values[i].appendKey(nil))] = true
		k.kinds = append(k.kinds, values[i].kind)
	}
	return k
}

func (k enum) check(r *run, v *value, _ []bool) bool {
	if slices.Contains(k.kinds, v.kind) && k.keys[string(v.appendKey(nil))] {
		return true
	}
	return r.fail(v, k.keyword, k.want)
}

// format is the keyword format, where it is an assertion.
type format struct {
	accepts func(string) bool
	want    []byte
}

func (s site) format() keyword {
	v := s.v.member("format")
	if v == nil {
		return nil
	}
	if accepts, ok := formats[string(v.text)]; ok {
		return format{accepts, v.raw}
	}
	return nil
}

func (k format) check(r *run, v *value, _ []bool) bool {
	return v.kind != jsontext.KindString || k.accepts(string(v.text)) || r.fail(v, "format", k.want)
}

// pattern is the keyword pattern.
type pattern struct {
	expression *regexp.Regexp
	want       []byte
}

func (s site) pattern() keyword {
	if v := s.v.member("pattern"); v != nil {
		return pattern{s.expression(v.text), v.raw}
	}
	return nil
}

func (k pattern) check(r *run, v *value, _ []bool) bool {
	return v.kind != jsontext.KindString || k.expression.Match(v.text) || r.fail(v, "pattern", k.want)
}

// count is one of the keywords that bound a length or a number of items.
type count struct {
	keyword string
	kind    jsontext.Kind // the kind of values that it applies to
	minimum bool
	bound   int
	want    []byte
}

type counts []count

var countKeywords = counts{
	{keyword: "minProperties", kind: jsontext.KindObject, minimum: true},
	{keyword: "maxProperties", kind: jsontext.KindObject},
	{keyword: "minItems", kind: jsontext.KindArray, minimum: true},
	{keyword: "maxItems", kind: jsontext.KindArray},
	{keyword: "minLength", kind: jsontext.KindString, minimum: true},
	{keyword: "maxLength", kind: jsontext.KindString},
}

func (s site) counts() keyword {
	var found counts
	for _, k := range countKeywords {
		if k.bound, k.want = s.count(k.keyword); k.want != nil {
			found = append(found, k)
		}
	}
	if found == nil {
		return nil
	}
	return found
}

func (all counts) check(r *run, v *value, _ []bool) bool {
	ok := true
	for _, k := range all {
		if k.kind == v.kind && !k.fits(size(v)) {
			ok = r.fail(v, k.keyword, k.want)
		}
	}
	return ok
}

func (k count) fits(n int) bool {
	return n == k.bound || n > k.bound == k.minimum
}

// size is the number of characters of a text, or of items.
func size(v *value) int {
	if v.kind == jsontext.KindString {
		return utf8.RuneCount(v.text)
	}
	return len(v.items)
}

// bound is one of the keywords that bound a number.
type bound struct {
	keyword string
	minimum bool
	open    bool // the bound itself is excluded
	bound   decimal.Number
	want    []byte
}

type bounds []bound

var boundKeywords = bounds{
	{keyword: "minimum", minimum: true},
	{keyword: "maximum"},
	{keyword: "exclusiveMinimum", minimum: true, open: true},
	{keyword: "exclusiveMaximum", open: true},
}

// draft4Flags make a bound exclusive in draft 4. In later drafts these keywords are bounds
// themselves.
var draft4Flags = map[string]string{"minimum": "exclusiveMinimum", "maximum": "exclusiveMaximum"}

func (s site) bounds() keyword {
	var found bounds
	for _, k := range boundKeywords {
		if k.bound, k.want = s.number(k.keyword); k.want == nil {
			continue
		}
		k.open = k.open || s.flag(draft4Flags[k.keyword])
		found = append(found, k)
	}
	if found == nil {
		return nil
	}
	return found
}

func (all bounds) check(r *run, v *value, _ []bool) bool {
	if v.kind != jsontext.KindNumber {
		return true
	}
	n, known := decimal.Of(v.raw)
	ok := true
	for _, k := range all {
		if !known || !k.admits(n) {
			ok = r.fail(v, k.keyword, k.want)
		}
	}
	return ok
}

func (k bound) admits(n decimal.Number) bool {
	c := n.Compare(k.bound)
	return c == 0 && !k.open || c != 0 && c > 0 == k.minimum
}

// multiple is the keyword multipleOf.
type multiple struct {
	unit decimal.Number
	want []byte
}

func (s site) multiple() keyword {
	if unit, raw := s.number("multipleOf"); raw != nil {
		return multiple{unit, raw}
	}
	return nil
}

func (k multiple) check(r *run, v *value, _ []bool) bool {
	if v.kind != jsontext.KindNumber {
		return true
	}
	n, ok := decimal.Of(v.raw)
	return ok && n.MultipleOf(k.unit) || r.fail(v, "multipleOf", k.want)
}
