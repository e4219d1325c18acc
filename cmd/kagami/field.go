package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/kagami-mcp/kagami/protocol/client"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// describeField prints what a field wants, with numbered choices.
func describeField(w io.Writer, f *client.Field) {
	text := fmt.Sprintf("%s (%s)", onOneLine(cmp.Or(f.Title, f.Name)), strings.Join(traits(f), ", "))
	if f.Description != "" {
		text += ": " + f.Description
	}
	printIndented(w, "  ", "\n"+text)
	describeChoices(w, f)
}

// plain reports whether a field has only a generic name. The message is then the question for the
// field.
func plain(f *client.Field) bool {
	return f.Name == "value" && (f.Title == "" || strings.EqualFold(f.Title, "value")) && f.Description == ""
}

func describeChoices(w io.Writer, f *client.Field) {
	for i, c := range f.Choices {
		label := c.Title
		if value := shown(c.Value); value != label {
			label += " (" + value + ")"
		}
		printIndented(w, "    ", fmt.Sprintf("%d) %s", i+1, onOneLine(label)))
	}
}

// onOneLine returns text on one line, so that a server cannot print lines that look like the
// command's own.
func onOneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// traits returns words that describe the allowed values.
func traits(f *client.Field) []string {
	kind := map[string]string{
		"string": "text", "integer": "whole number", "number": "number", "boolean": "y or n",
		"array": "numbers or names, by comma; - for none",
	}[f.Type]
	switch {
	case f.Type != "array" && len(f.Choices) > 0:
		kind = "number or name"
	case f.Format != "":
		kind = onOneLine(f.Format)
	case kind == "":
		kind = "JSON or text"
	}
	all := []string{kind}
	if f.Minimum != nil {
		all = append(all, "at least "+string(f.Minimum))
	}
	if f.Maximum != nil {
		all = append(all, "at most "+string(f.Maximum))
	}
	if !f.Required {
		all = append(all, "optional")
	}
	return all
}

// shown returns a JSON value as a user types it.
func shown(raw json.RawMessage) string {
	v, _ := parseValue(raw) // raw is part of a schema, so it is JSON
	if text, ok := v.inline(); ok {
		return text
	}
	return string(raw)
}

// fieldValue converts a typed text to the type of the field. nil means that the field is left out.
func fieldValue(f *client.Field, text string) (json.RawMessage, error) {
	if text == "" {
		switch {
		case f.Default != nil:
			return f.Default, nil
		case !f.Required:
			return nil, nil
		case f.Type == "string" && f.Choices == nil:
			return nil, errors.New(`an answer is required (for an empty text, type "")`)
		}
		return nil, errors.New("an answer is required")
	}
	value, err := typed(f, text)
	if err != nil {
		return nil, err
	}
	return value, f.Check(value)
}

func typed(f *client.Field, text string) (json.RawMessage, error) {
	switch {
	case f.Type == "array":
		return several(f, text)
	case len(f.Choices) > 0:
		return choice(f, text)
	}
	switch f.Type {
	case "boolean":
		is, ok := yesOrNo(text)
		if !ok {
			return nil, errors.New("must be y or n")
		}
		return json.RawMessage(strconv.FormatBool(is)), nil
	case "integer", "number":
		if kind := jsonKind(text); kind != "integer" && kind != "number" {
			return nil, errors.New("must be a number")
		}
		return json.RawMessage(text), nil
	case "string":
		if text == `""` {
			text = ""
		}
		return jsontext.Quote(nil, text), nil
	}
	if jsonKind(text) != "" {
		return json.RawMessage(text), nil
	}
	return jsontext.Quote(nil, text), nil
}

// choice returns the choice with this value, title or number, in this order.
func choice(f *client.Field, text string) (json.RawMessage, error) {
	for _, c := range f.Choices {
		if shown(c.Value) == text {
			return c.Value, nil
		}
	}
	for _, c := range f.Choices {
		if strings.EqualFold(c.Title, text) {
			return c.Value, nil
		}
	}
	if n, err := strconv.Atoi(text); err == nil && n >= 1 && n <= len(f.Choices) {
		return f.Choices[n-1].Value, nil
	}
	return nil, fmt.Errorf("must be a number from 1 to %d, or a name", len(f.Choices))
}

func several(f *client.Field, text string) (json.RawMessage, error) {
	if text == "-" {
		return json.RawMessage("[]"), nil
	}
	values := []json.RawMessage{}
	for part := range strings.SplitSeq(text, ",") {
		value, err := jsontext.Quote(nil, strings.TrimSpace(part)), error(nil)
		if len(f.Choices) > 0 {
			value, err = choice(f, strings.TrimSpace(part))
		}
		if err != nil {
			return nil, err
		}
		values = append(values, value)
	}
	return json.Marshal(values)
}
