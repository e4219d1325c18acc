package plan

import (
	"fmt"
	"reflect"

	"github.com/kagami-mcp/kagami/framework/internal/binding/jsonedit"
	"github.com/kagami-mcp/kagami/framework/internal/binding/report"
	"github.com/kagami-mcp/kagami/framework/internal/binding/rules"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// ObjectOf writes texts as one JSON object, in the order of the type's members,
// so that faults have a stable order.
func (p *Plan) ObjectOf(values map[string]string) ([]byte, error) {
	object, known := append(make([]byte, 0, 128), '{'), 0
	for _, f := range p.fields {
		if text, ok := values[f.Name]; ok {
			known++
			object = p.appendText(object, f.Name, text)
		}
	}
	if known < len(values) {
		for _, name := range unknownNames(values, p.fields) {
			object = p.appendText(object, name, values[name])
		}
	}
	object = append(object, '}')
	if err := jsontext.Check(object, jsontext.Limits{}); err != nil {
		return nil, report.NewInvalid(report.Issue{Rule: report.RuleType, Hint: "A text is not valid UTF-8."})
	}
	return object, nil
}

// appendText writes a member, unless its text is empty and its type knows none.
func (p *Plan) appendText(object []byte, name, text string) []byte {
	n, known := p.memberNode(name)
	if known && text == "" && KindOf(n) != rules.TextKind {
		return object
	}
	if len(object) > 1 {
		object = append(object, ',')
	}
	object = append(jsontext.Quote(object, name), ':')
	return appendScalar(object, n, text)
}

func (p *Plan) memberNode(name string) (Node, bool) {
	s, ok := structOf(p.root)
	if !ok {
		return nil, false
	}
	i, ok := s.ByName[name]
	if !ok {
		return nil, false
	}
	return s.Fields[i].Node, true
}

// appendScalar writes a text as the JSON scalar that the type reads, or as a
// string, which then is refused with the usual words.
func appendScalar(dst []byte, n Node, text string) []byte {
	if !wantsToken(n) {
		return jsontext.Quote(dst, text)
	}
	raw := []byte(text)
	if jsontext.Check(raw, jsontext.DefaultLimits()) == nil {
		switch jsontext.KindOf(raw) {
		case jsontext.KindNumber, jsontext.KindBool:
			return jsontext.Compact(dst, raw)
		}
	}
	return jsontext.Quote(dst, text)
}

// wantsToken reports whether the type's JSON is a number or a bool.
func wantsToken(n Node) bool {
	switch n := n.(type) {
	case *ptrNode:
		return wantsToken(n.elem)
	case *enumNode:
		return wantsToken(n.Node)
	case *MethodNode:
		return n.shown() == byShape && wantsToken(n.Base)
	case *boolNode, *intNode, *uintNode, *floatNode, *numberNode, *bigNode:
		return true
	}
	return false
}

// Strings is the reverse of DecodeStrings: the text form of every member that
// is written. Nil pointers and empty omitempty members are left out.
func (p *Plan) Strings(v reflect.Value) (map[string]string, error) {
	object, err := p.Append(nil, v)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for key, value := range jsontext.Members(object) {
		switch jsontext.KindOf(value) {
		case jsontext.KindNull:
		case jsontext.KindObject, jsontext.KindArray:
			return nil, fmt.Errorf("encoding %s: /%s has no text form", p.t, key.String())
		default:
			out[key.String()] = jsonedit.TextOf(value)
		}
	}
	return out, nil
}
