package binding

import (
	"encoding"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

type sliceNode struct {
	t    reflect.Type
	elem node
}

func (n *sliceNode) goType() reflect.Type { return n.t }

func (n *sliceNode) decode(d *decoder, raw []byte, v reflect.Value, c *constraints) {
	if jsontext.KindOf(raw) != jsontext.KindArray {
		inner, ok := d.mend(raw, jsontext.KindArray)
		if !ok {
			d.refuse(RuleType, n, raw, c)
			return
		}
		raw = inner
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
	if jsontext.KindOf(raw) != jsontext.KindArray {
		inner, ok := d.mend(raw, jsontext.KindArray)
		if !ok {
			d.refuse(RuleType, n, raw, c)
			return
		}
		raw = inner
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
	if jsontext.KindOf(raw) != jsontext.KindObject {
		inner, ok := d.mend(raw, jsontext.KindObject)
		if !ok {
			d.refuse(RuleType, n, raw, c)
			return
		}
		raw = inner
	}
	m := reflect.MakeMapWithSize(n.t, jsontext.Len(raw))
	value := reflect.New(n.t.Elem()).Elem()
	for key, item := range jsontext.Members(raw) {
		name := key.String()
		d.enter(name)
		k, err := n.key.read(name)
		switch {
		case err != nil:
			d.file(finding{Issue: Issue{Want: n.key.words(), Hint: safeHint(err), Rule: RuleType, Got: "the key " + quoteShort(name)}, n: n})
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

// keyCodec turns member names into map keys and back.
type keyCodec struct {
	t             reflect.Type
	reads, writes bool // by the type's own methods
}

// read is strict about integers: "01" and "1" would be two members for one key.
func (k *keyCodec) read(name string) (reflect.Value, error) {
	v := reflect.New(k.t).Elem()
	switch {
	case k.reads:
		return v, callText(v, name)
	case k.t.Kind() == reflect.String:
		v.SetString(name)
		return v, nil
	case isInt(k.t.Kind()):
		i, err := strconv.ParseInt(name, 10, 64)
		if err != nil || v.OverflowInt(i) || strconv.FormatInt(i, 10) != name {
			return v, errUnreadable
		}
		v.SetInt(i)
		return v, nil
	case isUint(k.t.Kind()):
		u, err := strconv.ParseUint(name, 10, 64)
		if err != nil || v.OverflowUint(u) || strconv.FormatUint(u, 10) != name {
			return v, errUnreadable
		}
		v.SetUint(u)
		return v, nil
	}
	return v, errUnreadable
}

func (k *keyCodec) write(v reflect.Value) (string, error) {
	switch {
	case k.t.Kind() == reflect.String:
		return v.String(), nil
	case k.writes:
		text, err := addressable(v).Interface().(encoding.TextMarshaler).MarshalText()
		return string(text), err
	case isInt(k.t.Kind()):
		return strconv.FormatInt(v.Int(), 10), nil
	case isUint(k.t.Kind()):
		return strconv.FormatUint(v.Uint(), 10), nil
	}
	return "", fmt.Errorf("type %s has no text form", k.t)
}

func (k *keyCodec) schema() keywords {
	var pattern string
	switch {
	case k.reads || k.writes || k.t.Kind() == reflect.String:
		return nil
	case isInt(k.t.Kind()):
		top := uint64(1) << (k.t.Bits() - 1)
		pattern = "^(?:0|" + digitsTo(top-1) + "|-(?:" + digitsTo(top) + "))$"
	default:
		pattern = "^(?:0|" + digitsTo(math.MaxUint64>>(64-k.t.Bits())) + ")$"
	}
	return keywords{{"pattern", jsontext.Quote(nil, pattern)}}
}

// digitsTo matches the whole numbers from 1 to top. Beyond four digits only
// their number is bounded: the exact pattern would be as long as a page, and
// the plan is exact in any case.
func digitsTo(top uint64) string {
	digits := strconv.FormatUint(top, 10)
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

func (k *keyCodec) words() string {
	switch {
	case k.reads:
		return "a key that names a " + k.t.Name()
	case isUint(k.t.Kind()):
		return "whole numbers from 0 as keys"
	default:
		return "whole numbers as keys"
	}
}
