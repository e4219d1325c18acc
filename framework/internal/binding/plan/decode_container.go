package plan

import (
	"reflect"

	"github.com/kagami-mcp/kagami/framework/internal/binding/report"
	"github.com/kagami-mcp/kagami/framework/internal/binding/rules"
	"github.com/kagami-mcp/kagami/framework/internal/binding/schema"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// SliceNode is a list. Null is refused.
type SliceNode struct {
	t     reflect.Type
	Elem  Node
	empty reflect.Value // shared: there is nothing in it to change
}

// GoType returns the type of the values.
func (n *SliceNode) GoType() reflect.Type { return n.t }

// firstItems is the number of items or members that have room before they are read. Wrong ones end
// the reading early, and must not cost the memory of right ones.
const firstItems = 256

func (n *SliceNode) decode(d *decoder, raw []byte, v reflect.Value, c *rules.Constraints) {
	raw, fits := d.expect(jsontext.KindArray, n, raw, c)
	if !fits {
		return
	}
	v.Set(n.empty)
	size := jsontext.Len(raw)
	v.Grow(min(size, firstItems))
	i := 0
	for item := range jsontext.Elements(raw) {
		if d.full() {
			return
		}
		if i == v.Cap() { // the first items were right
			v.Grow(size - i)
		}
		v.SetLen(i + 1)
		d.enterIndex(i)
		d.read(n.Elem, item, v.Index(i), c.Element())
		d.leave()
		i++
	}
}

func (n *SliceNode) encode(e *encoder, dst []byte, v reflect.Value) []byte {
	return e.array(dst, n.Elem, v)
}

func (n *SliceNode) schema(s *schemer, c *rules.Constraints) schema.Keywords {
	k := schema.Typed("array")
	k.Set("items", s.text(n.Elem, c.Element()))
	return k
}

// ArrayNode is a list of a fixed length.
type ArrayNode struct {
	t    reflect.Type
	Elem Node
}

// GoType returns the type of the values.
func (n *ArrayNode) GoType() reflect.Type { return n.t }

func (n *ArrayNode) decode(d *decoder, raw []byte, v reflect.Value, c *rules.Constraints) {
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
		if d.full() {
			return
		}
		d.enterIndex(i)
		d.read(n.Elem, item, v.Index(i), c.Element())
		d.leave()
		i++
	}
}

func (n *ArrayNode) encode(e *encoder, dst []byte, v reflect.Value) []byte {
	return e.array(dst, n.Elem, v)
}

func (n *ArrayNode) schema(s *schemer, c *rules.Constraints) schema.Keywords {
	k := schema.Typed("array")
	k.Set("items", s.text(n.Elem, c.Element()))
	k.SetInt("minItems", n.t.Len())
	k.SetInt("maxItems", n.t.Len())
	return k
}
