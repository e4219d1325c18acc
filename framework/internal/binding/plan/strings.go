package plan

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/kagami-mcp/kagami/framework/internal/binding/jsonedit"
	"github.com/kagami-mcp/kagami/framework/internal/binding/report"
	"github.com/kagami-mcp/kagami/framework/internal/binding/rules"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// ObjectOf writes texts as one JSON object, in the order of the type's members,
// so that faults have a stable order.
func (p *Plan) ObjectOf(values map[string]string) ([]byte, error) {
	root, _ := structOf(p.root) // checkRoot takes nothing else
	object, known := append(make([]byte, 0, 128), '{'), 0
	for _, f := range root.Fields {
		text, given := values[f.Name]
		if !given {
			continue
		}
		known++
		if text != "" || KindOf(f.Node) == rules.TextKind {
			object = appendText(object, f.Name, f.Node, text)
		}
	}
	if known < len(values) {
		for _, name := range slices.Sorted(maps.Keys(values)) {
			if _, known := root.ByName[name]; !known {
				object = appendText(object, name, nil, values[name])
			}
		}
	}
	object = append(object, '}')
	if err := jsontext.Check(object, jsontext.Limits{}); err != nil {
		return nil, report.NewInvalid(report.Issue{Rule: report.RuleType, Hint: "A text is not valid UTF-8."})
	}
	return object, nil
}

// appendText writes a member as the JSON scalar that its type reads, or as a
// string, which then is refused with the usual words. n is nil for a member that does not exist.
func appendText(object []byte, name string, n Node, text string) []byte {
	if len(object) > 1 {
		object = append(object, ',')
	}
	object = append(jsontext.Quote(object, name), ':')
	if raw := []byte(text); wantsToken(n) && jsontext.Check(raw, jsontext.DefaultLimits()) == nil {
		switch jsontext.KindOf(raw) {
		case jsontext.KindNumber, jsontext.KindBool:
			return jsontext.Compact(object, raw)
		}
	}
	return jsontext.Quote(object, text)
}

// wantsToken reports whether the type's JSON is a number or a bool.
func wantsToken(n Node) bool {
	switch n := seenThrough(n).(type) {
	case *enumNode:
		return wantsToken(n.Node)
	case *boolNode, *wholeNode, *floatNode, *numberNode, *bigNode:
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
