package plan

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"math"
	"math/big"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/kagami-mcp/kagami/framework/internal/binding/gotype"
	"github.com/kagami-mcp/kagami/framework/internal/binding/jsonedit"
	"github.com/kagami-mcp/kagami/framework/internal/binding/report"
	"github.com/kagami-mcp/kagami/framework/internal/binding/rules"
	"github.com/kagami-mcp/kagami/framework/internal/binding/schema"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

type boolNode struct{ typed }

func (n *boolNode) decode(d *decoder, raw []byte, v reflect.Value, c *rules.Constraints) {
	if raw, fits := d.expect(jsontext.KindBool, n, raw, c); fits {
		v.SetBool(raw[0] == 't')
	}
}

func (n *boolNode) encode(_ *encoder, dst []byte, v reflect.Value) []byte {
	return strconv.AppendBool(dst, v.Bool())
}

func (n *boolNode) schema(*schemer, *rules.Constraints) schema.Keywords {
	return schema.Typed("boolean")
}

// wholeNode is an integer of any size, signed or not.
type wholeNode struct{ typed }

func (n *wholeNode) decode(d *decoder, raw []byte, v reflect.Value, c *rules.Constraints) {
	raw, fits := d.expect(jsontext.KindNumber, n, raw, c)
	if !fits {
		return
	}
	if v.CanInt() {
		if i, ok := jsontext.Int64(raw); ok && !v.OverflowInt(i) {
			v.SetInt(i)
			return
		}
	} else if u, ok := uint64Of(raw); ok && !v.OverflowUint(u) {
		v.SetUint(u)
		return
	}
	hint := ""
	if _, whole := jsonedit.BigOf(raw); whole {
		hint = d.beyond(n, raw, c)
	}
	d.refuseWith(report.RuleRange, hint, n, raw, c)
}

func (n *wholeNode) encode(_ *encoder, dst []byte, v reflect.Value) []byte {
	if v.CanInt() {
		return strconv.AppendInt(dst, v.Int(), 10)
	}
	return strconv.AppendUint(dst, v.Uint(), 10)
}

// schema has the bounds of the type, except 2^63 and beyond: a client that keeps numbers as
// doubles passes 2^63 on for the largest int64, and a model's API that reads its tools into
// such integers then refuses all of them.
func (n *wholeNode) schema(*schemer, *rules.Constraints) schema.Keywords {
	k := schema.Typed("integer")
	low, high := bounds(n.t)
	if low == "0" || n.t.Bits() < 64 {
		k.Set("minimum", []byte(low))
	}
	if n.t.Bits() < 64 {
		k.Set("maximum", []byte(high))
	}
	return k
}

// bounds are the least and the greatest number of a type of integers.
func bounds(t reflect.Type) (low, high string) {
	if gotype.IsUint(t.Kind()) {
		return "0", strconv.FormatUint(math.MaxUint64>>(64-t.Bits()), 10)
	}
	top := int64(math.MaxInt64) >> (64 - t.Bits())
	return strconv.FormatInt(-top-1, 10), strconv.FormatInt(top, 10)
}

// beyond returns a hint that the type has bounds. It returns "" if raw is beyond a bound that the issue
// names in any case.
func (d *decoder) beyond(n Node, raw []byte, c *rules.Constraints) string {
	if schema.Clamp(d.plan.Words(n, c), raw) != nil {
		return ""
	}
	return fmt.Sprintf("It is beyond the range of numbers of %d bits.", n.GoType().Bits())
}

// uint64Of reads a number that is a whole one, in any notation.
func uint64Of(raw []byte) (uint64, bool) {
	if i, ok := jsontext.Int64(raw); ok {
		return uint64(i), i >= 0
	}
	i, ok := jsonedit.BigOf(raw)
	if !ok || !i.IsUint64() {
		return 0, false
	}
	return i.Uint64(), true
}

type bigNode struct{ typed }

func (n *bigNode) decode(d *decoder, raw []byte, v reflect.Value, c *rules.Constraints) {
	raw, fits := d.expect(jsontext.KindNumber, n, raw, c)
	if !fits {
		return
	}
	i, ok := jsonedit.BigOf(raw)
	if !ok {
		d.refuse(report.RuleType, n, raw, c)
		return
	}
	v.Addr().Interface().(*big.Int).Set(i)
}

func (n *bigNode) encode(_ *encoder, dst []byte, v reflect.Value) []byte {
	return addressable(v).Interface().(*big.Int).Append(dst, 10)
}

func (n *bigNode) schema(*schemer, *rules.Constraints) schema.Keywords {
	return schema.Typed("integer")
}

type floatNode struct{ typed }

func (n *floatNode) decode(d *decoder, raw []byte, v reflect.Value, c *rules.Constraints) {
	raw, fits := d.expect(jsontext.KindNumber, n, raw, c)
	if !fits {
		return
	}
	f, err := strconv.ParseFloat(string(raw), n.t.Bits())
	if err != nil || v.OverflowFloat(f) {
		d.refuseWith(report.RuleRange, d.beyond(n, raw, c), n, raw, c)
		return
	}
	v.SetFloat(f)
}

func (n *floatNode) encode(e *encoder, dst []byte, v reflect.Value) []byte {
	return e.float(dst, v.Float(), n.t.Bits())
}

func (n *floatNode) schema(*schemer, *rules.Constraints) schema.Keywords {
	k := schema.Typed("number")
	if n.t.Bits() == 32 {
		// Beyond these a float32 overflows. They are as results have them, which
		// is rounded up. float64 has no bounds in the schema: no reader of JSON
		// can say anything larger.
		k.Set("minimum", jsontext.AppendFloat32(nil, -math.MaxFloat32))
		k.Set("maximum", jsontext.AppendFloat32(nil, math.MaxFloat32))
	}
	return k
}

// StringNode is a text.
type StringNode struct{ T reflect.Type }

// GoType returns the type of the values.
func (n *StringNode) GoType() reflect.Type { return n.T }

func (n *StringNode) decode(d *decoder, raw []byte, v reflect.Value, c *rules.Constraints) {
	s, ok := d.texts.of(raw)
	if !ok || c.TooLong(len(s)) {
		d.refuse(report.RuleType, n, raw, c)
		return
	}
	v.SetString(s)
}

func (n *StringNode) encode(_ *encoder, dst []byte, v reflect.Value) []byte {
	return jsontext.Quote(dst, v.String())
}

func (n *StringNode) schema(*schemer, *rules.Constraints) schema.Keywords {
	return schema.Typed("string")
}

// bytesNode is []byte: base64, standard alphabet, padded.
type bytesNode struct{ typed }

func (n *bytesNode) decode(d *decoder, raw []byte, v reflect.Value, c *rules.Constraints) {
	text, ok := jsontext.AppendString(nil, raw)
	if !ok {
		d.refuse(report.RuleType, n, raw, c)
		return
	}
	out := make([]byte, base64.StdEncoding.DecodedLen(len(text)))
	size, err := base64.StdEncoding.Decode(out, text)
	if err != nil {
		other, problem := OtherBase64(text)
		switch {
		case problem != nil:
			d.refuse(report.RuleType, n, raw, c)
			return
		case !d.repair:
			d.mendable = true
			d.describe(report.RuleType, "", n, raw, c)
			return
		}
		out, size = other, len(other)
		noted := len(d.repaired)
		d.noteRepair()
		if len(d.repaired) > noted {
			d.inBase64 = append(d.inBase64, noted)
		}
	}
	v.SetBytes(out[:size])
}

// OtherBase64 reads the forms of base64 that are not the standard one: with the alphabet for
// URLs, and without padding. It refuses a text that mixes the alphabets.
func OtherBase64(text []byte) ([]byte, error) {
	plain := strings.TrimRight(string(text), "=")
	if strings.ContainsAny(plain, "-_") {
		return base64.RawURLEncoding.DecodeString(plain)
	}
	return base64.RawStdEncoding.DecodeString(plain)
}

func (n *bytesNode) encode(_ *encoder, dst []byte, v reflect.Value) []byte {
	return jsontext.QuoteBase64(dst, v.Bytes())
}

func (n *bytesNode) schema(*schemer, *rules.Constraints) schema.Keywords {
	k := schema.Typed("string")
	k.SetText("contentEncoding", "base64")
	return k
}

type timeNode struct{ typed }

func (n *timeNode) decode(d *decoder, raw []byte, v reflect.Value, c *rules.Constraints) {
	text, ok := jsontext.String(raw)
	if !ok || !strictTime(text) || v.Addr().Interface().(*time.Time).UnmarshalText([]byte(text)) != nil {
		d.refuse(report.RuleType, n, raw, c)
	}
}

// strictTime reports whether a text that package time accepts is a time of RFC 3339. Package time also accepts an
// hour of one digit, a comma before the fraction, and an offset of a day or more.
func strictTime(text string) bool {
	const upToHour = len("2006-01-02T15")
	if len(text) <= upToHour || text[upToHour] != ':' || strings.Contains(text, ",") {
		return false
	}
	if strings.HasSuffix(text, "Z") {
		return true
	}
	hours, minutes, ok := strings.Cut(text[len(text)-len("00:00"):], ":")
	return ok && hours <= "23" && minutes <= "59"
}

func (n *timeNode) encode(e *encoder, dst []byte, v reflect.Value) []byte {
	text, err := addressable(v).Interface().(*time.Time).MarshalText()
	if err != nil {
		return e.fail(dst, "%v", err)
	}
	return jsontext.QuoteBytes(dst, text)
}

func (n *timeNode) schema(*schemer, *rules.Constraints) schema.Keywords {
	k := schema.Typed("string")
	k.SetText("format", "date-time")
	return k
}

// durationNode is a time.Duration as text: nanoseconds are not what a model
// guesses.
type durationNode struct{ typed }

func (n *durationNode) decode(d *decoder, raw []byte, v reflect.Value, c *rules.Constraints) {
	text, ok := jsontext.String(raw)
	dur, err := time.ParseDuration(text)
	if !ok || err != nil {
		d.refuse(report.RuleType, n, raw, c)
		return
	}
	v.SetInt(int64(dur))
}

func (n *durationNode) encode(_ *encoder, dst []byte, v reflect.Value) []byte {
	return jsontext.Quote(dst, gotype.DurationText(time.Duration(v.Int())))
}

func (n *durationNode) schema(*schemer, *rules.Constraints) schema.Keywords {
	k := schema.Typed("string")
	k.SetText("description", "A duration such as 90s, 5m or 1h30m.")
	k.SetText("pattern", schema.DurationPattern)
	return k
}

// quotedNode is json:",string": the value travels inside a string.
type quotedNode struct{ Node }

func (n *quotedNode) decode(d *decoder, raw []byte, v reflect.Value, c *rules.Constraints) {
	text, ok := jsontext.String(raw)
	inner := []byte(text)
	if !ok || !n.legal(inner) {
		d.refuse(report.RuleType, n, raw, c)
		return
	}
	was := d.repair
	d.repair = false
	n.Node.decode(d, inner, v, c)
	d.repair = was
}

// legal keeps to what encoding/json reads: no space around, no null, and
// integers as digits alone.
func (n *quotedNode) legal(inner []byte) bool {
	if jsontext.Check(inner, jsontext.DefaultLimits()) != nil || len(bytes.TrimSpace(inner)) != len(inner) {
		return false
	}
	if n, whole := n.Node.(*wholeNode); whole {
		return jsontext.IsInteger(inner) && (inner[0] != '-' || gotype.IsInt(n.t.Kind())) // "-0" is not a uint
	}
	return jsontext.KindOf(inner) != jsontext.KindNull
}

func (n *quotedNode) encode(e *encoder, dst []byte, v reflect.Value) []byte {
	var room [32]byte
	inner := n.Node.encode(e, room[:0], v) // of a scalar
	return jsontext.QuoteBytes(dst, inner)
}

func (n *quotedNode) schema(*schemer, *rules.Constraints) schema.Keywords {
	k := schema.Typed("string")
	switch n.Node.(type) {
	case *boolNode:
		k.Set("enum", []byte(`["true","false"]`))
	case *wholeNode:
		pattern, words := `^-?(?:0|[1-9][0-9]*)$`, ""
		low, high := bounds(n.GoType())
		if low == "0" {
			pattern, words = `^(?:0|[1-9][0-9]*)$`, ", 0 or more"
		}
		if n.GoType().Bits() <= 32 { // the bounds of larger ones need no words
			words = ", from " + low + " to " + high
		}
		k.SetText("pattern", pattern)
		k.SetText("description", "A whole number in quotes"+words+".")
	case *floatNode, *numberNode:
		k.SetText("pattern", `^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?$`)
		k.SetText("description", "A number in quotes.")
	default:
		k.SetText("description", "JSON text of a string.")
	}
	return k
}
