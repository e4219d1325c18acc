package dialect

import (
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// elicit writes the params of elicitation/create except _meta and task.
func (w *writer) elicit(p *protocol.ElicitParams) {
	if p.URL != "" {
		w.elicitURL(p)
		return
	}
	if w.d.elicitModes {
		w.str("mode", "form")
	}
	w.str("message", p.Message)
	if jsontext.KindOf(p.Schema) != jsontext.KindObject {
		w.fail("an elicitation needs a schema or a URL")
		return
	}
	w.key("requestedSchema")
	w.form(p.Schema)
}

func (w *writer) elicitURL(p *protocol.ElicitParams) {
	if !w.d.elicitsURL {
		w.fail("elicitation by URL does not exist")
		return
	}
	w.str("mode", "url")
	w.str("message", p.Message)
	if w.d.elicitationIDs {
		if p.ID == "" {
			w.fail("elicitation by URL needs an id")
		}
		w.str("elicitationId", p.ID)
	}
	w.str("url", p.URL)
}

// form writes a form schema. type and properties are required, even for a question without fields,
// which the user only accepts or declines (client/elicitation "Requested Schema").
func (w *writer) form(schema []byte) {
	w.open('{')
	if _, typed := jsontext.Member(schema, "type"); !typed {
		w.str("type", "object")
	}
	for key, v := range jsontext.Members(schema) {
		switch {
		case !w.d.elicitModes && key.Is("$schema"):
		case !w.d.elicitModes && key.Is("properties"):
			w.key("properties")
			w.oldFields(v)
		default:
			w.keyOf(key.String())
			w.raw(v)
		}
	}
	if _, asks := jsontext.Member(schema, "properties"); !asks {
		w.empty("properties")
	}
	w.shut('}')
}

// oldFields writes the fields of a form for 2025-06-18 client/elicitation. That revision has only
// flat objects of strings, numbers, booleans and enums with enumNames.
func (w *writer) oldFields(fields []byte) {
	w.open('{')
	for name, field := range jsontext.Members(fields) {
		w.keyOf(name.String())
		w.oldField(name.String(), field)
	}
	w.shut('}')
}

func (w *writer) oldField(name string, v []byte) {
	t, _ := jsontext.Member(v, "type")
	kind, _ := jsontext.String(t)
	if kind == "array" || kind == "object" {
		w.fail("form field %s: a field of type %s does not exist", name, kind)
		return
	}
	w.open('{')
	for key, e := range jsontext.Members(v) {
		switch {
		case key.Is("oneOf"):
			w.oldChoice(name, e)
		case key.Is("default") && kind != "boolean":
			// only booleans had defaults
		default:
			w.keyOf(key.String())
			w.raw(e)
		}
	}
	w.shut('}')
}

// oldChoice writes titled choices as enum and enumNames.
func (w *writer) oldChoice(name string, choices []byte) {
	var values, titles []string
	for c := range jsontext.Elements(choices) {
		constant, _ := jsontext.Member(c, "const")
		value, ok := jsontext.String(constant)
		if !ok {
			w.fail("form field %s: oneOf must list strings", name)
			return
		}
		t, _ := jsontext.Member(c, "title")
		title, ok := jsontext.String(t)
		if !ok {
			title = value
		}
		values, titles = append(values, value), append(titles, title)
	}
	w.texts("enum", values)
	w.texts("enumNames", titles)
}

// elicitContent writes the user's answers. Lists of choices exist from 2025-11-25 on. For older
// revisions they are an error, because they can be neither dropped nor rewritten.
func (w *writer) elicitContent(v []byte) {
	if len(v) == 0 {
		return
	}
	if !w.d.elicitModes {
		for key, e := range jsontext.Members(v) {
			if jsontext.KindOf(e) == jsontext.KindArray {
				w.fail("form field %s: a list as an answer does not exist", key.String())
			}
		}
	}
	w.objectMember("content", v)
}
