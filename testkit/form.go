package testkit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
)

// refusal is an answer to a question without a value.
type refusal string

// Decline and Cancel are answers for OnElicit.
var (
	Decline any = refusal("decline")
	Cancel  any = refusal("cancel")
)

// unchecked is an answer that is not checked against the form.
type unchecked struct{ answer any }

// Unchecked returns an answer for OnElicit that is sent as it is. The form's defaults do not
// complete it, and the test does not fail if it does not fit. A test can thus check how the server
// handles a client that sends anything.
func Unchecked(answer any) any { return unchecked{answer} }

// Form is a question as the user sees it. In Rounds it may also be a question to the model, or for
// the roots. The message of a question to the model is the last message of the conversation. A
// question for the roots has no message.
type Form struct {
	Message string
	Schema  []byte // of a form; otherwise nil
	URL     string
}

func formOf(p *protocol.ElicitParams) Form {
	return Form{Message: p.Message, Schema: p.Schema, URL: p.URL}
}

// wants returns the content that the form asks for, for messages.
func (f Form) wants() string {
	if f.URL != "" {
		return "none, but a visit to " + f.URL
	}
	return string(f.Schema)
}

// answer returns the user's answer, if it passes the form.
func (f Form) answer(answer any) (*protocol.ElicitResult, error) {
	if fn, ok := answer.(func(Form) any); ok {
		if fn == nil {
			return nil, errors.New("the function that answers is nil")
		}
		answer = fn(f)
	}
	if kind := reflect.TypeOf(answer); kind != nil && kind.Kind() == reflect.Func {
		return nil, fmt.Errorf("a function that answers is a func(testkit.Form) any, not a %s", kind)
	}
	if action, ok := answer.(refusal); ok {
		return &protocol.ElicitResult{Action: string(action)}, nil
	}
	if f.URL != "" {
		return &protocol.ElicitResult{Action: "accept"}, nil
	}
	raw, asIs := answer.(unchecked)
	if asIs {
		answer = raw.answer
	}
	content, err := contentOf(answer)
	if err != nil {
		return nil, err
	}
	if asIs {
		return &protocol.ElicitResult{Action: "accept", Content: content}, nil
	}
	form, err := client.ParseForm(f.Schema)
	if err != nil {
		return nil, fmt.Errorf("the form cannot be read: %w: %s", err, f.Schema)
	}
	content = form.Fill(content)
	if err := form.Check(content); err != nil {
		return nil, fmt.Errorf("%s does not pass the form: %w\nthe form: %s", content, err, f.Schema)
	}
	return &protocol.ElicitResult{Action: "accept", Content: content}, nil
}

// toClient returns an answer as a handler of the client returns it.
func toClient(result *protocol.ElicitResult) (*client.ElicitAnswer, error) {
	content, err := members(result.Content)
	return &client.ElicitAnswer{Action: result.Action, Content: content}, err
}

// contentOf returns a value as the content of a form: an object, or {"value": ...}.
func contentOf(answer any) (json.RawMessage, error) {
	raw, err := encode(answer)
	switch {
	case err != nil:
		return nil, err
	case bytes.Equal(raw, []byte("null")):
		return json.RawMessage("{}"), nil
	case len(raw) > 0 && raw[0] == '{':
		return raw, nil
	}
	return append(appendMember([]byte("{"), "value", raw), '}'), nil
}

// members decodes an object. Numbers stay exact.
func members(raw []byte) (map[string]any, error) {
	if raw == nil {
		return nil, nil //nolint:nilnil // no content is one
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var content map[string]any
	if err := d.Decode(&content); err != nil {
		return nil, fmt.Errorf("reading an answer: %w", err)
	}
	return content, nil
}

// encode writes a value as the server's own plans would.
func encode(v any) (json.RawMessage, error) {
	if raw, ok := v.(json.RawMessage); ok {
		return raw, nil
	}
	return framework.EncodeJSON(v)
}
