package binding

import (
	"fmt"
	"reflect"

	"github.com/kagami-mcp/kagami/framework/internal/binding/gotype"
	"github.com/kagami-mcp/kagami/framework/internal/binding/rules"
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
func (c *compiler) checkFlat(n *structNode) {
	for _, f := range n.fields {
		c.At(f.goName, func() {
			if c.mode == Strings && !hasTextForm(f.node) {
				c.Fault("", fmt.Sprintf("type %s has no text form", f.node.goType()), "Use a text, a number, a bool or a type with UnmarshalText")
			}
			if c.mode == Form && !hasFormField(f.node) {
				c.Fault("", fmt.Sprintf("type %s fits no field of a form", f.node.goType()), "Use a text, a number, a bool, an enum or a list of texts or enums")
			}
			if c.mode == Form && f.secret { // 2026-07-28 client/elicitation "Form Mode Security"
				c.Fault("", "a form must not ask for a secret", "Send the user to a page of yours by ElicitURL")
			}
		})
	}
}

func hasTextForm(n node) bool {
	switch n := bare(n).(type) {
	case *boolNode, *intNode, *uintNode, *floatNode, *stringNode, *timeNode, *durationNode, *numberNode, *bigNode, *bytesNode:
		return true
	case *enumNode:
		return hasTextForm(n.node)
	case *quotedNode:
		return hasTextForm(n.node)
	case *methodNode:
		if n.shown() == byShape {
			return hasTextForm(n.base)
		}
		return n.shown() == byText
	}
	return false
}

func hasFormField(n node) bool {
	switch n := bare(n).(type) {
	case *sliceNode: // the program must say which values the list may have
		_, enum := n.elem.(*enumNode)
		return enum || kindOf(n.elem) == rules.TextKind
	case *bytesNode, *numberNode:
		return false
	}
	return hasTextForm(n)
}
