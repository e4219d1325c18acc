package plan

import (
	"fmt"
	"reflect"

	"github.com/kagami-mcp/kagami/framework/internal/binding/gotype"
	"github.com/kagami-mcp/kagami/framework/internal/binding/rules"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// isFlatStruct reports whether t is a form by itself; anything else is one
// value, asked for as {"value": ...}.
func isFlatStruct(t reflect.Type) bool {
	t = gotype.Deref(t)
	if t.Kind() != reflect.Struct || t == gotype.TimeType {
		return false
	}
	p := reflect.PointerTo(t)
	return !p.Implements(gotype.TextReader) && !p.Implements(gotype.JSONReader)
}

func wrapperOf(t reflect.Type) reflect.Type {
	return reflect.StructOf([]reflect.StructField{{Name: "Value", Type: t, Tag: `json:"value"`}})
}

// checkFlat allows what the mode can carry: texts in Strings, the
// specification's primitive schemas in Form (2026-07-28 client/elicitation).
func (c *compiler) checkFlat(n *StructNode) {
	for _, f := range n.Fields {
		c.At(f.goName, func() {
			if c.mode == Strings && !hasTextForm(f.Node) {
				c.Fault("", fmt.Sprintf("type %s has no text form", f.Node.GoType()), "Use a text, a number, a bool or a type with UnmarshalText")
			}
			if c.mode == Form && !hasFormField(f.Node) {
				c.Fault("", fmt.Sprintf("type %s fits no field of a form", f.Node.GoType()), "Use a text, a number, a bool, an enum or a list of texts or enums")
			}
			if c.mode == Form && f.Secret { // 2026-07-28 client/elicitation "Form Mode Security"
				c.Fault("", "a form must not ask for a secret", "Send the user to a page of yours by ElicitURL")
			}
		})
	}
}

func hasTextForm(n Node) bool {
	switch n := seenThrough(n).(type) {
	case *boolNode, *wholeNode, *floatNode, *StringNode, *timeNode, *durationNode, *numberNode, *bigNode, *bytesNode, *quotedNode:
		return true
	case *enumNode:
		return hasTextForm(n.Node)
	case *MethodNode:
		return n.shown() == byText
	}
	return false
}

func hasFormField(n Node) bool {
	switch n := Bare(n).(type) {
	case *ListNode: // the program must say which values the list may have
		if n.fixed() {
			return false
		}
		e, enum := n.Elem.(*enumNode)
		return enum && jsontext.KindOf(e.texts[0]) == jsontext.KindString || KindOf(n.Elem) == rules.TextKind
	case *bytesNode, *numberNode:
		return false
	}
	return hasTextForm(n)
}
