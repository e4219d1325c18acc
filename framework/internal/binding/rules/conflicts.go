package rules

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kagami-mcp/kagami/framework/internal/binding/gotype"
	"github.com/kagami-mcp/kagami/framework/internal/binding/schema"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// Conflict files a fault if no value meets the rules of a field: a tool with such a field can never be called.
// schema is the schema of the field with its rules.
func (c *Compiler) Conflict(k *Constraints, v Value, schema []byte) {
	c.wordsForNumbers(k, v)
	if problem := cmp.Or(impossible(schema), k.crossedSizes(v)); problem != "" {
		c.Fault("", "no value meets its rules: "+problem, "Correct the rules")
	}
}

// wordsForNumbers files a fault for oneof=a on a whole number, oneof=1s on a duration, and oneof=01. Validator
// compares the word with the digits of the number: it does not panic, but never accepts a value.
func (c *Compiler) wordsForNumbers(k *Constraints, v Value) {
	if k == nil {
		return
	}
	if v.Key != nil {
		c.wordsForNumbers(k.Keys, *v.Key)
	}
	if v.Elem != nil {
		c.wordsForNumbers(k.Elem, v.Elem())
	}
	if has(v.T, ValuerType) {
		return // validator judges another value
	}
	for _, r := range k.Rules {
		if r.Name != "oneof" && r.Name != "noneof" {
			continue
		}
		for _, w := range r.words() {
			if canBe(v.T.Kind(), w) {
				continue
			}
			fix := "Write whole numbers"
			if v.Kind == DurationKind {
				fix = "Write nanoseconds: 5s is 5000000000"
			}
			c.Fault("", fmt.Sprintf("validate rule %q: %q is not a whole number as Go writes it", r.Name+"="+r.Param, w), fix)
		}
	}
}

// canBe reports whether a value of the kind may print as the word. Only the words for whole numbers are limited.
func canBe(kind reflect.Kind, word string) bool {
	switch {
	case gotype.IsInt(kind):
		i, err := strconv.ParseInt(word, 10, 64)
		return err == nil && strconv.FormatInt(i, 10) == word
	case gotype.IsUint(kind):
		u, err := strconv.ParseUint(word, 10, 64)
		return err == nil && strconv.FormatUint(u, 10) == word
	}
	return true
}

// bounds are the keywords of a schema that may exclude each other.
type bounds struct {
	Type                         any
	Minimum, ExclusiveMinimum    *float64
	Maximum, ExclusiveMaximum    *float64
	MinLength, MaxLength         *int
	MinItems, MaxItems           *int
	MinProperties, MaxProperties *int
	Items, AdditionalProperties  json.RawMessage
}

// impossible returns a text about keywords of a schema that exclude each other, or "".
func impossible(schema []byte) string {
	var b bounds
	if err := json.Unmarshal(schema, &b); err != nil {
		return "" // a rule has an invalid parameter, which lint reports
	}
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
	case !admitsOne(schema):
		return "none of the allowed values meets all rules"
	}
	for _, inside := range []json.RawMessage{b.Items, b.AdditionalProperties} {
		if problem := impossible(inside); problem != "" {
			return "of an element, " + problem
		}
	}
	return ""
}

// numbers returns the closed range of the bounds. The range of the whole numbers with 5 < x < 6 is empty.
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

// admitsOne reports whether one of the values that the schema lists satisfies it. It returns true if the schema
// lists no values.
func admitsOne(text []byte) bool {
	values, ok := listed(schema.Parse(text))
	if !ok {
		return true
	}
	raw, err := schema.CompileRaw(text)
	return err != nil || slices.ContainsFunc(values, raw.Accepts)
}

// listed returns the only values that k accepts. It returns false if k may accept other values.
func listed(k schema.Keywords) (values [][]byte, ok bool) {
	if raw, ok := k.Get("const"); ok {
		return [][]byte{raw}, true
	}
	if raw, ok := k.Get("enum"); ok {
		return slices.Collect(jsontext.Elements(raw)), true
	}
	if raw, ok := k.Get("anyOf"); ok {
		for option := range jsontext.Elements(raw) {
			some, ok := listed(schema.Parse(option))
			if !ok {
				return nil, false
			}
			values = append(values, some...)
		}
		return values, true
	}
	return [][]byte{[]byte("true"), []byte("false")}, k.Text("type") == "boolean"
}

// crossedSizes returns a text about rules for sizes that exclude each other, or "". It looks at rules that a
// schema has only in words: for durations and bytes, and for sizes below zero.
func (c *Constraints) crossedSizes(v Value) string {
	if c == nil {
		return ""
	}
	if v.Key != nil {
		if problem := c.Keys.crossedSizes(*v.Key); problem != "" {
			return "of a key, " + problem
		}
	}
	if v.Elem != nil {
		if problem := c.Elem.crossedSizes(v.Elem()); problem != "" {
			return "of an element, " + problem
		}
	}
	switch {
	case v.Kind == DurationKind:
		return c.crossed(math.MinInt64)
	case v.Bytes, v.Kind == TextKind, v.Kind == ListKind, v.Kind == MapKind:
		return c.crossed(0)
	}
	return ""
}

// crossed returns the rules that together exclude every size from low on, or "".
func (c *Constraints) crossed(low int64) string {
	high := int64(math.MaxInt64)
	var least, most string
	for _, r := range c.Rules {
		bound, ok := r.measure()
		if !ok {
			continue
		}
		text := r.Name + "=" + r.Param
		from, to := r.closed(bound)
		if from > low {
			low, least = from, text
		}
		if to < high {
			high, most = to, text
		}
	}
	switch {
	case low <= high:
		return ""
	case least == "" || least == most:
		return most
	}
	return least + " and " + most
}

// measure returns the parameter of a rule for a size or a duration, as validator reads it. It returns false
// for other rules.
func (r Rule) measure() (int64, bool) {
	if !slices.Contains(sizeRules, r.Name) {
		return 0, false
	}
	text := strings.TrimSpace(r.Param)
	if d, err := time.ParseDuration(text); err == nil {
		return int64(d), true
	}
	bound, err := strconv.ParseInt(text, 0, 64)
	return bound, err == nil
}

// closed returns the range of sizes that a bound allows.
func (r Rule) closed(bound int64) (low, high int64) {
	low, high = math.MinInt64, math.MaxInt64
	switch r.Name {
	case "min", "gte":
		low = bound
	case "gt":
		low = max(bound, bound+1) // bound+1 may overflow
	case "max", "lte":
		high = bound
	case "lt":
		high = min(bound, bound-1)
	case "len":
		low, high = bound, bound
	}
	return low, high
}
