package plan

import (
	"slices"
	"strings"

	"github.com/kagami-mcp/kagami/framework/internal/binding/jsonedit"
	"github.com/kagami-mcp/kagami/framework/internal/binding/report"
	"github.com/kagami-mcp/kagami/framework/internal/binding/spelling"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// ShowsSecret reports whether the caller sent a secret: it must not be written
// back into texts that are logged.
func (p *Plan) ShowsSecret(raw []byte) bool { return p.HoldsSecret(p.root, raw) }

// HoldsSecret reports whether raw, a value for n, has a secret member, or something that may be one.
func (p *Plan) HoldsSecret(n Node, raw []byte) bool {
	return p.Secretive && (p.namesSecret(raw) || p.undescribed(n, raw))
}

// hasSecret reports whether a value of n can have a secret member.
func hasSecret(n Node) bool { return len(secretNames(n, map[Node]bool{})) > 0 }

// secretNames returns the flattened names of the secret members that a value of n can have.
func secretNames(n Node, seen map[Node]bool) (names []string) {
	if n = held(n); seen[n] {
		return nil
	}
	seen[n] = true
	if s, ok := n.(*StructNode); ok {
		for _, f := range s.Fields {
			if f.Secret {
				names = append(names, spelling.Flatten(f.Name))
			}
		}
	}
	for _, below := range children(n) {
		names = append(names, secretNames(below, seen)...)
	}
	return names
}

// namesSecret reports whether raw has a member with the name of a secret, at any depth, whatever the schema
// wants there. It looks into texts that contain JSON.
func (p *Plan) namesSecret(raw []byte) bool {
	if !p.Secretive {
		return false
	}
	if inner, ok := jsonedit.Unquoted(raw, jsontext.KindObject, jsontext.KindArray); ok {
		raw = inner
	}
	for item := range jsontext.Elements(raw) {
		if p.namesSecret(item) {
			return true
		}
	}
	for key, value := range jsontext.Members(raw) {
		if p.isSecretName(key.String()) || p.namesSecret(value) {
			return true
		}
	}
	return false
}

func (p *Plan) isSecretName(name string) bool {
	return slices.Contains(p.secretNames, spelling.Flatten(name))
}

// undescribed reports whether raw, a value for n, has something that the schema does not describe. In a type
// with secrets, that may be one of them.
func (p *Plan) undescribed(n Node, raw []byte) bool {
	switch n := seenThrough(n).(type) {
	case *AnyNode, *RawNode:
		return true
	case *StructNode:
		return p.undescribedMember(n, raw)
	case *ListNode:
		for item := range jsontext.Elements(raw) {
			if p.undescribed(n.Elem, item) {
				return true
			}
		}
	case *MapNode:
		for _, value := range jsontext.Members(raw) {
			if p.undescribed(n.Elem, value) {
				return true
			}
		}
	case *UnionNode:
		// Possibly the wrong variant was named: all of them count.
		return slices.ContainsFunc(n.Variants, func(v *variantNode) bool { return p.undescribedMember(v.Elem, raw) })
	}
	return false
}

// undescribedMember is undescribed for the members of an object. One that does not exist stays in the text if it is
// ignored.
func (p *Plan) undescribedMember(n *StructNode, raw []byte) bool {
	if inner, ok := jsonedit.Unquoted(raw, jsontext.KindObject); ok {
		raw = inner
	}
	for key, value := range jsontext.Members(raw) {
		i, known := n.ByName[key.String()]
		if !known && p.opts.AllowUnknown || known && p.undescribed(n.Fields[i].Node, value) {
			return true
		}
	}
	return false
}

// hidden stands for a name that the caller gave in a secret value: a key, or a member that does not exist.
const hidden = "[hidden]"

// shown is the issue of a finding without such names, since it is logged.
func (p *Plan) shown(f Finding) report.Issue {
	if p.Secretive {
		p.hideNames(&f)
	}
	f.Path = report.ShortPath(f.Path)
	return f.Issue
}

func (p *Plan) hideNames(f *Finding) {
	names := strings.Split(f.Path, "/") // the first is empty
	// The place of a value may have the name of a secret without being one, such as an entry of a map.
	if f.Got != "" && slices.ContainsFunc(names[1:], p.isSecretName) {
		f.Got = "a value that is not shown"
	}
	hide(p.root, names[1:], false)
	if path := strings.Join(names, "/"); path != f.Path {
		f.Path = path
		if f.Key != nil {
			f.Got = "a key that is not shown"
		}
	}
}

// hide hides in names, which lead from a value of n on, what the caller chose below a secret.
func hide(n Node, names []string, secret bool) {
	if len(names) == 0 {
		return
	}
	name := jsonedit.Unescaped(names[0])
	switch n := held(n).(type) {
	case *MapNode:
		if secret {
			names[0] = hidden
		}
		hide(n.Elem, names[1:], secret)
		return
	case *ListNode:
		hide(n.Elem, names[1:], secret)
		return
	case *StructNode:
		if i, ok := n.ByName[name]; ok {
			hide(n.Fields[i].Node, names[1:], secret || n.Fields[i].Secret)
			return
		}
	case *UnionNode:
		found := false
		for _, v := range n.Variants {
			if _, ok := v.Elem.ByName[name]; ok {
				hide(v.Elem, names, secret)
				found = true
			}
		}
		if found {
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
