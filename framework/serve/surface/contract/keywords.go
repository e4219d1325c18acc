package contract

import (
	"cmp"
	"encoding/json"
	"math/big"
	"slices"
	"strings"
)

// keyword compares a keyword that differs between the sides.
func (w walker) keyword(name string, before, after any) {
	switch name {
	case "type", "properties", "patternProperties", "required", "enum", "const", "anyOf", "oneOf",
		"minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum":
		// compared together, see compare
	case "$defs", "definitions", "$id", "$anchor":
		// these count where they are referred to
	case "minLength", "minItems", "minProperties", "minContains", "maxLength", "maxItems", "maxProperties", "maxContains":
		w.size(name, before, after)
	case "multipleOf":
		w.multiple(before, after)
	case "pattern", "format", "contentEncoding", "contentMediaType":
		w.rule(name, before, after)
	case "uniqueItems":
		w.compareRule(flag(before, false), flag(after, false), "items must differ now", "items may repeat now")
	case "items", "additionalItems", "unevaluatedItems", "additionalProperties",
		"unevaluatedProperties", "propertyNames":
		w.inside(name, before, after)
	case "dependentSchemas":
		w.named(name, asObject(before), asObject(after), nil, nil)
	case "prefixItems":
		w.tuple(name, before, after)
	case "allOf":
		w.all(before, after)
	case "x-mcp-header":
		w.header(before, after)
	default:
		w.other(name, before, after)
	}
}

// forPeople are the keywords that no program obeys.
var forPeople = []string{"title", "description", "examples", "deprecated", "readOnly", "writeOnly", "$comment", "enumNames"}

// other handles keywords that are for people, or that this package cannot judge.
func (w walker) other(name string, before, after any) {
	if slices.Contains(forPeople, name) || strings.HasPrefix(name, "x-") {
		w.add(Text, "%s changed from %s to %s", name, short(before), short(after))
		return
	}
	if canonical(before) == canonical(after) {
		w.behind(name, before)
		return
	}
	w.add(Breaking, "%s changed from %s to %s, which cannot be judged", name, short(before), short(after))
}

// defaults compares the defaults, which may be null. A default changes the effect of a call without
// the argument. In results, clients do not fill in defaults.
func (w walker) defaults(before, after object) {
	old, had := before["default"]
	now, has := after["default"]
	said := func(v any) string {
		if v == nil {
			return "null"
		}
		return short(v)
	}
	switch {
	case w.side == output:
		w.add(Text, "default changed from %s to %s", short(old), short(now))
	case !had:
		w.add(Additive, "default is %s", said(now))
	case !has:
		w.add(Breaking, "default %s removed", said(old))
	default:
		w.add(Breaking, "default changed from %s to %s", said(old), said(now))
	}
}

// rule handles a keyword whose old and new value cannot be compared.
func (w walker) rule(name string, before, after any) {
	switch {
	case before == nil:
		w.narrower("%s %s added", name, short(after))
	case after == nil:
		w.wider("%s %s removed", name, short(before))
	default:
		w.add(Breaking, "%s changed from %s to %s", name, short(before), short(after))
	}
}

// header compares x-mcp-header. Clients that have not listed the tools again do not send the
// header, and are refused (2026-07-28 basic/transports/streamable-http, "Custom Headers from Tool
// Parameters").
func (w walker) header(before, after any) {
	switch {
	case before == nil:
		w.add(Breaking, "must be repeated in the header Mcp-Param-%s now", strings.Trim(short(after), `"`))
	case after == nil:
		w.add(Additive, "is not repeated in a header any more")
	default:
		w.add(Breaking, "x-mcp-header changed from %s to %s", short(before), short(after))
	}
}

// precision is the precision of bounds in bits, more than any schema needs.
const precision = 512

// number returns a JSON number, or nil for anything else. It is a float and not a fraction, because
// the exponent in a schema of an unknown server may be huge.
func number(v any) *big.Float {
	text, ok := v.(json.Number)
	if !ok {
		return nil
	}
	n, _, err := big.ParseFloat(string(text), 10, precision, big.ToNearestEven)
	if err != nil {
		return nil
	}
	return n
}

// size compares counts. An absent count means 0, or no bound.
func (w walker) size(name string, before, after any) {
	old, now, least := number(before), number(after), strings.HasPrefix(name, "min")
	if least {
		absent := new(big.Float)
		if name == "minContains" {
			absent.SetInt64(1)
		}
		old, now = cmp.Or(old, absent), cmp.Or(now, absent)
	}
	w.bound(name, old, now, before, after, least)
}

// bound compares two bounds; nil means that there is none.
func (w walker) bound(name string, old, now *big.Float, before, after any, least bool) {
	switch {
	case old == nil && now == nil, old != nil && now != nil && old.Cmp(now) == 0:
	case old == nil:
		w.narrower("%s %s added", name, short(after))
	case now == nil:
		w.wider("%s %s removed", name, short(before))
	default:
		word, higher, report := "raised", now.Cmp(old) > 0, w.wider
		if !higher {
			word = "lowered"
		}
		if higher == least {
			report = w.narrower
		}
		report("%s %s from %s to %s", name, word, short(before), short(after))
	}
}

// limit is the effective bound of a value on one side, and the keyword and value that set it.
type limit struct {
	at      *big.Float // nil if there is none
	exclude bool
	keyword string
	written any
}

// limitOf returns the stricter of the two keywords. In draft 4, exclusive is a flag that excludes the
// bound itself. For integers, an exclusive bound has an equivalent inclusive bound.
func limitOf(o object, inclusive, exclusive string, least bool) limit {
	l := limit{at: number(o[inclusive]), keyword: inclusive, written: o[inclusive]}
	l.exclude = l.at != nil && flag(o[exclusive], false)
	if e := number(o[exclusive]); e != nil && (l.at == nil || e.Cmp(l.at) == 0 || least == (e.Cmp(l.at) > 0)) {
		l = limit{e, true, exclusive, o[exclusive]}
	}
	if l.exclude && slices.Equal(typesOf(o), []string{"integer"}) && l.at.IsInt() && l.at.MantExp(nil) < precision {
		step := big.NewFloat(1)
		if !least {
			step.Neg(step)
		}
		l.at, l.exclude = new(big.Float).SetPrec(precision).Add(l.at, step), false
	}
	return l
}

// limits compares a bound of numbers, which has an inclusive and an exclusive keyword.
func (w walker) limits(before, after object, inclusive, exclusive string, least bool) {
	old, now := limitOf(before, inclusive, exclusive, least), limitOf(after, inclusive, exclusive, least)
	if old.at == nil || now.at == nil || old.at.Cmp(now.at) != 0 {
		name := now.keyword
		if now.at == nil {
			name = old.keyword
		}
		w.bound(name, old.at, now.at, old.written, now.written, least)
		return
	}
	w.compareRule(old.exclude, now.exclude, short(now.written)+" itself is not allowed any more", short(now.written)+" itself is allowed now")
}

// multiple compares multipleOf. Every multiple of 10 is also a multiple of 5.
func (w walker) multiple(before, after any) {
	old, now := number(before), number(after)
	switch {
	case old == nil || now == nil:
		w.rule("multipleOf", before, after)
	case multipleOf(now, old):
		w.narrower("multipleOf raised from %s to %s", short(before), short(after))
	case multipleOf(old, now):
		w.wider("multipleOf lowered from %s to %s", short(before), short(after))
	default:
		w.add(Breaking, "multipleOf changed from %s to %s", short(before), short(after))
	}
}

func multipleOf(a, b *big.Float) bool {
	if b.Sign() == 0 || !a.IsInt() || !b.IsInt() { // fractions cannot be represented exactly
		return false
	}
	return new(big.Float).SetPrec(precision).Quo(a, b).IsInt()
}
