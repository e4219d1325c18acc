package binding

import (
	"fmt"
	"reflect"

	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// enumNode is a named type with a method Values() []T: these and no others.
type enumNode struct {
	node
	values []reflect.Value
	texts  [][]byte // the values as JSON
}

// enum wraps the node of a type that lists its values.
func (c *compiler) enum(t reflect.Type, n node) node {
	if t.Name() == "" || t.Kind() == reflect.Interface {
		return n
	}
	method, ok := reflect.PointerTo(t).MethodByName("Values")
	if !ok {
		return n
	}
	mt := method.Type // with the receiver as its first parameter
	if mt.NumIn() != 1 || mt.NumOut() != 1 || mt.Out(0).Kind() != reflect.Slice || mt.Out(0).Elem() != t {
		return n
	}
	out := &enumNode{node: n}
	if !c.listValues(out, t) {
		return n
	}
	return out
}

// listValues calls the type's methods, which may panic.
func (c *compiler) listValues(n *enumNode, t reflect.Type) (ok bool) {
	defer func() {
		if r := recover(); r != nil {
			c.fault("", fmt.Sprintf("%s.Values panicked: %v", t, r), "Make it independent of the receiver")
			ok = false
		}
	}()
	result := reflect.New(t).MethodByName("Values").Call(nil)[0]
	for i := range result.Len() {
		e := &encoder{}
		n.node.encode(e, result.Index(i))
		if e.err != nil {
			c.fault("", fmt.Sprintf("%s.Values has a value without JSON form: %v", t, e.err), "Return values that can be written")
			return false
		}
		n.values = append(n.values, result.Index(i))
		n.texts = append(n.texts, e.dst)
	}
	if len(n.values) == 0 {
		c.fault("", fmt.Sprintf("%s.Values returned no values", t), "Return the allowed values, independent of the receiver")
		return false
	}
	return true
}

func (n *enumNode) decode(d *decoder, raw []byte, v reflect.Value, c *constraints) {
	before := d.total
	n.node.decode(d, raw, v, c)
	if d.total > before {
		// The inner node has said what it wants; say which values there are.
		if last := len(d.found) - 1; last >= 0 {
			d.found[last].Want = d.plan.wanted(n, c)
			d.found[last].n = n
		}
		return
	}
	if !n.contains(v) {
		d.refuse(RuleEnum, n, raw, c)
	}
}

func (n *enumNode) contains(v reflect.Value) bool {
	for _, x := range n.values {
		if sameValue(x, v) {
			return true
		}
	}
	return false
}

func sameValue(a, b reflect.Value) bool {
	switch {
	case a.Kind() == reflect.String:
		return a.String() == b.String()
	case a.CanInt():
		return a.Int() == b.Int()
	case a.CanUint():
		return a.Uint() == b.Uint()
	case a.Comparable() && b.Comparable():
		return a.Equal(b)
	}
	return reflect.DeepEqual(a.Interface(), b.Interface())
}

func (n *enumNode) encode(e *encoder, v reflect.Value) {
	if !n.contains(v) {
		e.fail("%v is not one of the values of %s", v, n.goType())
		return
	}
	n.node.encode(e, v)
}

func (n *enumNode) schema(s *schemer, c *constraints) keywords {
	k := n.node.schema(s, c)
	k.drop("minimum")
	k.drop("maximum")
	if _, generated := n.node.(*methodNode); generated {
		k.drop("description")
	}
	k.set("enum", list(n.texts))
	return k
}

// enumOf is the allowed values of a member in their text form.
func (p *Plan) enumOf(f *field) []string {
	raw, ok := p.printer.of(f.node, f.c).get("enum")
	if !ok {
		return nil
	}
	var out []string
	for item := range jsontext.Elements(raw) {
		if jsontext.KindOf(item) == jsontext.KindNull {
			continue
		}
		out = append(out, textOf(item))
	}
	return out
}

// textOf is a scalar without quotes.
func textOf(raw []byte) string {
	if s, ok := jsontext.String(raw); ok {
		return s
	}
	return string(raw)
}
