package plan

import (
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/kagami-mcp/kagami/framework/internal/binding/gotype"
)

var illegalInName = regexp.MustCompile(`[^A-Za-z0-9_]+`)

// defName is a legal name for $defs: other characters need escapes in a
// pointer, which clients get wrong.
func defName(t reflect.Type) string {
	name := strings.Trim(illegalInName.ReplaceAllString(gotype.PlainName(t), "_"), "_")
	if name == "" {
		return "T"
	}
	return name
}

// children are the nodes that n refers to directly.
func children(n Node) []Node {
	switch n := n.(type) {
	case *ptrNode:
		return []Node{n.elem}
	case *ListNode:
		return []Node{n.Elem}
	case *MapNode:
		return []Node{n.Elem}
	case *enumNode:
		return []Node{n.Node}
	case *quotedNode:
		return []Node{n.Node}
	case *MethodNode:
		if n.Base != nil && n.shown() == byShape {
			return []Node{n.Base}
		}
	case *UnionNode:
		out := make([]Node, 0, len(n.Variants))
		for _, v := range n.Variants {
			out = append(out, v)
		}
		return out
	case *variantNode:
		return children(n.Elem) // the struct by itself has no discriminator
	case *StructNode:
		out := make([]Node, 0, len(n.Fields))
		for _, f := range n.Fields {
			out = append(out, f.Node)
		}
		return out
	}
	return nil
}

// whole reports whether n and all nodes below were compiled without a fault.
func whole(n Node, seen map[Node]bool) bool {
	switch n := n.(type) {
	case nil:
		return false
	case *variantNode:
		return whole(n.Elem, seen)
	case *StructNode:
		if n.faulty {
			return false
		}
	}
	if seen[n] {
		return true
	}
	seen[n] = true
	return !slices.ContainsFunc(children(n), func(child Node) bool { return !whole(child, seen) })
}

// Reaches reports whether to can be met below from.
func Reaches(from, to Node, seen map[Node]bool) bool {
	for _, child := range children(from) {
		if child == nil || seen[child] {
			continue
		}
		if child == to {
			return true
		}
		seen[child] = true
		if Reaches(child, to, seen) {
			return true
		}
	}
	return false
}
