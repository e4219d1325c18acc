package client

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// Form is the form of a question, read from its schema. It is for programs that show the form to a
// user. A form is a flat object of strings, numbers, booleans and choices (2026-07-28
// client/elicitation, "Requested Schema"). It is read-only, and therefore safe for concurrent use.
type Form struct {
	Fields []Field // in the order of the schema

	closed bool // the schema forbids other fields
}

// Field is one field of a form.
type Field struct {
	Name        string
	Title       string
	Description string
	Type        string // as in the schema: "string", "number", "integer", "boolean" or "array" (of choices)
	Format      string // format of a string: "email", "uri", "date", "date-time" or empty
	Required    bool
	Default     json.RawMessage // nil if there is no valid default
	Choices     []Choice        // nil if the field is not a choice
	MinLength   *int64          // of a string, in characters; nil if not limited
	MaxLength   *int64
	Minimum     json.RawMessage // of a number, as written; nil if not limited
	Maximum     json.RawMessage
	MinItems    *int64 // of an array; nil if not limited
	MaxItems    *int64
}

// Choice is one allowed value of a field, or of an element of an array.
type Choice struct {
	Value json.RawMessage
	Title string // text of the value if the schema has no title
}

// ParseForm reads the schema of a form question. If schema or its properties are not a JSON object,
// ParseForm returns an error. It ignores keywords that the specification does not allow, and
// members of the wrong type, because the server checks the answer anyway. The form does not keep a
// reference to schema.
func ParseForm(schema []byte) (*Form, error) {
	if jsontext.Check(schema, limits(len(schema))) != nil || jsontext.KindOf(schema) != jsontext.KindObject {
		return nil, errors.New("client: the schema of a form must be an object")
	}
	schema = slices.Clone(schema)
	properties, ok := jsontext.Member(schema, "properties")
	if ok && jsontext.KindOf(properties) != jsontext.KindObject {
		return nil, errors.New("client: the properties of a form must be an object")
	}
	f := &Form{}
	more, _ := jsontext.Member(schema, "additionalProperties")
	f.closed = string(more) == "false"
	required, _ := jsontext.Member(schema, "required")
	mandatory := map[string]bool{}
	for _, name := range textsOf(required) {
		mandatory[name] = true
	}
	for name, v := range jsontext.Members(properties) {
		field := readField(name.String(), v)
		field.Required = mandatory[field.Name]
		f.Fields = append(f.Fields, field)
	}
	return f, nil
}

func readField(name string, v []byte) Field {
	f := Field{
		Name: name, Title: textAt(v, "title"), Description: textAt(v, "description"),
		Type: textAt(v, "type"), Format: textAt(v, "format"),
		MinLength: countAt(v, "minLength"), MaxLength: countAt(v, "maxLength"),
		MinItems: countAt(v, "minItems"), MaxItems: countAt(v, "maxItems"),
		Minimum: numberAt(v, "minimum"), Maximum: numberAt(v, "maximum"),
	}
	choices := v
	if f.Type == "array" {
		choices, _ = jsontext.Member(v, "items")
	}
	f.Choices = readChoices(choices)
	if d, ok := jsontext.Member(v, "default"); ok && jsontext.KindOf(d) != jsontext.KindNull && f.Check(d) == nil {
		f.Default = d
	}
	return f
}

// readChoices reads the three ways to list choices. Titled choices are in oneOf (in an array:
// anyOf), untitled choices in enum, and the older form is enum with enumNames.
func readChoices(v []byte) []Choice {
	for _, keyword := range []string{"oneOf", "anyOf"} {
		titled, _ := jsontext.Member(v, keyword)
		if choices := titledChoices(titled); choices != nil {
			return choices
		}
	}
	values, ok := jsontext.Member(v, "enum")
	if !ok || jsontext.KindOf(values) != jsontext.KindArray {
		return nil
	}
	named, _ := jsontext.Member(v, "enumNames")
	names := textsOf(named)
	choices := []Choice{}
	for value := range jsontext.Elements(values) {
		c := Choice{Value: value, Title: plain(value)}
		if i := len(choices); i < len(names) {
			c.Title = names[i]
		}
		choices = append(choices, c)
	}
	return choices
}

// titledChoices returns the choices, or nil if an alternative is not a constant.
func titledChoices(list []byte) []Choice {
	var choices []Choice
	for one := range jsontext.Elements(list) {
		value, ok := jsontext.Member(one, "const")
		if !ok {
			return nil
		}
		choices = append(choices, Choice{Value: value, Title: cmp.Or(textAt(one, "title"), plain(value))})
	}
	return choices
}

// plain returns a JSON value as text for a user.
func plain(value []byte) string {
	if s, ok := jsontext.String(value); ok {
		return s
	}
	return string(value)
}

// textAt returns the string in a member of object, or "" if the member is not a string.
func textAt(object []byte, name string) string {
	raw, _ := jsontext.Member(object, name)
	s, _ := jsontext.String(raw)
	return s
}

func countAt(object []byte, name string) *int64 {
	raw, _ := jsontext.Member(object, name)
	n, ok := jsontext.Int64(raw)
	if !ok {
		return nil
	}
	return &n
}

func numberAt(object []byte, name string) json.RawMessage {
	raw, _ := jsontext.Member(object, name)
	if jsontext.KindOf(raw) != jsontext.KindNumber {
		return nil
	}
	return raw
}

func textsOf(array []byte) []string {
	var texts []string
	for raw := range jsontext.Elements(array) {
		s, _ := jsontext.String(raw)
		texts = append(texts, s)
	}
	return texts
}

// Fill returns content, completed with the defaults of all fields that are absent or null. A null
// without a default is removed, because a field of a form must not be null. content must be an
// object; it is not changed.
func (f *Form) Fill(content json.RawMessage) json.RawMessage {
	out := []byte{'{'}
	given := map[string]bool{}
	for key, value := range jsontext.Members(content) {
		if jsontext.KindOf(value) != jsontext.KindNull {
			given[key.String()] = true
			out = appendMember(out, key.String(), value)
		}
	}
	for i := range f.Fields {
		if field := &f.Fields[i]; field.Default != nil && !given[field.Name] {
			given[field.Name] = true
			out = appendMember(out, field.Name, field.Default)
		}
	}
	return append(out, '}')
}

// Check returns everything that is wrong with the content of an accepted form, or nil. A required
// field must be present. A value must have the right type, be within the choices and bounds, and
// match its format. If the schema forbids unknown fields, they are also wrong.
func (f *Form) Check(content json.RawMessage) error {
	if jsontext.Check(content, limits(len(content))) != nil || jsontext.KindOf(content) != jsontext.KindObject {
		return errors.New("it must be an object")
	}
	given := map[string][]byte{}
	for key, value := range jsontext.Members(content) {
		if name := key.String(); given[name] == nil {
			given[name] = value
		}
	}
	var faults []string
	for i := range f.Fields {
		field := &f.Fields[i]
		value, ok := given[field.Name]
		if !ok {
			if field.Required {
				faults = append(faults, field.Name+": is required")
			}
			continue
		}
		if err := field.Check(value); err != nil {
			faults = append(faults, field.Name+": "+err.Error())
		}
	}
	if f.closed {
		faults = append(faults, f.unknown(content)...)
	}
	if faults == nil {
		return nil
	}
	return errors.New(strings.Join(faults, "; "))
}

// unknown returns a fault for each member that is not a field of the form.
func (f *Form) unknown(content []byte) (faults []string) {
	known := map[string]bool{}
	for i := range f.Fields {
		known[f.Fields[i].Name] = true
	}
	for key := range jsontext.Members(content) {
		if name := key.String(); !known[name] {
			faults = append(faults, name+": there is no such field")
		}
	}
	return faults
}
