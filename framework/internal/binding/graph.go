package binding

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
)

var (
	// importPath is the path part of a qualified type argument, as in
	// Box[example.com/a/b.Node].
	importPath    = regexp.MustCompile(`[A-Za-z0-9_.~%+/-]*\.`)
	illegalInName = regexp.MustCompile(`[^A-Za-z0-9_]+`)
)

// plainName is the type's name without package paths in its type arguments.
func plainName(t reflect.Type) string { return importPath.ReplaceAllString(t.Name(), "") }

// defName is a legal name for $defs: other characters need escapes in a
// pointer, which clients get wrong.
func defName(t reflect.Type) string {
	name := strings.Trim(illegalInName.ReplaceAllString(plainName(t), "_"), "_")
	if name == "" {
		return "T"
	}
	return name
}

// children are the nodes that n refers to directly.
func children(n node) []node {
	switch n := n.(type) {
	case *ptrNode:
		return []node{n.elem}
	case *sliceNode:
		return []node{n.elem}
	case *arrayNode:
		return []node{n.elem}
	case *mapNode:
		return []node{n.elem}
	case *enumNode:
		return []node{n.node}
	case *quotedNode:
		return []node{n.node}
	case *methodNode:
		if n.base != nil && n.shown() == byShape {
			return []node{n.base}
		}
	case *unionNode:
		out := make([]node, 0, len(n.variants))
		for _, v := range n.variants {
			out = append(out, v)
		}
		return out
	case *variantNode:
		return children(n.elem) // the struct by itself has no discriminator
	case *structNode:
		out := make([]node, 0, len(n.fields))
		for _, f := range n.fields {
			out = append(out, f.node)
		}
		return out
	}
	return nil
}

// whole reports whether n and all nodes below were compiled without a fault.
func whole(n node, seen map[node]bool) bool {
	switch n := n.(type) {
	case nil:
		return false
	case *variantNode:
		return whole(n.elem, seen)
	case *structNode:
		if n.faulty {
			return false
		}
	}
	if seen[n] {
		return true
	}
	seen[n] = true
	return !slices.ContainsFunc(children(n), func(child node) bool { return !whole(child, seen) })
}

// reaches reports whether to can be met below from.
func reaches(from, to node, seen map[node]bool) bool {
	for _, child := range children(from) {
		if child == nil || seen[child] {
			continue
		}
		if child == to {
			return true
		}
		seen[child] = true
		if reaches(child, to, seen) {
			return true
		}
	}
	return false
}

// deref is the type behind pointers.
func deref(t reflect.Type) reflect.Type {
	for t != nil && t.Kind() == reflect.Pointer && !endless(t) {
		t = t.Elem()
	}
	return t
}

// endless says that a pointer leads to nothing but pointers, as type P *P does. Only named
// types can.
func endless(t reflect.Type) bool {
	seen := map[reflect.Type]bool{}
	for t.Kind() == reflect.Pointer && t.Name() != "" {
		if seen[t] {
			return true
		}
		seen[t] = true
		t = t.Elem()
	}
	return false
}
