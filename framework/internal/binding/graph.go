package binding

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
