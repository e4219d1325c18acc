package binding

import (
	"reflect"

	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// anyNode is an interface. A number is a float64 unless that would change its
// value: then it is a json.Number.
type anyNode struct{ t reflect.Type }

func (n *anyNode) goType() reflect.Type { return n.t }

func (n *anyNode) decode(d *decoder, raw []byte, v reflect.Value, c *constraints) {
	if n.t.NumMethod() > 0 {
		d.refuse(ruleType, n, raw, c)
		return
	}
	if !d.unique(raw, n) {
		return
	}
	if x := jsontext.Any(raw); x != nil {
		v.Set(reflect.ValueOf(x))
	}
}

func (n *anyNode) encode(e *encoder, dst []byte, v reflect.Value) []byte {
	if v.IsNil() {
		return append(dst, "null"...)
	}
	if e.deeper() {
		dst = e.dynamic(dst, v.Elem().Interface())
		e.depth--
	}
	return dst
}

func (n *anyNode) schema(*schemer, *constraints) keywords { return nil }

// unique refuses repeated names in values that are passed on undecoded.
func (d *decoder) unique(raw []byte, n node) bool {
	kind := jsontext.KindOf(raw)
	if kind != jsontext.KindObject && kind != jsontext.KindArray {
		return true
	}
	if jsontext.Unique(raw) == nil {
		return true
	}
	d.file(finding{Issue: Issue{Rule: ruleDuplicate, Got: d.got(n, raw)}, n: n})
	return false
}

// rawNode is json.RawMessage: any value, kept as it came.
type rawNode struct{ t reflect.Type }

func (n *rawNode) goType() reflect.Type { return n.t }

func (n *rawNode) decode(d *decoder, raw []byte, v reflect.Value, _ *constraints) {
	if d.unique(raw, n) {
		v.SetBytes(append([]byte(nil), raw...))
	}
}

func (n *rawNode) encode(e *encoder, dst []byte, v reflect.Value) []byte {
	return e.raw(dst, v.Bytes())
}

func (n *rawNode) schema(*schemer, *constraints) keywords { return nil }

// numberNode is json.Number: any number, kept as it was written.
type numberNode struct{ t reflect.Type }

func (n *numberNode) goType() reflect.Type { return n.t }

func (n *numberNode) decode(d *decoder, raw []byte, v reflect.Value, c *constraints) {
	raw, fits := d.expect(jsontext.KindNumber, n, raw, c)
	if !fits {
		return
	}
	v.SetString(string(raw))
}

func (n *numberNode) encode(e *encoder, dst []byte, v reflect.Value) []byte {
	text := v.String()
	if text == "" {
		text = "0" // as encoding/json has it
	}
	if jsontext.KindOf([]byte(text)) != jsontext.KindNumber || jsontext.Check([]byte(text), jsontext.Limits{}) != nil {
		return e.fail(dst, "json.Number %q is no number", clip(text, 40))
	}
	return append(dst, text...)
}

func (n *numberNode) schema(*schemer, *constraints) keywords { return typed("number") }
