package binding

import (
	"reflect"

	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

type sliceNode struct {
	t     reflect.Type
	elem  node
	empty reflect.Value // shared: there is nothing in it to change
}

func (n *sliceNode) goType() reflect.Type { return n.t }

func (n *sliceNode) decode(d *decoder, raw []byte, v reflect.Value, c *constraints) {
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
		d.read(n.elem, item, v.Index(i), c.element())
		d.leave()
		i++
	}
}

func (n *sliceNode) encode(e *encoder, dst []byte, v reflect.Value) []byte {
	return e.array(dst, n.elem, v)
}

func (n *sliceNode) schema(s *schemer, c *constraints) keywords {
	k := typed("array")
	k.set("items", s.text(n.elem, c.element()))
	return k
}

type arrayNode struct {
	t    reflect.Type
	elem node
}

func (n *arrayNode) goType() reflect.Type { return n.t }

func (n *arrayNode) decode(d *decoder, raw []byte, v reflect.Value, c *constraints) {
	raw, fits := d.expect(jsontext.KindArray, n, raw, c)
	if !fits {
		return
	}
	if jsontext.Len(raw) != n.t.Len() {
		d.refuse(ruleLength, n, raw, c)
		return
	}
	i := 0
	for item := range jsontext.Elements(raw) {
		d.enterIndex(i)
		d.read(n.elem, item, v.Index(i), c.element())
		d.leave()
		i++
	}
}

func (n *arrayNode) encode(e *encoder, dst []byte, v reflect.Value) []byte {
	return e.array(dst, n.elem, v)
}

func (n *arrayNode) schema(s *schemer, c *constraints) keywords {
	k := typed("array")
	k.set("items", s.text(n.elem, c.element()))
	k.setInt("minItems", n.t.Len())
	k.setInt("maxItems", n.t.Len())
	return k
}
