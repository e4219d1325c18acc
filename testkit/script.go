package testkit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
	"github.com/kagami-mcp/kagami/protocol/dialect"
)

// script holds the answers of the client's user and model, and its roots. The test adds answers,
// and questions remove them; mu guards all fields.
type script struct {
	mu     sync.Mutex
	forms  []scripted[any]
	models []scripted[string]
	turns  []Turn
	roots  []protocol.Root
}

// scripted is the answer to a question that contains the text.
type scripted[A any] struct {
	text   string
	answer A
}

// take removes and returns the first answer that matches the question. If ordered is set, only the
// first answer may match. If none matches, take returns the texts that are left.
func take[A any](mu *sync.Mutex, lines *[]scripted[A], asked string, ordered bool) (answer A, left []string, ok bool) {
	mu.Lock()
	defer mu.Unlock()
	for i, line := range *lines {
		if ordered && i > 0 {
			break
		}
		if strings.Contains(asked, line.text) {
			*lines = slices.Delete(*lines, i, i+1)
			return line.answer, nil, true
		}
	}
	return answer, texts(*lines), false
}

func texts[A any](lines []scripted[A]) []string {
	all := make([]string, len(lines))
	for i, line := range lines {
		all[i] = fmt.Sprintf("%q", line.text)
	}
	return all
}

// scripted returns the texts that are left in the script, for messages.
func (c *config) scripted(left []string) string {
	if c.ordered && len(left) > 1 {
		return "in this order " + listing(left)
	}
	return listing(left)
}

// listing joins the texts that are left, for messages.
func listing(left []string) string {
	if len(left) == 0 {
		return "nothing (any more)"
	}
	return strings.Join(left, ", ")
}

// errScript ends a call of a test that is about to fail.
var errScript = errors.New("testkit: the script has no answer")

// unexpected records a failure in a goroutine of the client. The test fails at the place where its
// own goroutine waits, because that is the line to look at.
func (s *Session) unexpected(format string, args ...any) error {
	s.testServer.fault.note(fmt.Sprintf(format, args...) + "\nsent: " + s.wire.exchange.lastSent())
	s.record.wake()
	return errScript
}

// asked ends the test if a failure was recorded. Either the script has no answer to a question, or
// a handler did not repeat its questions and effects.
func (s *Session) asked() {
	s.t.Helper()
	if fault := s.testServer.fault.take(); fault != "" {
		s.t.Fatalf("testkit: %s", fault)
	}
}

// unmet fails the test if an answer was scripted and never asked for, unless the revision has no
// such questions.
func (s *Session) unmet() {
	s.t.Helper()
	if fault := s.testServer.fault.take(); fault != "" {
		s.t.Errorf("testkit: %s", fault) // noted after the last wait
	}
	if s.endedEarly() {
		return // a test that ended early leaves answers
	}
	s.script.mu.Lock()
	defer s.script.mu.Unlock()
	d := s.config.dialect
	complain := func(format string, args ...any) {
		s.t.Helper()
		s.t.Errorf("testkit: the server did not ask %s\nsent last: %s\ngot last:  %s",
			fmt.Sprintf(format, args...), s.wire.exchange.lastSent(), s.wire.exchange.lastGot())
	}
	if left := texts(s.script.forms); len(left) > 0 && d.Elicits() {
		complain("the user what OnElicit answers: %s", listing(left))
	}
	if left := texts(s.script.models); len(left) > 0 {
		complain("the model what OnSample answers: %s", listing(left))
	}
	if left := len(s.script.turns); left > 0 && d.SamplesWithTools() {
		complain("the model for %d more turns of OnSampleTools", left)
	}
}

// endedEarly reports whether the test has failed or was skipped, so that it may not have reached
// its end.
func (s *Session) endedEarly() bool { return s.t.Failed() || s.t.Skipped() }

// needs ends the test if the session lacks a capability.
func (s *Session) needs(capability, what string) {
	s.t.Helper()
	if !s.config.has(capability) {
		s.t.Fatalf("testkit: %s on a session without %s", what, capability)
	}
}

// OnElicit answers the next question with a message that contains text. An answer is used once. If
// several match, the one given first is used (see also [Ordered]). answer is a value, Decline,
// Cancel or a func(Form) any, which returns one of these and is called in a goroutine of the
// client. A value that is not a struct or map is sent as {"value": ...}. For a question that opens
// a page, any value, such as nil, means agreement.
//
// The form's defaults replace members that the value leaves out. The test fails if a value does not
// fit the form, or if a question has no answer. It also fails if an answer was not used when the
// session ends, unless the revision has no such questions or the test was skipped.
func (s *Session) OnElicit(text string, answer any) {
	s.t.Helper()
	s.needs("elicitation", fmt.Sprintf("OnElicit(%q)", text))
	s.script.mu.Lock()
	defer s.script.mu.Unlock()
	s.script.forms = append(s.script.forms, scripted[any]{text, answer})
}

// elicit answers for the client's user.
func (s *Session) elicit(_ context.Context, r *client.ElicitRequest) (*client.ElicitAnswer, error) {
	result, err := s.elicited(Form{Message: r.Message, Schema: r.Schema, URL: r.URL})
	if err != nil {
		return nil, err
	}
	return toClient(result)
}

func (s *Session) elicited(f Form) (*protocol.ElicitResult, error) {
	answer, left, ok := take(&s.script.mu, &s.script.forms, f.Message, s.config.ordered)
	if !ok {
		return nil, s.unexpected("the server asks the user %q, and no OnElicit answers that; scripted: %s\nits form: %s", f.Message, s.config.scripted(left), f.wants())
	}
	result, err := f.answer(answer)
	if err != nil {
		return nil, s.unexpected("the answer to %q: %v", f.Message, err)
	}
	return result, nil
}

// OnSample answers the next sampling request with a last message that contains text. Answers are
// used as in [Session.OnElicit].
func (s *Session) OnSample(text, reply string) {
	s.t.Helper()
	s.needs("sampling", fmt.Sprintf("OnSample(%q)", text))
	s.script.mu.Lock()
	defer s.script.mu.Unlock()
	s.script.models = append(s.script.models, scripted[string]{text, reply})
}

// Turn is one turn of a scripted model: tool uses, or a reply. A use without an ID gets one.
type Turn struct {
	Reply string
	Uses  []protocol.ToolUse
}

// OnSampleTools scripts a tool loop. Sampling requests that offer tools take the turns in order.
func (s *Session) OnSampleTools(turns ...Turn) {
	s.t.Helper()
	s.needs("sampling", "OnSampleTools")
	s.script.mu.Lock()
	defer s.script.mu.Unlock()
	s.script.turns = append(s.script.turns, turns...)
}

func (s *Session) nextTurn() (Turn, bool) {
	s.script.mu.Lock()
	defer s.script.mu.Unlock()
	if len(s.script.turns) == 0 {
		return Turn{}, false
	}
	next := s.script.turns[0]
	s.script.turns = s.script.turns[1:]
	return next, true
}

// sample answers for the client's model.
func (s *Session) sample(_ context.Context, r *client.SampleRequest) (*client.SampleAnswer, error) {
	said, err := s.sampled(r.Messages, len(r.Tools) > 0)
	if err != nil {
		return nil, err
	}
	return &client.SampleAnswer{Model: said.Model, Content: said.Content, StopReason: said.StopReason}, nil
}

func (s *Session) sampled(messages []protocol.Message, tools bool) (*protocol.CreateMessageResult, error) {
	if tools {
		if turn, ok := s.nextTurn(); ok {
			return turn.result(), nil
		}
	}
	last := lastText(messages)
	reply, left, ok := take(&s.script.mu, &s.script.models, last, s.config.ordered)
	if !ok {
		what := "no OnSample answers that"
		if tools {
			what = "no turn of OnSampleTools is left"
		}
		return nil, s.unexpected("the server asks the model %q, and %s; scripted: %s", last, what, s.config.scripted(left))
	}
	return Turn{Reply: reply}.result(), nil
}

func lastText(messages []protocol.Message) string {
	if n := len(messages); n > 0 {
		return dialect.TextOf(messages[n-1].Blocks())
	}
	return ""
}

// result returns the turn as a model's answer.
func (t Turn) result() *protocol.CreateMessageResult {
	said := &protocol.CreateMessageResult{Role: protocol.RoleAssistant, Model: "testkit", StopReason: "endTurn"}
	if t.Reply != "" || len(t.Uses) == 0 {
		said.Content = append(said.Content, protocol.Text{Text: t.Reply})
	}
	for i, use := range t.Uses {
		said.StopReason = "toolUse"
		if use.ID == "" {
			use.ID = fmt.Sprintf("use-%d", i+1)
		}
		if use.Input == nil {
			use.Input = []byte("{}")
		}
		said.Content = append(said.Content, use)
	}
	return said
}

// Roots sets the client's roots and notifies the server, on revisions that have such a
// notification.
func (s *Session) Roots(roots ...protocol.Root) {
	s.t.Helper()
	s.needs("roots", "Roots")
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

// scriptedAnswer returns the script's answer to a question of a round.
func (s *Session) scriptedAnswer(p protocol.Params) (protocol.Result, error) {
	switch p := p.(type) {
	case *protocol.ElicitParams:
		return s.elicited(formOf(p))
	case *protocol.CreateMessageParams:
		return s.sampled(p.Messages, len(p.Tools) > 0)
	default:
		roots, err := s.listRoots(s.ctx)
		return &protocol.ListRootsResult{Roots: roots}, err
	}
}
