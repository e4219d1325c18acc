package framework

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/kagami-mcp/kagami/framework/internal/binding"
	"github.com/kagami-mcp/kagami/framework/internal/binding/jsonedit"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// prefilled returns the schema of a form with the members of v as defaults.
func prefilled(plan *binding.Plan, schema []byte, v reflect.Value) ([]byte, error) {
	addressable := reflect.New(v.Type()).Elem()
	addressable.Set(v)
	values, err := plan.Append(nil, addressable)
	if err != nil {
		return nil, fmt.Errorf("encoding Prefill: %w", err)
	}
	return editProperties(schema, func(name string, property []byte) []byte {
		value, ok := jsontext.Member(values, name)
		if !ok || jsontext.KindOf(value) == jsontext.KindNull {
			return property
		}
		return withMember(property, "default", value)
	}), nil
}

// chosen returns the schema of a form with the choices of the option Choices. If no choice has a
// title, they are an enum; otherwise they are oneOf, or anyOf in a list, of constants (2025-11-25
// client/elicitation "Enum Schemas"). The dialect rewrites this for 2025-06-18.
func chosen(schema []byte, choices map[string][]Choice) ([]byte, error) {
	var fields []string
	var misfit error
	out := editProperties(schema, func(name string, property []byte) []byte {
		fields = append(fields, name)
		list, ok := choices[name]
		if !ok {
			return property
		}
		misfit = cmp.Or(misfit, unfitError(name, property, list))
		titled, members := choiceMembers(list)
		items, isList := jsontext.Member(property, "items")
		switch {
		case isList && titled:
			return withMember(property, "items", withMember(jsonedit.WithoutMember(jsonedit.WithoutMember(items, "enum"), "type"), "anyOf", members))
		case isList:
			return withMember(property, "items", withMember(items, "enum", members))
		case titled:
			return withMember(jsonedit.WithoutMember(property, "enum"), "oneOf", members)
		}
		return withMember(property, "enum", members)
	})
	if misfit != nil {
		return nil, misfit
	}
	for field := range choices {
		if !slices.Contains(fields, field) {
			return nil, fmt.Errorf("Choices names the field %q, which the question does not have: it has %q", field, fields)
		}
	}
	return out, nil
}

// unfitError returns an error if a field cannot have these choices.
func unfitError(field string, property []byte, choices []Choice) error {
	if items, list := jsontext.Member(property, "items"); list {
		property = items
	}
	raw, _ := jsontext.Member(property, "type")
	if kind, _ := jsontext.String(raw); kind != "string" {
		return fmt.Errorf("Choices is for texts, and the field %q is of type %s", field, kind)
	}
	if len(choices) == 0 {
		return fmt.Errorf("Choices: the list for %q is empty", field)
	}
	enum, limited := jsontext.Member(property, "enum")
	own := textsOf(enum)
	seen := make(map[string]bool)
	for _, c := range choices {
		switch {
		case seen[c.Value]:
			return fmt.Errorf("Choices offers %q twice for %q", c.Value, field)
		case limited && !slices.Contains(own, c.Value):
			return fmt.Errorf("Choices offers %q for %q, which may only be one of %q", c.Value, field, own)
		}
		seen[c.Value] = true
	}
	return nil
}

// flat returns an error unless a schema of Form is an object whose fields have types that a form
// allows. A list must enumerate its values.
func flat(schema []byte) error {
	if !isObjectSchema(schema) {
		return errors.New("it is not of type object")
	}
	properties, _ := jsontext.Member(schema, "properties")
	for key, property := range jsontext.Members(properties) {
		raw, _ := jsontext.Member(property, "type")
		switch kind, _ := jsontext.String(raw); {
		case kind == "array" && ofChoices(property):
		case slices.Contains([]string{"string", "number", "integer", "boolean"}, kind):
		default:
			return fmt.Errorf("the field %q has a type that a form cannot have", key.String())
		}
	}
	return nil
}

// openList returns the first list in a form without an enumeration of its values. Forms can ask
// only for lists of given choices (2025-11-25 client/elicitation "Enum Schemas").
func openList(schema []byte) (name string, found bool) {
	properties, _ := jsontext.Member(schema, "properties")
	for key, property := range jsontext.Members(properties) {
		if _, list := jsontext.Member(property, "items"); list && !ofChoices(property) {
			return key.String(), true
		}
	}
	return "", false
}

// ofChoices reports whether a list has an enumeration of its values.
func ofChoices(list []byte) bool {
	items, _ := jsontext.Member(list, "items")
	_, plain := jsontext.Member(items, "enum")
	_, titled := jsontext.Member(items, "anyOf")
	return plain || titled
}

func choiceMembers(choices []Choice) (titled bool, members []byte) {
	for _, c := range choices {
		titled = titled || c.Title != ""
	}
	var items [][]byte
	for _, c := range choices {
		item := jsontext.Quote(nil, c.Value)
		if titled {
			item = jsonedit.AppendMember([]byte{'{'}, "const", item)
			item = append(jsonedit.AppendMember(item, "title", jsontext.Quote(nil, cmp.Or(c.Title, c.Value))), '}')
		}
		items = append(items, item)
	}
	return titled, jsonedit.List(items)
}

// editProperties returns the schema with each property replaced by the result of edit, in the same
// order.
func editProperties(schema []byte, edit func(name string, property []byte) []byte) []byte {
	properties, ok := jsontext.Member(schema, "properties")
	if !ok {
		return schema
	}
	edited := []byte{'{'}
	for key, property := range jsontext.Members(properties) {
		edited = jsonedit.AppendMember(edited, key.String(), edit(key.String(), property))
	}
	return withMember(schema, "properties", append(edited, '}'))
}

// withMember returns the object with the member set to value. The member keeps its position, or is
// added at the end.
func withMember(object []byte, name string, value []byte) []byte {
	if _, has := jsontext.Member(object, name); has {
		return jsonedit.Replaced(object, name, value)
	}
	return jsonedit.WithMember(object, name, value)
}
