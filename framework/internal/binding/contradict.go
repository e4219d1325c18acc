package binding

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"
)

// contradiction reports rules of a field that no value can meet: a tool with
// such a field can never be called. The schema that the rules became tells, for
// what it cannot say it does not bound either.
func (c *compiler) contradiction(f *field) {
	if f.c.plain() {
		return
	}
	c.wordsForNumbers(f.node, f.c)
	var s bounds
	if err := json.Unmarshal(c.schemer().of(f.node, f.c).render(), &s); err != nil {
		return // a rule with odd parameters; its own check speaks of it
	}
	if problem := s.impossible(); problem != "" {
		c.fault("", "no value meets its rules: "+problem, "Correct the rules")
	}
}

// wordsForNumbers refuses oneof=a on a whole number: validator never panics at
// it and never passes it.
func (c *compiler) wordsForNumbers(n node, rules *constraints) {
	if rules == nil {
		return
	}
	switch inner := bare(n).(type) {
	case *sliceNode:
		c.wordsForNumbers(inner.elem, rules.elem)
	case *arrayNode:
		c.wordsForNumbers(inner.elem, rules.elem)
	case *mapNode:
		c.wordsForNumbers(inner.elem, rules.elem)
	}
	if what := kindOf(n); what != intKind && what != uintKind {
		return
	}
	for _, r := range rules.rules {
		if r.name != "oneof" && r.name != "noneof" {
			continue
		}
		for _, w := range r.words() {
			if _, err := strconv.ParseInt(w, 10, 64); err != nil {
				c.fault("", fmt.Sprintf("validate rule %q: %q is no whole number", r.name+"="+r.param, w), "Write whole numbers")
			}
		}
	}
}

// rivals reports a bound of a jsonschema tag beside one of the other kind (at
// least, more than) that validate has set: a reader would not know which holds.
func (c *compiler) rivals(w keyword, base, bare keywords) bool {
	other := map[string]string{
		"minimum": "exclusiveMinimum", "exclusiveMinimum": "minimum",
		"maximum": "exclusiveMaximum", "exclusiveMaximum": "maximum",
	}[w.name]
	said, ok := base.get(other)
	if own, typed := bare.get(other); !ok || typed && string(own) == string(said) {
		return false
	}
	c.fault("", fmt.Sprintf("jsonschema %s=%s but validate says %s %s", w.name, w.value, other, said), "Keep one; validate is the source")
	return true
}

// zeroIsLegal warns of required on a type whose zero people mean to forbid.
func (c *compiler) zeroIsLegal(f *field) {
	if what := kindOf(f.node); f.c.mustExist() && (what.isNumber() || what == boolKind) {
		c.warn(`validate:"required" on a number or bool means present; its zero is legal`,
			`Leave required out, or forbid the zero with validate:"ne=0"`)
	}
}

// bounds are the keywords of a schema that can exclude each other.
type bounds struct {
	Type                         any
	Minimum, ExclusiveMinimum    *float64
	Maximum, ExclusiveMaximum    *float64
	MinLength, MaxLength         *int
	MinItems, MaxItems           *int
	MinProperties, MaxProperties *int
	Enum                         []any
	Items, AdditionalProperties  json.RawMessage
}

// impossible says which bounds exclude each other, or nothing.
func (b *bounds) impossible() string {
	low, high := b.numbers()
	switch {
	case low > high:
		return fmt.Sprintf("at least %v and at most %v", low, high)
	case crossed(b.MinLength, b.MaxLength):
		return fmt.Sprintf("at least %d characters and at most %d", *b.MinLength, *b.MaxLength)
	case crossed(b.MinItems, b.MaxItems):
		return fmt.Sprintf("at least %d items and at most %d", *b.MinItems, *b.MaxItems)
	case crossed(b.MinProperties, b.MaxProperties):
		return fmt.Sprintf("at least %d members and at most %d", *b.MinProperties, *b.MaxProperties)
	case len(b.Enum) > 0 && !b.admitsOne(low, high):
		return "none of the allowed values is within the bounds"
	}
	return b.inner()
}

// inner looks at the elements of lists and maps, where at least one is demanded
// or could be given.
func (b *bounds) inner() string {
	for _, raw := range []json.RawMessage{b.Items, b.AdditionalProperties} {
		var elem bounds
		if raw == nil || json.Unmarshal(raw, &elem) != nil {
			continue
		}
		if problem := elem.impossible(); problem != "" {
			return "of an element, " + problem
		}
	}
	return ""
}

// numbers is the closed range of the bounds. Of whole numbers 5 < x < 6 has none.
func (b *bounds) numbers() (low, high float64) {
	low, high = math.Inf(-1), math.Inf(1)
	if b.Minimum != nil {
		low = *b.Minimum
	}
	if b.Maximum != nil {
		high = *b.Maximum
	}
	above := func(x float64) float64 { return math.Nextafter(x, math.Inf(1)) }
	below := func(x float64) float64 { return math.Nextafter(x, math.Inf(-1)) }
	if b.Type == "integer" {
		low, high = math.Ceil(low), math.Floor(high)
		above = func(x float64) float64 { return math.Floor(x) + 1 }
		below = func(x float64) float64 { return math.Ceil(x) - 1 }
	}
	if b.ExclusiveMinimum != nil {
		low = max(low, above(*b.ExclusiveMinimum))
	}
	if b.ExclusiveMaximum != nil {
		high = min(high, below(*b.ExclusiveMaximum))
	}
	return low, high
}

func crossed(low, high *int) bool { return low != nil && high != nil && *low > *high }

// admitsOne says whether one of the allowed values is within the bounds.
func (b *bounds) admitsOne(low, high float64) bool {
	for _, v := range b.Enum {
		switch v := v.(type) {
		case float64:
			if low <= v && v <= high {
				return true
			}
		case string:
			n := utf8.RuneCountInString(v)
			if !crossed(b.MinLength, &n) && !crossed(&n, b.MaxLength) {
				return true
			}
		default:
			return true
		}
	}
	return false
}
