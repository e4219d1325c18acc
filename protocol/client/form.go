package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// Form is the form of a question, read from its schema, for programs that show it to a
// user: a flat object of strings, numbers, booleans and choices (2026-07-28
// client/elicitation, "Requested Schema"). It is read-only, and so safe for concurrent use.
type Form struct {
	Fields []Field // in the order of the schema

	closed bool // fields besides these are forbidden
}

// Field is one field of a form.
type Field struct {
	Name        string
	Title       string
	Description string
	Type        string // "string", "number", "integer", "boolean", "array" (of choices); as the schema says it
	Format      string // of a string: "email", "uri", "date", "date-time" or empty
	Required    bool
	Default     json.RawMessage // nil: none, or none that fits
	Choices     []Choice        // nil: not a choice
	MinLength   *int64          // of a string, in characters
	MaxLength   *int64
	Minimum     json.RawMessage // of a number, as written; nil: none
	Maximum     json.RawMessage
	MinItems    *int64 // of an array
	MaxItems    *int64
}

// Choice is one value that a field, or an element of an array, may have.
type Choice struct {
	Value json.RawMessage
	Title string // the value's text where the schema has no title
}

// ParseForm reads the schema of a form question. What the specification does not allow
// there is ignored, as are members of the wrong type: the server will check the answer
// anyway. The form keeps no part of schema.
func ParseForm(schema []byte) (*Form, error) {
	if jsontext.Check(schema, limits()) != nil || jsontext.KindOf(schema) != jsontext.KindObject {
		return nil, errors.New("client: the schema of a form must be an object")
	}
	schema = slices.Clone(schema)
	properties, ok := jsontext.Member(schema, "properties")
	if ok && jsontext.KindOf(properties) != jsontext.KindObject {
		return nil, errors.New("client: the properties of a form must be an object")
	}
	f := &Form{}
	if more, ok := jsontext.Member(schema, "additionalProperties"); ok {
		f.closed = string(more) == "false"
	}
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

// readChoices understands the three ways to list choices: titled ones as oneOf (of an array:
// anyOf), untitled ones as enum, and the older enum with enumNames.
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

// titledChoices is nil if one of the alternatives is not a constant.
func titledChoices(list []byte) []Choice {
	if jsontext.KindOf(list) != jsontext.KindArray {
		return nil
	}
	var choices []Choice
	for one := range jsontext.Elements(list) {
		value, ok := jsontext.Member(one, "const")
		if !ok {
			return nil
		}
		c := Choice{Value: value, Title: textAt(one, "title")}
		if c.Title == "" {
			c.Title = plain(value)
		}
		choices = append(choices, c)
	}
	return choices
}

// plain is a value in a form for people.
func plain(value []byte) string {
	if s, ok := jsontext.String(value); ok {
		return s
	}
	return string(value)
}

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
	if jsontext.KindOf(array) != jsontext.KindArray {
		return nil
	}
	var texts []string
	for raw := range jsontext.Elements(array) {
		s, _ := jsontext.String(raw)
		texts = append(texts, s)
	}
	return texts
}

// Fill returns content with the defaults of all fields that are absent or null in it; a
// null without a default is left out, since no field of a form may be null. content is an
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

// Check says everything that is wrong with the content of an accepted form: fields that are
// missing, of the wrong type, none of the choices, out of bounds or not of their format;
// and unknown ones, if the schema forbids them. nil means that it fits.
func (f *Form) Check(content json.RawMessage) error {
	if jsontext.Check(content, limits()) != nil || jsontext.KindOf(content) != jsontext.KindObject {
		return errors.New("it must be an object")
	}
	given := map[string][]byte{}
	for key, value := range jsontext.Members(content) {
		if name := key.String(); given[name] == nil {
			given[name] = value
		}
	}
	var faults faultList
	for i := range f.Fields {
		field := &f.Fields[i]
		value, ok := given[field.Name]
		if !ok {
			if field.Required {
				faults = append(faults, fmt.Errorf("%s: is required", field.Name))
			}
			continue
		}
		if err := field.Check(value); err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", field.Name, err))
		}
	}
	if f.closed {
		faults = append(faults, f.unknown(content)...)
	}
	if faults == nil {
		return nil
	}
	return faults
}

// unknown reports the members that are not fields of the form.
func (f *Form) unknown(content []byte) (faults []error) {
	known := map[string]bool{}
	for i := range f.Fields {
		known[f.Fields[i].Name] = true
	}
	for key := range jsontext.Members(content) {
		if name := key.String(); !known[name] {
			faults = append(faults, fmt.Errorf("%s: there is no such field", name))
		}
	}
	return faults
}

// faultList is like errors.Join, but on one line.
type faultList []error

func (l faultList) Error() string {
	texts := make([]string, len(l))
	for i, err := range l {
		texts[i] = err.Error()
	}
	return strings.Join(texts, "; ")
}

func (l faultList) Unwrap() []error { return l }
