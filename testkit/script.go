package testkit

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

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

// Form is a question as the user would see it.
type Form struct {
	Message string
	Schema  []byte // nil for a URL question
	URL     string
}

// script is what the client's user and model will answer.
type script struct {
	mu     sync.Mutex
	forms  []scripted[any]
	models []scripted[string]
	roots  []protocol.Root
}

type scripted[A any] struct {
	text   string
	answer A
}

// take removes the first line of a script that fits.
func take[A any](mu *sync.Mutex, lines *[]scripted[A], asked string) (A, bool) {
	mu.Lock()
	defer mu.Unlock()
	for i, line := range *lines {
		if strings.Contains(asked, line.text) {
			*lines = slices.Delete(*lines, i, i+1)
			return line.answer, true
		}
	}
	var none A
	return none, false
}

// unexpected fails the test from a goroutine of the client.
func (s *Session) unexpected(format string, args ...any) error {
	err := fmt.Errorf("testkit: "+format, args...)
	s.t.Errorf("%v", err)
	return err
}

// OnElicit answers the next question whose message contains text; answers are used
// once, in the order given. answer: a value, Decline, Cancel or func(Form) any. A
// value that is no struct or map travels as {"value": ...}.
func (s *Session) OnElicit(text string, answer any) {
	s.t.Helper()
	if !s.config.has("elicitation") {
		s.t.Fatalf("testkit: OnElicit(%q) on a session without elicitation", text)
	}
	s.script.mu.Lock()
	defer s.script.mu.Unlock()
	s.script.forms = append(s.script.forms, scripted[any]{text, answer})
}

func (s *Session) elicit(_ context.Context, r *client.ElicitRequest) (*client.ElicitAnswer, error) {
	answer, ok := take(&s.script.mu, &s.script.forms, r.Message)
	if !ok {
		return nil, s.unexpected("the server asks the user %q, and no OnElicit is left that answers; schema: %s", r.Message, r.Schema)
	}
	if fn, ok := answer.(func(Form) any); ok {
		answer = fn(Form{Message: r.Message, Schema: r.Schema, URL: r.URL})
	}
	if action, ok := answer.(refusal); ok {
		return &client.ElicitAnswer{Action: string(action)}, nil
	}
	content, err := contentOf(answer)
	if err != nil {
		return nil, s.unexpected("the answer to %q: %v", r.Message, err)
	}
	return &client.ElicitAnswer{Action: "accept", Content: content}, nil
}

// contentOf is a value as the content of a form. Numbers stay exact.
func contentOf(answer any) (map[string]any, error) {
	raw, err := encode(answer)
	if err != nil {
		return nil, err
	}
	if bytes.Equal(raw, []byte("null")) {
		return map[string]any{}, nil
	}
	var value any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&value); err != nil {
		return nil, err
	}
	if content, ok := value.(map[string]any); ok {
		return content, nil
	}
	return map[string]any{"value": value}, nil
}

// encode writes a value as the server's own plans would.
func encode(v any) (json.RawMessage, error) {
	if raw, ok := v.(json.RawMessage); ok {
		return raw, nil
	}
	return framework.EncodeJSON(v)
}

// OnSample answers the next sampling request whose last message contains text;
// replies are used once, in the order given.
func (s *Session) OnSample(text, reply string) {
	s.t.Helper()
	if !s.config.has("sampling") {
		s.t.Fatalf("testkit: OnSample(%q) on a session without sampling", text)
	}
	s.script.mu.Lock()
	defer s.script.mu.Unlock()
	s.script.models = append(s.script.models, scripted[string]{text, reply})
}

func (s *Session) sample(_ context.Context, r *client.SampleRequest) (*client.SampleAnswer, error) {
	var last string
	if n := len(r.Messages); n > 0 {
		last = textOf(r.Messages[n-1].Blocks())
	}
	reply, ok := take(&s.script.mu, &s.script.models, last)
	if !ok {
		return nil, s.unexpected("the server asks the model %q, and no OnSample is left that answers", last)
	}
	return &client.SampleAnswer{
		Model: "testkit", Content: []protocol.Block{protocol.Text{Text: reply}}, StopReason: "endTurn",
	}, nil
}

// Roots of the client. The server is told that they changed.
func (s *Session) Roots(roots ...protocol.Root) {
	s.t.Helper()
	if !s.config.has("roots") {
		s.t.Fatalf("testkit: Roots on a session without roots")
	}
	s.script.mu.Lock()
	s.script.roots = slices.Clone(roots)
	s.script.mu.Unlock()
	ctx, cancel := s.bounded()
	defer cancel()
	if err := s.client.RootsChanged(ctx); err != nil {
		s.t.Fatalf("testkit: telling the server of new roots: %v", err)
	}
}

func (s *Session) listRoots(context.Context) ([]protocol.Root, error) {
	s.script.mu.Lock()
	defer s.script.mu.Unlock()
	return slices.Clone(s.script.roots), nil
}
