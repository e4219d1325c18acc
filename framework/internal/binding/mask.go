package binding

import (
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// Mask hides the secret members of the values of one plan. It is immutable and safe
// for concurrent use.
type Mask struct {
	root  node
	holds map[node]bool // nodes with a secret somewhere below
}

// maskOf is nil where no member of the plan's type is secret.
func maskOf(p *core) *Mask {
	if !p.secretive {
		return nil
	}
	m := &Mask{root: p.root, holds: make(map[node]bool)}
	m.learn(p.root, make(map[node]bool))
	return m
}

// learn looks once at each node, so that masking a value needs no search.
func (m *Mask) learn(n node, seen map[node]bool) {
	n = held(n)
	if seen[n] {
		return
	}
	seen[n] = true
	m.holds[n] = hasSecret(n, make(map[node]bool))
	for _, child := range children(n) {
		m.learn(child, seen)
	}
}

// held is what a value of n consists of, pointers and the tags of variants aside.
func held(n node) node {
	n = bare(n)
	if v, ok := n.(*variantNode); ok {
		return bare(v.elem)
	}
	return n
}

// Append appends raw, a JSON text, with hidden in place of what is secret. What raw
// may hold by mistake is hidden, too: a member that its object does not have where
// another one is secret, or has a secret in it, and a value of another shape. told gets
// the values that were hidden, as JSON.
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

func (a *masking) value(dst []byte, n node, raw []byte) []byte {
	n = bare(n)
	kind := jsontext.KindOf(raw)
	if !a.m.holds[n] || kind == jsontext.KindNull {
		return jsontext.Compact(dst, raw)
	}
	switch n := n.(type) {
	case *structNode:
		if kind == jsontext.KindObject {
			return a.object(dst, raw, func(key jsontext.Key) (node, bool) { return n.shows(key) })
		}
	case *mapNode:
		if kind == jsontext.KindObject {
			return a.object(dst, raw, func(jsontext.Key) (node, bool) { return n.elem, true })
		}
	case *sliceNode:
		if kind == jsontext.KindArray {
			return a.array(dst, raw, n.elem)
		}
	case *arrayNode:
		if kind == jsontext.KindArray {
			return a.array(dst, raw, n.elem)
		}
	case *methodNode:
		return a.value(dst, n.base, raw)
	}
	return a.hide(dst, raw) // a union: possibly the wrong variant was named, so nothing may be shown
}

// shows is the node of a member that may be shown, in an object with a secret somewhere in it.
func (n *structNode) shows(key jsontext.Key) (node, bool) {
	for _, f := range n.fields {
		if key.Is(f.name) {
			return f.node, !f.secret
		}
	}
	return nil, false // "Password" and "pasword" are not members, but as secret as the one that was meant
}

func (a *masking) object(dst, raw []byte, member func(jsontext.Key) (node, bool)) []byte {
	dst = append(dst, '{')
	more := false
	for key, value := range jsontext.Members(raw) {
		if more {
			dst = append(dst, ',')
		}
		more = true
		dst = append(append(dst, key.Raw()...), ':')
		if n, shown := member(key); shown {
			dst = a.value(dst, n, value)
		} else {
			dst = a.hide(dst, value)
		}
	}
	return append(dst, '}')
}

func (a *masking) array(dst, raw []byte, elem node) []byte {
	dst = append(dst, '[')
	more := false
	for value := range jsontext.Elements(raw) {
		if more {
			dst = append(dst, ',')
		}
		more = true
		dst = a.value(dst, elem, value)
	}
	return append(dst, ']')
}
