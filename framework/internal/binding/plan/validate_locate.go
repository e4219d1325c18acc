package plan

import (
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strings"

	"github.com/go-playground/validator/v10"

	"github.com/kagami-mcp/kagami/framework/internal/binding/gotype"
	"github.com/kagami-mcp/kagami/framework/internal/binding/rules"
)

// locator follows a namespace of validator through the plan and the value. Namespaces consist
// of Go names and raw map keys.
type locator struct {
	path     []step
	n        Node
	c        *rules.Constraints
	f        *Member
	secret   bool
	keys     *rules.Constraints // rules of the keys, where the last step is an entry of a map
	key      *KeyCodec          // its codec
	entered  any                // the key itself
	owner    *StructNode        // the struct of f
	keyNames map[keyName]string // how the caller wrote keys
}

// blamesKey reports whether the failed rule is one of the map's keys. If key and value both
// have a rule of that name, the judged value decides; if they are equal texts, validator has
// judged the key first.
func (l *locator) blamesKey(found []Finding, path string, fe validator.FieldError) bool {
	has := func(c *rules.Constraints) bool {
		return c != nil && slices.ContainsFunc(c.Rules, func(r rules.Rule) bool { return r.Name == fe.ActualTag() })
	}
	if !has(l.keys) || !has(l.c) {
		return has(l.keys)
	}
	filed := slices.ContainsFunc(found, func(f Finding) bool { return f.Key != nil && f.Path == path })
	return !filed && fe.Type() == l.key.T && fmt.Sprint(fe.Value()) == fmt.Sprint(l.entered)
}

func (l *locator) locate(root Node, v reflect.Value, ns string) bool {
	if t := gotype.Deref(root.GoType()); t.Kind() == reflect.Struct && t.Name() != "" {
		ns = strings.TrimPrefix(ns, t.Name())
	} else if t.Kind() == reflect.Struct {
		ns = "." + ns
	}
	return l.walk(root, nil, v, ns)
}

// inside is the locator of a place in v, the value here, by the namespace from here on.
func (l *locator) inside(v reflect.Value, rest string) (inner locator, ok bool) {
	inner = *l
	inner.path = slices.Clip(l.path)
	ok = inner.walk(l.n, l.c, v, rest)
	return inner, ok
}

func (l *locator) walk(n Node, c *rules.Constraints, v reflect.Value, rest string) bool {
	n, v = seenThrough(n), behind(v)
	l.n, l.c = n, c
	if rest != "" {
		l.keys = nil
	}
	if rest == "" || !v.IsValid() {
		return rest == ""
	}
	switch n := n.(type) {
	case *StructNode:
		return l.member(n, v, rest)
	case *ListNode:
		return l.item(n.Elem, c, v, rest)
	case *MapNode:
		return l.entry(n, c, v, rest)
	case *UnionNode:
		variant, value := n.held(v) // interfaces leave no trace in validator's namespace
		return variant != nil && l.walk(variant.Elem, nil, value, rest)
	}
	return true // it is inside of a type that marshals itself: reported at that type
}

// seenThrough is the node whose values the rules for n are about.
func seenThrough(n Node) Node {
	n = Bare(n)
	if m, ok := n.(*MethodNode); ok && m.shown() == byShape {
		return m.Base
	}
	return n
}

// member descends by a Go field name, through embedded structs.
func (l *locator) member(n *StructNode, v reflect.Value, rest string) bool {
	var index []int
	t := n.t
	for strings.HasPrefix(rest, ".") {
		name := rest[1:]
		if end := strings.IndexAny(name, ".["); end >= 0 {
			name = name[:end]
		}
		rest = rest[1+len(name):]
		sf, ok := t.FieldByName(name)
		if !ok || len(sf.Index) > 1 {
			return false
		}
		index = append(index, sf.Index...)
		if f := n.byIndex(index); f != nil {
			value, ok := f.in(v, false)
			if !ok {
				return false
			}
			l.path = append(l.path, step{name: f.Name, member: true})
			l.f, l.owner = f, n
			l.secret = l.secret || f.Secret
			return l.walk(f.Node, f.Rules, value, rest)
		}
		t = gotype.Deref(sf.Type)
		if !sf.Anonymous || t.Kind() != reflect.Struct {
			return false
		}
	}
	return false
}

func (n *StructNode) byIndex(index []int) *Member {
	for _, f := range n.Fields {
		if slices.Equal(f.index, index) {
			return f
		}
	}
	return nil
}

func (l *locator) item(elem Node, c *rules.Constraints, v reflect.Value, rest string) bool {
	var i int
	if _, err := fmt.Sscanf(rest, "[%d]", &i); err != nil || i < 0 || i >= v.Len() {
		return false
	}
	rest = rest[strings.IndexByte(rest, ']')+1:]
	l.path = append(l.path, step{index: i})
	return l.walk(elem, c.Element(), v.Index(i), rest)
}

// entry tries the keys of the map one by one: a key may contain any character of the
// namespace's syntax.
func (l *locator) entry(n *MapNode, c *rules.Constraints, v reflect.Value, rest string) bool {
	for key, after := range n.keysIn(v, rest) {
		value := v.MapIndex(key)
		if !value.IsValid() {
			continue
		}
		name, ok := l.nameOf(n.Key, key)
		if !ok {
			continue
		}
		before := *l
		l.path = append(slices.Clip(l.path), step{name: name, member: true})
		l.keys, l.key, l.entered = c.KeyRules(), n.Key, key.Interface()
		if l.walk(n.Elem, c.Element(), value, after) {
			return true
		}
		*l = before
	}
	return false
}

// nameOf returns the name of an entry of the map at the current path: as the caller wrote it, or else as Go writes
// it. It returns false if the key has no text.
func (l *locator) nameOf(codec *KeyCodec, key reflect.Value) (string, bool) {
	if name, ok := l.keyNames[keyName{pointerOf(l.path), key.Interface()}]; ok {
		return name, true
	}
	name, err := codec.write(key)
	return name, err == nil
}

// keysIn yields the keys that rest may begin with, and what follows them. Texts
// without methods, which may print them otherwise, are cut out of rest; other keys are compared one by one.
func (n *MapNode) keysIn(v reflect.Value, rest string) iter.Seq2[reflect.Value, string] {
	return func(yield func(reflect.Value, string) bool) {
		if n.Key.T.Kind() != reflect.String || n.Key.T.NumMethod() > 0 {
			for it := v.MapRange(); it.Next(); {
				after, ok := strings.CutPrefix(rest, fmt.Sprintf("[%v]", it.Key()))
				if ok && !yield(it.Key(), after) {
					return
				}
			}
			return
		}
		for i := 1; i < len(rest); i++ {
			if rest[i] != ']' {
				continue
			}
			key := reflect.ValueOf(rest[1:i]).Convert(n.Key.T)
			if !yield(key, rest[i+1:]) {
				return
			}
		}
	}
}
