package testkit

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
)

// Rounds is a call on 2026-07-28 that the test drives. Each request is sent once, when the test
// sends it, and the script answers nothing. A Rounds is not safe for concurrent use.
//
//	r := s.Rounds("book", `{"room":"blue"}`)
//	r.Answer("Ann").OtherUser("eve").Answer(true).Result().Code(-32602)
//	r.Answer(true).Result().OK() // Ann's own answer
//
// Tamper, Expire, OtherUser and DropAnswer change the next request, of Answer or Resend. If no
// request follows, the test fails. If a changed request is refused, the questions remain open as
// before.
type Rounds struct {
	s        *Session
	call     json.RawMessage // params of the first round
	last     retry           // of the round that was sent last
	begun    bool            // last is a round with answers
	required *protocol.InputRequiredResult
	answer   *Answer
	change   alteration
}

// alteration is the difference between the next request and the request of an honest client.
type alteration struct {
	tamper, expire bool
	user           *framework.Principal
	drop           []int
}

func (c *alteration) any() bool { return c.tamper || c.expire || c.user != nil || len(c.drop) > 0 }

// Rounds starts a call that the test drives round by round.
func (s *Session) Rounds(name, arguments string) *Rounds {
	s.t.Helper()
	if !s.config.dialect.InputRounds() {
		s.t.Fatalf("testkit: Rounds at %s, which has none", s.config.dialect)
	}
	r := &Rounds{s: s, call: s.callParams(name, s.checked(name, arguments))}
	r.send(r.call)
	s.t.Cleanup(func() {
		s.t.Helper()
		if r.change.any() && !s.endedEarly() {
			s.t.Errorf("testkit: %s\nsent: %s", unsent, r.answer.sent)
		}
	})
	return r
}

// unsent is the failure message for a change without a following request.
const unsent = "Tamper, Expire, OtherUser and DropAnswer change the next request, but no request followed: call Answer or Resend after them"

// send sends the request of a round with these params.
func (r *Rounds) send(params json.RawMessage) {
	r.s.t.Helper()
	how := r.change
	r.change = alteration{}
	s := r.s
	if how.user != nil {
		c := s.config
		c.principal = how.user
		s = open(s.t, s.testServer, c)
	}
	if how.expire {
		s.testServer.skew.Store(math.MaxInt64 / 2)
		defer s.testServer.skew.Store(0)
	}
	ctx, cancel := s.bounded()
	defer cancel()
	raw, err := s.client.Request(ctx, protocol.MethodCallTool, params, client.OnProgress(r.s.progressed))
	r.answer = r.s.answer(protocol.MethodCallTool, params, raw, err)
	if err == nil || !how.any() {
		r.required, _ = r.answer.result.(*protocol.InputRequiredResult)
	}
}

// Questions returns the questions of the current round. It returns nil when the call has completed.
func (r *Rounds) Questions() []Form {
	if r.required == nil {
		return nil
	}
	forms := make([]Form, len(r.required.Requests))
	for i, q := range r.required.Requests {
		switch p := q.Params.(type) {
		case *protocol.ElicitParams:
			forms[i] = formOf(p)
		case *protocol.CreateMessageParams:
			forms[i].Message = lastText(p.Messages)
		}
	}
	return forms
}

// Answer answers the questions in order and runs the next round. Answers to forms are as in
// OnElicit; the answer of a model is a text or a Turn; roots are a []protocol.Root.
func (r *Rounds) Answer(answers ...any) *Rounds {
	r.s.t.Helper()
	if r.required == nil {
		r.answer.fatalf("Answer(%v), but the call is done", answers)
		return r
	}
	if len(answers) != len(r.required.Requests) {
		r.answer.fatalf("%d answers to %d questions: %s", len(answers), len(r.required.Requests), r.open())
		return r
	}
	next := retry{state: r.required.State}
	for i, q := range r.required.Requests {
		result, err := resultOf(q.Params, answers[i])
		if err == nil {
			var a roundAnswer
			a, err = encoded(r.s.config.dialect, q.Key, result)
			next.answers = append(next.answers, a)
		}
		if err != nil {
			r.answer.fatalf("the answer to %q: %v", q.Key, err)
			return r
		}
	}
	return r.next(next)
}

// Resend sends the last round again as it was.
func (r *Rounds) Resend() *Rounds {
	r.s.t.Helper()
	if r.begun {
		return r.next(r.last)
	}
	if r.change.tamper || len(r.change.drop) > 0 {
		r.answer.fatalf("the first request has neither a state nor answers to change")
	}
	r.send(r.call)
	return r
}

// next sends a round with the requested changes.
func (r *Rounds) next(with retry) *Rounds {
	r.s.t.Helper()
	sent := retry{slices.Clone(with.answers), with.state}
	for _, i := range r.change.drop {
		if i < 0 || i >= len(sent.answers) {
			r.answer.fatalf("DropAnswer(%d) of %d answers", i, len(sent.answers))
			return r
		}
		sent.answers[i].result = nil
	}
	if r.change.tamper {
		if sent.state == nil || *sent.state == "" {
			r.answer.fatalf("Tamper: the server sent no state")
			return r
		}
		state := tampered(*sent.state)
		sent.state = &state
	}
	r.last, r.begun = with, true
	r.send(sent.params(r.call))
	return r
}

// tampered returns the state with one character in the middle changed.
func tampered(state string) string {
	changed := []byte(state)
	i := len(changed) / 2
	if changed[i] == 'A' {
		changed[i] = 'B'
	} else {
		changed[i] = 'A'
	}
	return string(changed)
}

// Tamper changes the state in the next round.
func (r *Rounds) Tamper() *Rounds {
	r.change.tamper = true
	return r
}

// Expire makes the state expire: the server's clock is far ahead while the next round runs.
func (r *Rounds) Expire() *Rounds {
	r.change.expire = true
	return r
}

// OtherUser makes another user send the next round, with the scopes of the session's user.
func (r *Rounds) OtherUser(subject string) *Rounds {
	r.change.user = &framework.Principal{Subject: subject}
	if p := r.s.config.principal; p != nil {
		r.change.user.Scopes = p.Scopes
	}
	return r
}

// DropAnswer leaves answer i out of the next round.
func (r *Rounds) DropAnswer(i int) *Rounds {
	r.change.drop = append(r.change.drop, i)
	return r
}

// Result returns the result of the call, or the refusal of the last round.
func (r *Rounds) Result() *Answer {
	r.s.t.Helper()
	if r.change.any() {
		r.answer.fatalf(unsent)
	}
	if _, asks := r.answer.result.(*protocol.InputRequiredResult); asks {
		r.answer.fatalf("the call is not done, it asks %s", r.open())
	}
	return r.answer
}

// open returns the open questions, for messages.
func (r *Rounds) open() string {
	var all []string
	for _, f := range r.Questions() {
		all = append(all, fmt.Sprintf("%q", f.Message))
	}
	return listing(all)
}

// resultOf returns the result for a test's answer to a question of any kind.
func resultOf(p protocol.Params, answer any) (protocol.Result, error) {
	switch p := p.(type) {
	case *protocol.ElicitParams:
		return formOf(p).answer(answer)
	case *protocol.CreateMessageParams:
		switch answer := answer.(type) {
		case string:
			return Turn{Reply: answer}.result(), nil
		case Turn:
			return answer.result(), nil
		}
		return nil, fmt.Errorf("a model answers with a string or a Turn, not with a %T", answer)
	}
	if roots, ok := answer.([]protocol.Root); ok {
		return &protocol.ListRootsResult{Roots: roots}, nil
	}
	return nil, errors.New("the roots are a []protocol.Root")
}
