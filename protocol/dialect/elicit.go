package dialect

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// elicitMode is the member that discriminates the two modes.
var elicitMode = rows[string](whole("mode", enum("form", "url")))

var elicitFormMembers = rows[protocol.ElicitParams](
	constant[protocol.ElicitParams]("mode", "form").since(protocol.Rev20251125).requiredIn(0),
	required("message", str, func(p *protocol.ElicitParams) *string { return &p.Message }),
	required("requestedSchema", formSchema, func(p *protocol.ElicitParams) *json.RawMessage { return &p.Schema }),
	optional("task", taskRequest, func(p *protocol.ElicitParams) **protocol.TaskRequest { return &p.Task }).only(coreTasks),
)

var elicitURLMembers = rows[protocol.ElicitParams](
	constant[protocol.ElicitParams]("mode", "url"),
	required("message", str, func(p *protocol.ElicitParams) *string { return &p.Message }),
	required("elicitationId", str, func(p *protocol.ElicitParams) *string { return &p.ID }).only(coreTasks),
	required("url", str, func(p *protocol.ElicitParams) *string { return &p.URL }),
	optional("task", taskRequest, func(p *protocol.ElicitParams) **protocol.TaskRequest { return &p.Task }).only(coreTasks),
)

// elicitation is the params of elicitation/create, in either mode.
var elicitation = kind[protocol.ElicitParams]{
	read: readElicit,
	write: func(d *Dialect, dst []byte, p *protocol.ElicitParams) ([]byte, error) {
		dst, err := appendElicit(d, append(dst, '{'), p)
		return append(dst, '}'), err
	},
}

func readElicitObject(d *Dialect, p *protocol.ElicitParams, o jsontext.Object) *fail {
	return readElicit(d, p, o.Raw())
}

// readElicit reads an elicitation. A missing mode means form mode. Each mode has its own members.
func readElicit(d *Dialect, p *protocol.ElicitParams, raw []byte) *fail {
	var mode string
	if elicitModes.has(d) {
		if f := elicitMode.decode(d, &mode, raw); f != nil {
			return f
		}
	}
	if mode != "url" {
		return elicitFormMembers.decode(d, p, raw)
	}
	if f := elicitURLMembers.decode(d, p, raw); f != nil {
		return f
	}
	switch {
	case p.URL == "":
		return refuse("must not be empty").in("url")
	case p.ID == "" && d.ElicitationIDs():
		return refuse("is missing or empty").in("elicitationId")
	}
	return nil
}

func appendElicit(d *Dialect, dst []byte, p *protocol.ElicitParams) ([]byte, error) {
	switch {
	case p.URL == "":
		return elicitFormMembers.appendInto(d, dst, p)
	case !d.ElicitsURL():
		return dst, errors.New("elicitation by URL does not exist")
	case p.ID == "" && d.ElicitationIDs():
		return dst, errors.New("elicitation by URL needs an id")
	}
	return elicitURLMembers.appendInto(d, dst, p)
}

// formSchema is the schema of a form.
var formSchema = kind[json.RawMessage]{
	read: rawObject.read,
	write: func(d *Dialect, dst []byte, v *json.RawMessage) ([]byte, error) {
		if jsontext.KindOf(*v) != jsontext.KindObject {
			return dst, errors.New("an elicitation needs a schema or a URL")
		}
		w := d.writer(dst)
		w.form(*v)
		return w.ended()
	},
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
		case !elicitModes.has(w.d) && key.Is("$schema"):
		case !elicitModes.has(w.d) && key.Is("properties"):
			w.key("properties")
			w.oldFields(v)
		default:
			w.keyOf(key.String())
			w.raw(v)
		}
	}
	if _, asks := jsontext.Member(schema, "properties"); !asks {
		w.key("properties")
		w.b = append(w.b, "{}"...)
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

// answers are the user's answers. Lists of choices exist from 2025-11-25 on. For older revisions they
// are an error, because they can be neither dropped nor rewritten.
var answers = kind[json.RawMessage]{
	read: rawObject.read,
	write: func(d *Dialect, dst []byte, v *json.RawMessage) ([]byte, error) {
		for key, e := range jsontext.Members(*v) {
			if !elicitModes.has(d) && jsontext.KindOf(e) == jsontext.KindArray {
				return dst, fmt.Errorf("form field %s: a list as an answer does not exist", key.String())
			}
		}
		return rawObject.write(d, dst, v)
	},
	none: rawObject.none,
}
