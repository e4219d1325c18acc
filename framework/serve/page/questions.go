package page

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
	"github.com/kagami-mcp/kagami/protocol/dialect"
)

// maxQuestions is the maximum number of unanswered questions.
const maxQuestions = 256

// actionWithdrawn is the reply to a question that the user can no longer answer.
const actionWithdrawn = "withdrawn"

// question is a question that the server asks during a call.
type question struct {
	ID      string          `json:"id"`
	Call    string          `json:"call,omitempty"` // ID of the page's call; "" if the revision does not identify it
	Number  uint64          `json:"number"`         // see client.QuestionNumber
	Kind    string          `json:"kind"`           // form, url, sample or roots
	Message string          `json:"message,omitempty"`
	Schema  json.RawMessage `json:"schema,omitempty"`  // of a form
	Secrets []string        `json:"secrets,omitempty"` // names of secret fields of a form
	URL     string          `json:"url,omitempty"`
	Sample  json.RawMessage `json:"sample,omitempty"` // params of sampling/createMessage

	answer chan reply // one, buffered
}

// reply is the user's answer.
type reply struct {
	Action  string                     `json:"action"` // accept, decline or cancel; withdrawn if the call is stopped
	Content map[string]json.RawMessage `json:"content"`
	Text    string                     `json:"text"`  // of sampling
	Model   string                     `json:"model"` // of sampling
	Roots   []protocol.Root            `json:"roots"`
}

// questions holds the questions that wait for a user.
type questions struct {
	mu   sync.Mutex // guards open
	open map[string]*question
}

func newQuestions() *questions { return &questions{open: map[string]*question{}} }

// all returns the open questions in the order of the server.
func (q *questions) all() []*question {
	q.mu.Lock()
	defer q.mu.Unlock()
	list := slices.AppendSeq([]*question{}, maps.Values(q.open))
	slices.SortFunc(list, func(a, b *question) int { return cmp.Compare(a.Number, b.Number) })
	return list
}

// take removes an open question and returns it. If the question was answered or withdrawn, it
// returns nil.
func (q *questions) take(id string) *question {
	q.mu.Lock()
	defer q.mu.Unlock()
	one := q.open[id]
	delete(q.open, id)
	return one
}

// withdraw ends the open questions of a call.
func (q *questions) withdraw(call string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for id, one := range q.open {
		if one.Call == call {
			delete(q.open, id)
			one.answer <- reply{Action: actionWithdrawn}
		}
	}
}

// ask shows a question and waits for the answer. The question is withdrawn when ctx ends. It is
// also withdrawn when the user stops the call, because the server may take its time to withdraw it.
func (p *Page) ask(ctx context.Context, one *question) (reply, error) {
	one.ID, one.Number, one.answer = rand.Text(), client.QuestionNumber(ctx), make(chan reply, 1)
	one.Call, _ = ctx.Value(callKey{}).(string)
	if one.Call == "" {
		one.Call = p.calls.onlyRunning()
	}
	p.asked.mu.Lock()
	full := len(p.asked.open) >= maxQuestions
	if !full {
		p.asked.open[one.ID] = one
	}
	p.asked.mu.Unlock()
	if full {
		return reply{}, errors.New("too many questions wait for an answer")
	}
	p.events.add("question", map[string]any{"question": one})
	said := reply{Action: actionWithdrawn}
	select {
	case said = <-one.answer:
	case <-ctx.Done():
		p.asked.take(one.ID)
	}
	p.events.add("answered", map[string]any{"id": one.ID, "call": one.Call, "action": said.Action})
	if said.Action == actionWithdrawn {
		return reply{}, context.Canceled
	}
	return said, nil
}

// handlers returns the options with the page's answers to questions of the server.
func (p *Page) handlers() []client.Option {
	return []client.Option{
		client.OnElicit(p.elicit), client.OnSample(p.sample), client.OnRoots(p.roots),
		client.UncheckedForms(), // the server checks whether an answer fits
	}
}

func (p *Page) elicit(ctx context.Context, r *client.ElicitRequest) (*client.ElicitAnswer, error) {
	one := &question{Kind: "form", Message: r.Message, Schema: r.Schema, Secrets: p.secretFields(r.Schema), URL: r.URL}
	if r.URL != "" {
		one.Kind = "url"
	}
	said, err := p.ask(ctx, one)
	if err != nil {
		return nil, err
	}
	answer := &client.ElicitAnswer{Action: said.Action}
	if said.Action == "accept" && r.URL == "" {
		content, err := json.Marshal(said.Content)
		if err != nil {
			return nil, err
		}
		p.give(content)
		answer.Content = make(map[string]any, len(said.Content))
		for name, value := range said.Content {
			answer.Content[name] = value
		}
	}
	return answer, nil
}

func (p *Page) sample(ctx context.Context, r *client.SampleRequest) (*client.SampleAnswer, error) {
	all := dialect.All()
	params, err := all[len(all)-1].AppendParams(nil, &protocol.CreateMessageParams{
		Messages: r.Messages, System: r.System, MaxTokens: r.MaxTokens, IncludeContext: r.IncludeContext, Temperature: r.Temperature,
		StopSequences: r.StopSequences, Metadata: r.Metadata, Preferences: r.Preferences, Tools: r.Tools, ToolChoice: r.ToolChoice,
	}, &protocol.RequestMeta{})
	if err != nil {
		return nil, err
	}
	said, err := p.ask(ctx, &question{Kind: "sample", Sample: params})
	switch {
	case err != nil:
		return nil, err
	case said.Action != "accept":
		return nil, client.ErrRejected
	}
	return &client.SampleAnswer{Model: cmp.Or(said.Model, "a person"), StopReason: "endTurn", Content: []protocol.Block{protocol.Text{Text: said.Text}}}, nil
}

func (p *Page) roots(ctx context.Context) ([]protocol.Root, error) {
	said, err := p.ask(ctx, &question{Kind: "roots"})
	switch {
	case err != nil:
		return nil, err
	case said.Action != "accept":
		return nil, client.ErrRejected
	}
	return said.Roots, nil
}
