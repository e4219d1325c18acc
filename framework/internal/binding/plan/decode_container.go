package plan

import (
	"reflect"

	"github.com/kagami-mcp/kagami/framework/internal/binding/report"
	"github.com/kagami-mcp/kagami/framework/internal/binding/rules"
	"github.com/kagami-mcp/kagami/framework/internal/binding/schema"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// ListNode is a slice, or an array: a list of a fixed length. Null is refused.
type ListNode struct {
	typed

	Elem  Node
	empty reflect.Value // of a slice; shared: there is nothing in it to change
}

// fixed reports whether the list is an array.
func (n *ListNode) fixed() bool { return n.t.Kind() == reflect.Array }

// firstItems is the number of items or members that have room before they are read. Wrong ones end
// the reading early, and must not cost the memory of right ones.
const firstItems = 256

func (n *ListNode) decode(d *decoder, raw []byte, v reflect.Value, c *rules.Constraints) {
	raw, fits := d.expect(jsontext.KindArray, n, raw, c)
	if !fits {
		return
	}
	size, fixed := jsontext.Len(raw), n.fixed()
	switch {
	case !fixed:
		v.Set(n.empty)
		v.Grow(min(size, firstItems))
	case size != v.Len():
		d.refuse(report.RuleLength, n, raw, c)
		return
	}
	i := 0
	for item := range jsontext.Elements(raw) {
		if d.full() {
			return
		}
		if !fixed {
			if i == v.Cap() { // the first items were right
				v.Grow(size - i)
			}
			v.SetLen(i + 1)
		}
		d.enterIndex(i)
		d.read(n.Elem, item, v.Index(i), c.Element())
		d.leave()
		i++
	}
}

func (n *ListNode) encode(e *encoder, dst []byte, v reflect.Value) []byte {
	return e.list(dst, v.Len(), func(dst []byte, i int) []byte { return n.Elem.encode(e, dst, v.Index(i)) })
}

func (n *ListNode) schema(s *schemer, c *rules.Constraints) schema.Keywords {
	k := schema.Typed("array")
	k.Set("items", s.text(n.Elem, c.Element()))
	if n.fixed() {
		k.SetInt("minItems", n.t.Len())
		k.SetInt("maxItems", n.t.Len())
	}
	return k
}
