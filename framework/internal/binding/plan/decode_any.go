package plan

import (
	"reflect"

	"github.com/kagami-mcp/kagami/framework/internal/binding/jsonedit"
	"github.com/kagami-mcp/kagami/framework/internal/binding/report"
	"github.com/kagami-mcp/kagami/framework/internal/binding/rules"
	"github.com/kagami-mcp/kagami/framework/internal/binding/schema"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// AnyNode is an interface. A number is a float64 unless that would change its
// value: then it is a json.Number.
type AnyNode struct{ typed }

func (n *AnyNode) decode(d *decoder, raw []byte, v reflect.Value, c *rules.Constraints) {
	if n.t.NumMethod() > 0 {
		d.refuse(report.RuleType, n, raw, c)
		return
	}
	if !d.unique(raw, n) {
		return
	}
	if x := jsontext.Any(raw); x != nil {
		v.Set(reflect.ValueOf(x))
	}
}

func (n *AnyNode) encode(e *encoder, dst []byte, v reflect.Value) []byte {
	if v.IsNil() {
		return append(dst, "null"...)
	}
	return e.dynamic(dst, v.Elem().Interface())
}

func (n *AnyNode) schema(*schemer, *rules.Constraints) schema.Keywords { return nil }

// unique refuses repeated names in values that are passed on undecoded.
func (d *decoder) unique(raw []byte, n Node) bool {
	if !jsonedit.IsContainer(raw) || jsontext.Unique(raw) == nil {
		return true
	}
	d.file(Finding{Issue: report.Issue{Rule: report.RuleDuplicate, Got: d.got(n, raw)}, Node: n})
	return false
}

// RawNode is json.RawMessage: any value, kept as it came.
type RawNode struct{ typed }

func (n *RawNode) decode(d *decoder, raw []byte, v reflect.Value, _ *rules.Constraints) {
	if d.unique(raw, n) {
		v.SetBytes(append([]byte(nil), raw...))
	}
}

func (n *RawNode) encode(e *encoder, dst []byte, v reflect.Value) []byte {
	return e.raw(dst, v.Bytes())
}

func (n *RawNode) schema(*schemer, *rules.Constraints) schema.Keywords { return nil }

// numberNode is json.Number: any number, kept as it was written.
type numberNode struct{ typed }

func (n *numberNode) decode(d *decoder, raw []byte, v reflect.Value, c *rules.Constraints) {
	if raw, fits := d.expect(jsontext.KindNumber, n, raw, c); fits {
		v.SetString(string(raw))
	}
}

func (n *numberNode) encode(e *encoder, dst []byte, v reflect.Value) []byte {
	text := v.String()
	if text == "" {
		text = "0" // as encoding/json has it
	}
	if jsontext.KindOf([]byte(text)) != jsontext.KindNumber || jsontext.Check([]byte(text), jsontext.Limits{}) != nil {
		return e.fail(dst, "json.Number %q is not a number", jsontext.Clip(text, 40))
	}
	return append(dst, text...)
}

func (n *numberNode) schema(*schemer, *rules.Constraints) schema.Keywords {
	return schema.Typed("number")
}
