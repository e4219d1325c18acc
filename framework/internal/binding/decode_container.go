package binding

import (
	"reflect"

	"github.com/kagami-mcp/kagami/framework/internal/binding/report"
	"github.com/kagami-mcp/kagami/framework/internal/binding/rules"
	"github.com/kagami-mcp/kagami/framework/internal/binding/schema"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

type sliceNode struct {
	t     reflect.Type
	elem  node
	empty reflect.Value // shared: there is nothing in it to change
}

func (n *sliceNode) goType() reflect.Type { return n.t }

func (n *sliceNode) decode(d *decoder, raw []byte, v reflect.Value, c *rules.Constraints) {
	raw, fits := d.expect(jsontext.KindArray, n, raw, c)
	if !fits {
		return
	}
	v.Set(n.empty)
	size := jsontext.Len(raw)
	v.Grow(size)
	v.SetLen(size)
	i := 0
	for item := range jsontext.Elements(raw) {
		d.enterIndex(i)
		d.read(n.elem, item, v.Index(i), c.Element())
		d.leave()
		i++
	}
}

func (n *sliceNode) encode(e *encoder, dst []byte, v reflect.Value) []byte {
	return e.array(dst, n.elem, v)
}

func (n *sliceNode) schema(s *schemer, c *rules.Constraints) schema.Keywords {
	k := schema.Typed("array")
	k.Set("items", s.text(n.elem, c.Element()))
	return k
}

type arrayNode struct {
	t    reflect.Type
	elem node
}

func (n *arrayNode) goType() reflect.Type { return n.t }

func (n *arrayNode) decode(d *decoder, raw []byte, v reflect.Value, c *rules.Constraints) {
	raw, fits := d.expect(jsontext.KindArray, n, raw, c)
	if !fits {
		return
	}
	if jsontext.Len(raw) != n.t.Len() {
		d.refuse(report.RuleLength, n, raw, c)
		return
	}
	i := 0
	for item := range jsontext.Elements(raw) {
		d.enterIndex(i)
		d.read(n.elem, item, v.Index(i), c.Element())
		d.leave()
		i++
	}
}

func (n *arrayNode) encode(e *encoder, dst []byte, v reflect.Value) []byte {
	return e.array(dst, n.elem, v)
}

func (n *arrayNode) schema(s *schemer, c *rules.Constraints) schema.Keywords {
	k := schema.Typed("array")
	k.Set("items", s.text(n.elem, c.Element()))
	k.SetInt("minItems", n.t.Len())
	k.SetInt("maxItems", n.t.Len())
	return k
}
