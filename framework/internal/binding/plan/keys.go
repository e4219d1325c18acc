package plan

import (
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/kagami-mcp/kagami/framework/internal/binding/gotype"
	"github.com/kagami-mcp/kagami/framework/internal/binding/jsonedit"
	"github.com/kagami-mcp/kagami/framework/internal/binding/report"
	"github.com/kagami-mcp/kagami/framework/internal/binding/rules"
	"github.com/kagami-mcp/kagami/framework/internal/binding/schema"
)

// KeyCodec turns member names into map keys and back.
type KeyCodec struct {
	T             reflect.Type
	big           bool     // it holds numbers of package math/big
	Reads, writes bool     // by methods of the type
	Names         []string // the only values; nil if the type lists none
}

// allows reports whether name is in the type's own list of values, if it has one.
func (k *KeyCodec) allows(name string) bool { return k.Names == nil || slices.Contains(k.Names, name) }

// Read stores the key of a name in v, which is overwritten. It is strict about
// integers: "01" and "1" would be two members for one key.
func (k *KeyCodec) Read(name string, v reflect.Value) error {
	v.SetZero()
	if !k.allows(name) {
		return errUnreadable
	}
	switch {
	case k.Reads:
		return callText(v, name, k.big)
	case k.T.Kind() == reflect.String:
		v.SetString(name)
		return nil
	case gotype.IsInt(k.T.Kind()):
		if i, err := strconv.ParseInt(name, 10, k.T.Bits()); err == nil && strconv.FormatInt(i, 10) == name {
			v.SetInt(i)
			return nil
		}
	case gotype.IsUint(k.T.Kind()):
		if u, err := strconv.ParseUint(name, 10, k.T.Bits()); err == nil && strconv.FormatUint(u, 10) == name {
			v.SetUint(u)
			return nil
		}
	}
	return errUnreadable
}

func (k *KeyCodec) write(v reflect.Value) (string, error) {
	switch {
	case k.T.Kind() == reflect.String:
		return v.String(), nil
	case k.writes && (v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface) && v.IsNil():
		return "", nil // as encoding/json has it
	case k.writes:
		writer, ok := reflect.TypeAssert[encoding.TextMarshaler](v)
		if !ok {
			writer, _ = reflect.TypeAssert[encoding.TextMarshaler](addressable(v)) // k.writes says so
		}
		text, err := writer.MarshalText()
		return string(text), err
	case gotype.IsInt(k.T.Kind()):
		return strconv.FormatInt(v.Int(), 10), nil
	case gotype.IsUint(k.T.Kind()):
		return strconv.FormatUint(v.Uint(), 10), nil
	}
	return "", fmt.Errorf("type %s has no text form", k.T)
}

// hasText reports whether methods of the type write or read the names in this mode.
func (k *KeyCodec) hasText(mode Mode) bool {
	if mode == Output {
		return k.writes
	}
	return k.Reads
}

// schema returns the schema of the names. All names are texts, so it has no type.
func (k *KeyCodec) schema(mode Mode) schema.Keywords {
	if k.Names != nil {
		return schema.Keywords{{Name: "enum", Value: jsonedit.List(jsonedit.QuoteAll(k.Names))}}
	}
	switch {
	case k.hasText(mode):
		names := textSchema(gotype.Deref(k.T), mode)
		names.Drop("type")
		return names
	case k.T.Kind() == reflect.String:
		return nil
	}
	low, high := bounds(k.T)
	negative := ""
	if low != "0" {
		negative = "|-(?:" + digitsTo(low[1:]) + ")"
	}
	var out schema.Keywords
	out.SetText("pattern", "^(?:0|"+digitsTo(high)+negative+")$")
	if k.T.Bits() > exactBits {
		out.SetText("description", "A whole number from "+low+" to "+high+".")
	}
	return out
}

// node is what rules of the keys are about: whole numbers or texts.
func (k *KeyCodec) node() Node {
	if kind := k.T.Kind(); gotype.IsInt(kind) || gotype.IsUint(kind) {
		return &wholeNode{typed{k.T}}
	}
	return &StringNode{k.T}
}

// apply adds the rules of the keys to the schema of their names. The names are texts, so rules about numbers are
// said in words.
func (k *KeyCodec) apply(c *rules.Constraints, names *schema.Keywords) {
	value := valueOf(k.node())
	if value.Kind == rules.TextKind {
		c.Apply(names, value)
		return
	}
	number := schema.Typed("integer")
	c.Apply(&number, value)
	if words := schema.Describe(number); words != schema.Describe(schema.Typed("integer")) {
		names.Note("Must be " + words + ".")
	}
}

// exactBits is the largest size of integers whose range the pattern expresses exactly.
const exactBits = 16

// digitsTo matches the whole numbers from 1 to the one with these digits. Beyond four digits only the number of
// digits is bounded: the exact pattern would fill a page, and decoding is exact in any case.
func digitsTo(digits string) string {
	if len(digits) > 5 {
		return fmt.Sprintf("[1-9][0-9]{0,%d}", len(digits)-1)
	}
	options := []string{fmt.Sprintf("[1-9][0-9]{0,%d}", len(digits)-2)}
	for i, d := range []byte(digits) {
		low := byte('0')
		if i == 0 {
			low = '1'
		}
		if d > low {
			options = append(options, fmt.Sprintf("%s[%c-%c][0-9]{%d}", digits[:i], low, d-1, len(digits)-i-1))
		}
	}
	return strings.Join(append(options, digits), "|")
}

// words say what keys are wanted.
func (k *KeyCodec) words() string {
	switch {
	case k.Names != nil:
		shown := make([]string, len(k.Names))
		for i, name := range k.Names {
			shown[i] = report.QuoteShort(name)
		}
		return "a key that is one of " + strings.Join(report.Capped(shown), ", ")
	case k.Reads:
		if form, ok := TextForms[k.T]; ok {
			return "a key that is " + form.words
		}
		return "a key that names a " + gotype.PlainName(k.T)
	}
	low, high := bounds(k.T)
	return "a key that is a whole number from " + low + " to " + high
}
