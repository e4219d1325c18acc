package binding

import "reflect"

// valueOf describes the values of n for their rules. Pointers are looked through.
func valueOf(n node) ruleValue {
	v := ruleValue{t: deref(n.goType()), kind: kindOf(n)}
	switch n := bare(n).(type) {
	case *quotedNode:
		v.quoted = kindOf(n.node)
	case *bytesNode:
		v.bytes = true
	case *mapNode:
		v.key = &ruleValue{t: n.key.t, kind: textKind}
		v.strings = n.key.t.Kind() == reflect.String && !n.key.reads
	}
	if elem := elementOf(n); elem != nil {
		v.elem = func() ruleValue { return valueOf(elem) }
	}
	return v
}

// kindOf returns the kind of the values of n. Pointers are looked through.
func kindOf(n node) kind {
	switch n := bare(n).(type) {
	case *stringNode:
		return textKind
	case *enumNode:
		return kindOf(n.node)
	case *intNode:
		return intKind
	case *uintNode:
		return uintKind
	case *floatNode:
		return floatKind
	case *boolNode:
		return boolKind
	case *sliceNode, *arrayNode:
		return listKind
	case *mapNode:
		return mapKind
	case *timeNode:
		return timeKind
	case *durationNode:
		return durationKind
	}
	return opaque
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
