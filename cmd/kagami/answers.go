package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/kagami-mcp/kagami/protocol/client"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// answers are the answers from a file, or from the JSON of --answers.
type answers struct {
	file    string
	entries []entry
}

// entry is one answer. It answers questions whose text contains match.
type entry struct {
	match  string
	answer json.RawMessage
	once   bool
	used   bool
}

// readAnswers reads the answers. given is the name of a file, or the JSON itself.
func readAnswers(given string) (*answers, error) {
	path, raw := given, []byte(given)
	var err error
	if strings.HasPrefix(given, "[") || strings.HasPrefix(given, "{") {
		path = "--answers"
	} else if raw, err = os.ReadFile(path); err != nil {
		return nil, err
	}
	a := &answers{file: path}
	switch raw = bytes.TrimSpace(jsontext.TrimBOM(raw)); {
	case !json.Valid(raw):
		err = errors.New("not valid JSON")
	case raw[0] == '[':
		err = a.readList(raw)
	case raw[0] == '{':
		err = a.readObject(raw)
	default:
		err = errors.New("want a list or an object of answers")
	}
	if err != nil && path == given {
		err = fmt.Errorf("%s: %w", path, err)
	}
	if err != nil {
		return nil, err
	}
	return a, nil
}

func (a *answers) readList(raw []byte) error {
	var list []json.RawMessage
	_ = json.Unmarshal(raw, &list) // raw is valid JSON
	for i, item := range list {
		e := entry{answer: item, once: true}
		var matched struct {
			Match  *string         `json:"match"`
			Answer json.RawMessage `json:"answer"`
		}
		d := json.NewDecoder(bytes.NewReader(item))
		d.DisallowUnknownFields() // otherwise the answer to a form with a field "match" would look like an entry
		if d.Decode(&matched) == nil && matched.Match != nil && matched.Answer != nil {
			e.match, e.answer = *matched.Match, matched.Answer
		}
		if err := checkAnswer(e.answer); err != nil {
			return fmt.Errorf("answer %d: %w", i+1, err)
		}
		a.entries = append(a.entries, e)
	}
	return nil
}

// readObject reads an object with one answer for each text. Longer texts come first, because they
// are more specific.
func (a *answers) readObject(raw []byte) error {
	v, _ := parseValue(raw) // raw is valid JSON
	for i, name := range v.names {
		if err := checkAnswer(v.items[i].raw); err != nil {
			return fmt.Errorf("answer to %q: %w", name, err)
		}
		a.entries = append(a.entries, entry{match: name, answer: v.items[i].raw})
	}
	slices.SortStableFunc(a.entries, func(x, y entry) int { return len(y.match) - len(x.match) })
	return nil
}

func checkAnswer(raw json.RawMessage) error {
	if string(raw) != "null" {
		return nil
	}
	return errors.New("want an object, or the value of the only field, got null")
}

// take returns the answer to a question, and uses it up if it is for one use. The asker calls take
// for one question at a time.
func (a *answers) take(question string) (json.RawMessage, bool) {
	for i := range a.entries {
		e := &a.entries[i]
		if e.used || !strings.Contains(question, e.match) {
			continue
		}
		e.used = e.once
		return e.answer, true
	}
	return nil, false
}

// missing returns the error for a question without an answer. The error shows what to add to the
// file.
func (a *answers) missing(question, example string) error {
	return fmt.Errorf("%s has no answer left for this question of the server: %q\nAdd this to a list of answers: {\"match\": %s, \"answer\": %s}",
		a.file, question, jsontext.Quote(nil, question), example)
}

func (a *answers) elicit(_ context.Context, q *client.ElicitRequest) (*client.ElicitAnswer, error) {
	form := &client.Form{}
	if q.URL == "" {
		var err error
		if form, err = client.ParseForm(q.Schema); err != nil {
			return nil, err
		}
	}
	raw, ok := a.take(q.Message)
	if !ok && q.URL != "" {
		return nil, a.missing(q.Message, `"accept"`)
	} else if !ok {
		return nil, a.missing(q.Message, example(form))
	}
	answer := &client.ElicitAnswer{Action: actionOf(raw, len(form.Fields))}
	switch {
	case answer.Action != "":
		raw = json.RawMessage("{}")
	case raw[0] == '{':
		answer.Action = "accept"
	case len(form.Fields) == 1:
		answer.Action, raw = "accept", fmt.Appendf(nil, "{%s:%s}", jsontext.Quote(nil, form.Fields[0].Name), raw)
	default:
		return nil, fmt.Errorf(`%s: the answer to %q must be an object, "accept", "decline" or "cancel", not %s`, a.file, q.Message, raw)
	}
	if answer.Action != "accept" || q.URL != "" {
		return answer, nil
	}
	if err := form.Check(form.Fill(raw)); err != nil {
		return nil, fmt.Errorf("%s: the answer to %q does not fit the form: %w", a.file, q.Message, err)
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	return answer, d.Decode(&answer.Content)
}

// actionOf returns the action that an answer names, or "". If the question has no fields, true
// means accept and false means decline.
func actionOf(raw json.RawMessage, fields int) string {
	switch text := string(raw); {
	case text == `"accept"` || text == `"decline"` || text == `"cancel"`:
		return strings.Trim(text, `"`)
	case fields == 0 && text == "true":
		return "accept"
	case fields == 0 && text == "false":
		return "decline"
	}
	return ""
}

func (a *answers) sample(_ context.Context, q *client.SampleRequest) (string, error) {
	asked := lastText(q)
	raw, ok := a.take(asked)
	if !ok {
		return "", a.missing(asked, `"text of the model"`)
	}
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return "", fmt.Errorf("%s: the answer of the model to %q must be a JSON string, not %s", a.file, asked, raw)
	}
	if text == "decline" || text == "cancel" {
		return "", client.ErrRejected
	}
	return text, nil
}

// example returns an answer to a form that the user can complete.
func example(form *client.Form) string {
	var members []string
	for i := range form.Fields {
		f := &form.Fields[i]
		value := f.Default
		switch {
		case value != nil:
		case f.Type == "array":
			value = json.RawMessage("[]")
		case len(f.Choices) > 0:
			value = f.Choices[0].Value
		case f.Type == "boolean":
			value = json.RawMessage("false")
		case f.Type == "integer", f.Type == "number":
			value = json.RawMessage("0")
		default:
			value = json.RawMessage(`""`)
		}
		if f.Required || f.Default == nil {
			members = append(members, string(jsontext.Quote(nil, f.Name))+": "+string(value))
		}
	}
	return "{" + strings.Join(members, ", ") + "}"
}
