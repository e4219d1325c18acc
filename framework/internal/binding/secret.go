package binding

import "github.com/kagami-mcp/kagami/protocol/jsontext"

// holdsSecret reports whether raw, a value for n, has a secret member.
func holdsSecret(n node, raw []byte) bool {
	switch n := bare(n).(type) {
	case *structNode:
		return n.holdsSecret(raw)
	case *sliceNode:
		return anyHoldsSecret(n.elem, raw)
	case *arrayNode:
		return anyHoldsSecret(n.elem, raw)
	case *mapNode:
		for _, value := range jsontext.Members(raw) {
			if holdsSecret(n.elem, value) {
				return true
			}
		}
	case *methodNode:
		return n.shown() == byShape && holdsSecret(n.base, raw)
	case *unionNode:
		// Possibly the wrong variant was named: all of them count.
		for _, v := range n.variants {
			if v.elem.holdsSecret(raw) {
				return true
			}
		}
	}
	return false
}

func anyHoldsSecret(elem node, raw []byte) bool {
	for item := range jsontext.Elements(raw) {
		if holdsSecret(elem, item) {
			return true
		}
	}
	return false
}

func (n *structNode) holdsSecret(raw []byte) bool {
	if inner, ok := unquoted(raw, jsontext.KindObject); ok {
		raw = inner
	}
	for _, f := range n.fields {
		value, given := jsontext.Member(raw, f.name)
		if given && (f.secret || holdsSecret(f.node, value)) {
			return true
		}
	}
	return false
}
