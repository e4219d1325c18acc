package binding

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

type sliceNode struct {
	t    reflect.Type
	elem node
}

func (n *sliceNode) goType() reflect.Type { return n.t }

func (n *sliceNode) decode(d *decoder, raw []byte, v reflect.Value, c *constraints) {
	raw, fits := d.expect(jsontext.KindArray, n, raw, c)
	if !fits {
		return
	}
	size := jsontext.Len(raw)
	v.Set(reflect.MakeSlice(n.t, size, size))
	i := 0
	for item := range jsontext.Elements(raw) {
		d.enterIndex(i)
		n.elem.decode(d, item, v.Index(i), c.element())
		d.leave()
		i++
	}
}

func (n *sliceNode) encode(e *encoder, v reflect.Value) { e.array(n.elem, v) }

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
		d.refuse(RuleLength, n, raw, c)
		return
	}
	i := 0
	for item := range jsontext.Elements(raw) {
		d.enterIndex(i)
		n.elem.decode(d, item, v.Index(i), c.element())
		d.leave()
		i++
	}
}

func (n *arrayNode) encode(e *encoder, v reflect.Value) { e.array(n.elem, v) }

func (n *arrayNode) schema(s *schemer, c *constraints) keywords {
	k := typed("array")
	k.set("items", s.text(n.elem, c.element()))
	k.setInt("minItems", n.t.Len())
	k.setInt("maxItems", n.t.Len())
	return k
}

type mapNode struct {
	t    reflect.Type
	key  *keyCodec
	elem node
}

func (n *mapNode) goType() reflect.Type { return n.t }

func (n *mapNode) decode(d *decoder, raw []byte, v reflect.Value, c *constraints) {
	raw, fits := d.expect(jsontext.KindObject, n, raw, c)
	if !fits {
		return
	}
	m := reflect.MakeMapWithSize(n.t, jsontext.Len(raw))
	value := reflect.New(n.t.Elem()).Elem()
	for key, item := range jsontext.Members(raw) {
		name := key.String()
		d.enter(name)
		k, err := n.key.read(name)
		switch {
		case err != nil:
			d.file(n.badKey(name, err, c))
		case m.MapIndex(k).IsValid():
			d.file(finding{Issue: Issue{Rule: RuleDuplicate}, n: n})
		default:
			value.SetZero()
			n.elem.decode(d, item, value, c.element())
			m.SetMapIndex(k, value)
		}
		d.leave()
	}
	v.Set(m)
}

// badKey words that name is no key.
func (n *mapNode) badKey(name string, err error, c *constraints) finding {
	return finding{
		Issue: Issue{Want: n.key.words(), Hint: safeHint(err, n.key.t), Rule: n.key.rule(), Got: "the key " + quoteShort(name)},
		n:     n, key: n.key, c: c.keyRules(),
	}
}

func (n *mapNode) encode(e *encoder, v reflect.Value) {
	if !e.deeper() {
		return
	}
	defer func() { e.depth-- }()
	type entry struct {
		name  string
		value reflect.Value
	}
	entries := make([]entry, 0, v.Len())
	for iter := v.MapRange(); iter.Next(); {
		name, err := n.key.write(iter.Key())
		if err == nil && !n.key.allows(name) {
			err = fmt.Errorf("%q is not one of the values of %s", clip(name, 40), n.key.t)
		}
		if err != nil {
			e.fail("map key: %v", err)
			return
		}
		entries = append(entries, entry{name, iter.Value()})
	}
	slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	e.dst = append(e.dst, '{')
	for i, item := range entries {
		if i > 0 {
			e.dst = append(e.dst, ',')
			if item.name == entries[i-1].name {
				e.fail("two map keys are written as %q", item.name)
			}
		}
		e.dst = jsontext.Quote(e.dst, item.name)
		e.dst = append(e.dst, ':')
		e.enter(item.name)
		n.elem.encode(e, item.value)
		e.leave()
	}
	e.dst = append(e.dst, '}')
}

func (n *mapNode) schema(s *schemer, c *constraints) keywords {
	k := typed("object")
	k.set("additionalProperties", s.text(n.elem, c.element()))
	names := n.key.schema()
	c.keyRules().apply(&names, &stringNode{n.key.t})
	if len(names) > 0 {
		k.set("propertyNames", names.render())
	}
	return k
}
