package binding

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// isFlatStruct reports whether t is a form by itself; anything else is one
// value, asked for as {"value": ...}.
func isFlatStruct(t reflect.Type) bool {
	t = deref(t)
	if t.Kind() != reflect.Struct || t == timeType {
		return false
	}
	p := reflect.PointerTo(t)
	return !p.Implements(textReader) && !p.Implements(jsonReader)
}

func wrapperOf(t reflect.Type) reflect.Type {
	return reflect.StructOf([]reflect.StructField{{Name: "Value", Type: t, Tag: `json:"value"`}})
}

// checkFlat allows what the mode can carry: texts in Strings, the
// specification's primitive schemas in Form (2026-07-28 client/elicitation).
func (c *compiler) checkFlat(n *structNode) {
	for _, f := range n.fields {
		c.at(f.goName, func() {
			if c.mode == Strings && !hasTextForm(f.node) {
				c.fault("", fmt.Sprintf("type %s has no text form", f.node.goType()), "Use a text, a number, a bool or a type with UnmarshalText")
			}
			if c.mode == Form && !hasFormField(f.node) {
				c.fault("", fmt.Sprintf("type %s fits no field of a form", f.node.goType()), "Use a text, a number, a bool, an enum or a list of texts or enums")
			}
			if c.mode == Form && f.secret { // 2026-07-28 client/elicitation "Form Mode Security"
				c.fault("", "a form must not ask for a secret", "Send the user to a page of yours by ElicitURL")
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
		return enum || kindOf(n.elem) == textKind
	case *bytesNode, *numberNode:
		return false
	}
	return hasTextForm(n)
}

// formKnows are the keywords of the specification's primitive schemas. What
// they cannot say goes into the description; the plan enforces it all the same.
var formKnows = map[string][]string{
	"string":  {"type", "title", "description", "default", "enum", "minLength", "maxLength", "format"},
	"integer": {"type", "title", "description", "default", "minimum", "maximum"},
	"number":  {"type", "title", "description", "default", "minimum", "maximum"},
	"boolean": {"type", "title", "description", "default"},
	"array":   {"type", "title", "description", "default", "minItems", "maxItems", "items"},
}

var formFormats = []string{"email", "uri", "date", "date-time"}

// formKeywords reduces a member's schema to the form subset.
func formKeywords(k keywords) keywords {
	typ := k.text("type")
	if typ == "integer" || typ == "number" {
		dropTypeBounds(&k)
	}
	if raw, ok := k.get("enum"); ok && typ == "integer" {
		k.note("One of " + strings.Trim(string(raw), "[]") + ".")
	}
	known := formKnows[typ]
	var out keywords
	var lost keywords
	for _, w := range k {
		switch {
		case w.name == "format" && !slices.Contains(formFormats, k.text("format")):
			lost = append(lost, w)
		case slices.Contains(known, w.name):
			out = append(out, w)
		case w.name != "enum":
			lost = append(lost, w)
		}
	}
	if len(lost) > 0 && k.text("pattern") != durationPattern {
		lost.set("type", jsontext.Quote(nil, typ))
		if words := describeValue(lost); words != describeValue(typed(typ)) {
			out.note(strings.ToUpper(words[:1]) + words[1:] + ".")
		}
	}
	return out
}

// dropTypeBounds removes bounds that are only those of int64 and the like.
func dropTypeBounds(k *keywords) {
	for _, name := range []string{"minimum", "maximum"} {
		if _, meant := bound(*k, name); !meant {
			k.drop(name)
		}
	}
}
