package plan

import (
	"reflect"

	"github.com/kagami-mcp/kagami/framework/internal/binding/gotype"
	"github.com/kagami-mcp/kagami/framework/internal/binding/rules"
)

// valueOf describes the values of n for their rules. Pointers, and types that are read or written like their kind,
// are looked through.
func valueOf(n Node) rules.Value {
	v := rules.Value{T: gotype.Deref(n.GoType()), Kind: KindOf(n)}
	switch n := seenThrough(n).(type) {
	case *quotedNode:
		v.Quoted = KindOf(n.Node)
	case *enumNode:
		if inner, ok := n.Node.(*quotedNode); ok {
			v.Quoted = KindOf(inner.Node)
		}
	case *bytesNode:
		v.Bytes = true
	case *MapNode:
		v.Key = &rules.Value{T: n.Key.T, Kind: KindOf(n.Key.node())}
		v.Strings = n.Key.T.Kind() == reflect.String && !n.Key.Reads
	}
	if elem := ElementOf(n); elem != nil {
		v.Elem = func() rules.Value { return valueOf(elem) }
	}
	return v
}

// KindOf returns the kind of the values of n. It looks through what valueOf looks through.
func KindOf(n Node) rules.Kind {
	switch n := seenThrough(n).(type) {
	case *StringNode:
		return rules.TextKind
	case *enumNode:
		return KindOf(n.Node)
	case *wholeNode:
		if gotype.IsUint(n.t.Kind()) {
			return rules.UintKind
		}
		return rules.IntKind
	case *floatNode:
		return rules.FloatKind
	case *boolNode:
		return rules.BoolKind
	case *ListNode:
		return rules.ListKind
	case *MapNode:
		return rules.MapKind
	case *timeNode:
		return rules.TimeKind
	case *durationNode:
		return rules.DurationKind
	}
	return rules.Opaque
}

// ElementOf is the element of a list or map, nil for other nodes. It looks through what valueOf looks through.
func ElementOf(n Node) Node {
	switch n := seenThrough(n).(type) {
	case *ListNode:
		return n.Elem
	case *MapNode:
		return n.Elem
	}
	return nil
}
