package plan

import (
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// Mask hides the secret members of the values of one plan. It is immutable and safe
// for concurrent use.
type Mask struct {
	root  Node
	holds map[Node]bool // nodes with a secret somewhere below
}

// MaskOf is nil where no member of the plan's type is secret.
func MaskOf(p *Plan) *Mask {
	if !p.Secretive {
		return nil
	}
	m := &Mask{root: p.root, holds: make(map[Node]bool)}
	m.learn(p.root)
	return m
}

// learn looks once at each node, so that masking a value needs no search.
func (m *Mask) learn(n Node) {
	n = held(n)
	if _, seen := m.holds[n]; seen {
		return
	}
	m.holds[n] = hasSecret(n)
	for _, child := range children(n) {
		m.learn(child)
	}
}

// held is what a value of n consists of, pointers and the tags of variants aside.
func held(n Node) Node {
	n = Bare(n)
	if v, ok := n.(*variantNode); ok {
		return Bare(v.Elem)
	}
	return n
}

// Append appends raw, a JSON text, with hidden in place of what is secret. What raw
// may hold by mistake is hidden, too: a member that its object does not have where
// another one is secret, or has a secret in it, and a value of another shape. Append calls told
// with each value that it hides, as JSON.
func (m *Mask) Append(dst, raw []byte, hidden string, told func(value []byte)) []byte {
	a := masking{m: m, hidden: jsontext.Quote(nil, hidden), told: told}
	return a.value(dst, m.root, raw)
}

// masking is one Append.
type masking struct {
	m      *Mask
	hidden []byte
	told   func(value []byte)
}

func (a *masking) hide(dst, raw []byte) []byte {
	a.told(raw)
	return append(dst, a.hidden...)
}

func (a *masking) value(dst []byte, n Node, raw []byte) []byte {
	n = seenThrough(n)
	kind := jsontext.KindOf(raw)
	if !a.m.holds[n] || kind == jsontext.KindNull {
		return jsontext.Compact(dst, raw)
	}
	switch n := n.(type) {
	case *StructNode:
		if kind == jsontext.KindObject {
			return a.object(dst, raw, func(key jsontext.Key) (Node, bool) { return n.shows(key) })
		}
	case *MapNode:
		if kind == jsontext.KindObject {
			return a.object(dst, raw, func(jsontext.Key) (Node, bool) { return n.Elem, true })
		}
	case *ListNode:
		if kind == jsontext.KindArray {
			return a.array(dst, raw, n.Elem)
		}
	}
	return a.hide(dst, raw) // a union: possibly the wrong variant was named, so nothing may be shown
}

// shows is the node of a member that may be shown, in an object with a secret somewhere in it.
func (n *StructNode) shows(key jsontext.Key) (Node, bool) {
	for _, f := range n.Fields {
		if key.Is(f.Name) {
			return f.Node, !f.Secret
		}
	}
	return nil, false // "Password" and "pasword" are not members, but as secret as the one that was meant
}

func (a *masking) object(dst, raw []byte, member func(jsontext.Key) (Node, bool)) []byte {
	dst = append(dst, '{')
	begin := len(dst)
	for key, value := range jsontext.Members(raw) {
		if len(dst) > begin {
			dst = append(dst, ',')
		}
		dst = append(append(dst, key.Raw()...), ':')
		if n, shown := member(key); shown {
			dst = a.value(dst, n, value)
		} else {
			dst = a.hide(dst, value)
		}
	}
	return append(dst, '}')
}

func (a *masking) array(dst, raw []byte, elem Node) []byte {
	dst = append(dst, '[')
	begin := len(dst)
	for value := range jsontext.Elements(raw) {
		if len(dst) > begin {
			dst = append(dst, ',')
		}
		dst = a.value(dst, elem, value)
	}
	return append(dst, ']')
}
