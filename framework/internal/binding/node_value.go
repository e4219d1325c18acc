package binding

import (
	"reflect"

	"github.com/kagami-mcp/kagami/framework/internal/binding/gotype"
	"github.com/kagami-mcp/kagami/framework/internal/binding/rules"
)

// valueOf describes the values of n for their rules. Pointers are looked through.
func valueOf(n node) rules.Value {
	v := rules.Value{T: gotype.Deref(n.goType()), Kind: kindOf(n)}
	switch n := bare(n).(type) {
	case *quotedNode:
		v.Quoted = kindOf(n.node)
	case *bytesNode:
		v.Bytes = true
	case *mapNode:
		v.Key = &rules.Value{T: n.key.t, Kind: rules.TextKind}
		v.Strings = n.key.t.Kind() == reflect.String && !n.key.reads
	}
	if elem := elementOf(n); elem != nil {
		v.Elem = func() rules.Value { return valueOf(elem) }
	}
	return v
}

// kindOf returns the kind of the values of n. Pointers are looked through.
func kindOf(n node) rules.Kind {
	switch n := bare(n).(type) {
	case *stringNode:
		return rules.TextKind
	case *enumNode:
		return kindOf(n.node)
	case *intNode:
		return rules.IntKind
	case *uintNode:
		return rules.UintKind
	case *floatNode:
		return rules.FloatKind
	case *boolNode:
		return rules.BoolKind
	case *sliceNode, *arrayNode:
		return rules.ListKind
	case *mapNode:
		return rules.MapKind
	case *timeNode:
		return rules.TimeKind
	case *durationNode:
		return rules.DurationKind
	}
	return rules.Opaque
}

// elementOf is the element of a list or map, nil for other nodes.
func elementOf(n node) node {
	switch n := bare(n).(type) {
	case *sliceNode:
		return n.elem
	case *arrayNode:
		return n.elem
	case *mapNode:
		return n.elem
	}
	return nil
}
