package binding

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

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
	list reflect.Type // of the elements
}

func (n *mapNode) goType() reflect.Type { return n.t }

func (n *mapNode) decode(d *decoder, raw []byte, v reflect.Value, c *constraints) {
	raw, fits := d.expect(jsontext.KindObject, n, raw, c)
	if !fits {
		return
	}
	m := reflect.MakeMapWithSize(n.t, jsontext.Len(raw))
	k, value := reflect.New(n.key.t).Elem(), reflect.New(n.t.Elem()).Elem()
	for key, item := range jsontext.Members(raw) {
		name, _ := d.text(key.Raw())
		d.enter(name)
		err := n.key.read(name, k)
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

// mapEntry is a member to be written; at is where its value lies.
type mapEntry struct {
	name string
	at   int
}

// entries are the members by name, and the values in any order: one allocation,
// where iter.Value makes one for each.
func (n *mapNode) entries(v reflect.Value) ([]mapEntry, reflect.Value, error) {
	entries, values := make([]mapEntry, 0, v.Len()), reflect.MakeSlice(n.list, v.Len(), v.Len())
	key := reflect.New(n.key.t).Elem()
	for iter := v.MapRange(); iter.Next(); {
		key.SetIterKey(iter)
		name, err := n.key.write(key)
		if err == nil && !n.key.allows(name) {
			err = fmt.Errorf("%q is not one of the values of %s", clip(name, 40), n.key.t)
		}
		if err != nil {
			return nil, values, fmt.Errorf("map key: %w", err)
		}
		values.Index(len(entries)).SetIterValue(iter)
		entries = append(entries, mapEntry{name, len(entries)})
	}
	slices.SortFunc(entries, func(a, b mapEntry) int { return strings.Compare(a.name, b.name) })
	return entries, values, nil
}

func (n *mapNode) encode(e *encoder, v reflect.Value) {
	if !e.deeper() {
		return
	}
	defer func() { e.depth-- }()
	if v.Len() == 0 {
		e.dst = append(e.dst, "{}"...)
		return
	}
	entries, values, err := n.entries(v)
	if err != nil {
		e.wrap(err)
		return
	}
	e.dst = append(e.dst, '{')
	for i, item := range entries {
		if i > 0 {
			e.dst = append(e.dst, ',')
			if item.name == entries[i-1].name {
				e.fail("two map keys are written as %q", item.name)
				return
			}
		}
		e.dst = jsontext.Quote(e.dst, item.name)
		e.dst = append(e.dst, ':')
		if n.elem.encode(e, values.Index(item.at)); e.failed(item.name) {
			return
		}
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
