package binding

import (
	"slices"
	"strings"

	"github.com/kagami-mcp/kagami/framework/internal/binding/jsonedit"
	"github.com/kagami-mcp/kagami/framework/internal/binding/report"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// secrets looks for secrets in what a caller sent.
type secrets struct {
	somewhere bool // the type has one: then it may also be where the schema says nothing of what is there
	loose     bool // members that do not exist are ignored, and stay in the text
}

// showsSecret reports whether the caller sent a secret: it must not be written
// back into texts that are logged.
func (p *core) showsSecret(raw []byte) bool { return p.holdsSecret(p.root, raw) }

// holdsSecret reports whether raw, a value for n, has a secret member, or something that may be one.
func (p *core) holdsSecret(n node, raw []byte) bool {
	return secrets{somewhere: p.secretive, loose: p.opts.AllowUnknown}.in(n, raw)
}

// hasSecret reports whether a value of n can have a secret member.
func hasSecret(n node, seen map[node]bool) bool {
	if n = held(n); seen[n] {
		return false
	}
	seen[n] = true
	if s, ok := n.(*structNode); ok && slices.ContainsFunc(s.fields, func(f *field) bool { return f.secret }) {
		return true
	}
	return slices.ContainsFunc(children(n), func(below node) bool { return hasSecret(below, seen) })
}

// in reports whether raw, a value for n, has a secret member, or something that may be one.
func (s secrets) in(n node, raw []byte) bool {
	switch n := bare(n).(type) {
	case *structNode:
		return s.inStruct(n, raw)
	case *sliceNode:
		return s.inItems(n.elem, raw)
	case *arrayNode:
		return s.inItems(n.elem, raw)
	case *mapNode:
		for _, value := range jsontext.Members(raw) {
			if s.in(n.elem, value) {
				return true
			}
		}
	case *methodNode:
		return n.shown() == byShape && s.in(n.base, raw)
	case *unionNode:
		// Possibly the wrong variant was named: all of them count.
		for _, v := range n.variants {
			if s.inStruct(v.elem, raw) {
				return true
			}
		}
	case *anyNode, *rawNode:
		return s.somewhere
	}
	return false
}

func (s secrets) inItems(elem node, raw []byte) bool {
	for item := range jsontext.Elements(raw) {
		if s.in(elem, item) {
			return true
		}
	}
	return false
}

func (s secrets) inStruct(n *structNode, raw []byte) bool {
	if inner, ok := jsonedit.Unquoted(raw, jsontext.KindObject); ok {
		raw = inner
	}
	for key, value := range jsontext.Members(raw) {
		i, known := n.byName[key.String()]
		if !known && s.somewhere && s.loose {
			return true
		}
		if known && (n.fields[i].secret || s.in(n.fields[i].node, value)) {
			return true
		}
	}
	return false
}

// hidden stands for a name that the caller gave in a secret value: a key, or a member that does not exist.
const hidden = "[hidden]"

// shown is the issue of a finding without such names, since it is logged.
func (p *core) shown(f finding) report.Issue {
	names := strings.Split(f.Path, "/") // the first is empty
	hide(p.root, names[1:], false)
	if path := strings.Join(names, "/"); path != f.Path {
		f.Path = path
		if f.key != nil {
			f.Got = "a key that is not shown"
		}
	}
	f.Path = report.ShortPath(f.Path)
	return f.Issue
}

// hide hides in names, which lead from a value of n on, what the caller chose below a secret.
func hide(n node, names []string, secret bool) {
	if len(names) == 0 {
		return
	}
	n = held(n)
	switch n := n.(type) {
	case *mapNode:
		if secret {
			names[0] = hidden
		}
		hide(n.elem, names[1:], secret)
		return
	case *sliceNode, *arrayNode:
		hide(children(n)[0], names[1:], secret)
		return
	case *structNode:
		for _, f := range n.fields {
			if jsontext.Pointer("", f.name) == "/"+names[0] {
				hide(f.node, names[1:], secret || f.secret)
				return
			}
		}
	case *unionNode:
		if hideIn(n, names, secret) {
			return
		}
	default:
		if below := children(n); len(below) == 1 {
			hide(below[0], names, secret)
			return
		}
	}
	if secret {
		for i := range names {
			names[i] = hidden
		}
	}
}

// hideIn is hide for each variant that has the member; false: none has it.
func hideIn(n *unionNode, names []string, secret bool) (found bool) {
	name := names[0]
	for _, v := range n.variants {
		s, ok := held(v).(*structNode)
		if ok && slices.ContainsFunc(s.fields, func(f *field) bool { return jsontext.Pointer("", f.name) == "/"+name }) {
			hide(s, names, secret)
			found = true
		}
	}
	return found
}
