package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

const (
	// defaultMaxRounds is the same as on servers: a longer call is a loop.
	defaultMaxRounds = 32

	// The pauses before a call is repeated without new answers; they grow (2026-07-28
	// basic/patterns/mrtr, load shedding).
	firstPause   = 50 * time.Millisecond
	longestPause = 2 * time.Second
)

// MaxRounds bounds how often one call is sent again with answers; default 32. A call that
// is still not finished then ends with [ErrInputRequired]. With 0 or less no question of a
// round is answered.
func MaxRounds(n int) Option { return optionFunc(func(c *config) { c.maxRounds = n }) }

// InRounds lets [Client.Request] answer the questions of an input_required result and send
// the request again, as [Client.CallTool] always does. The result is that of the last
// round. Members inputResponses and requestState of the caller's own params go with the
// first round only.
func InRounds() CallOption { return callOptionFunc(func(h *how) { h.rounds = true }) }

// inRounds sends a request until the server has all the input it wants: each time the same
// method and params under a new id, with the answers of the last round only, and the state
// that came with the questions (2026-07-28 basic/patterns/mrtr). It returns the final result,
// also as it came.
func (c *Client) inRounds(ctx context.Context, d *dialect.Dialect, p protocol.Params, h how) (protocol.Result, json.RawMessage, error) {
	progress := &rising{fn: h.progress}
	if h.progress != nil {
		h.progress = progress.take
	}
	method, next, t := p.Method(), p, tempo{}
	for n := 0; ; n++ {
		raw, err := c.do(ctx, d, next, h)
		if err != nil {
			return nil, nil, err
		}
		result, err := decode(d, method, raw)
		required, asks := result.(*protocol.InputRequiredResult)
		if err != nil || !asks {
			return result, raw, err
		}
		if n >= c.config.maxRounds {
			return nil, nil, fmt.Errorf("%s: %w, after %d rounds", method, ErrInputRequired, n)
		}
		if err := c.rest(ctx, t.pause(raw, required)); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", method, err)
		}
		in, err := c.fulfil(ctx, d, required)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", method, err)
		}
		next = withInputs(p, in)
		progress.again()
	}
}

// withInputs is the request of the next round. It does not change p.
func withInputs(p protocol.Params, in protocol.Inputs) protocol.Params {
	switch p := p.(type) {
	case *protocol.CallToolParams:
		next := *p
		next.Inputs = in
		return &next
	case *protocol.ReadResourceParams:
		next := *p
		next.Inputs = in
		return &next
	case *protocol.GetPromptParams:
		next := *p
		next.Inputs = in
		return &next
	case *protocol.CustomParams:
		return &protocol.CustomParams{Name: p.Name, Raw: spliced(p.Raw, in)}
	}
	return p
}

// spliced puts inputs into raw params, in place of earlier ones.
func spliced(raw []byte, in protocol.Inputs) []byte {
	out := []byte{'{'}
	for key, value := range jsontext.Members(raw) {
		if !key.Is("inputResponses") && !key.Is("requestState") {
			out = appendMember(out, key.String(), value)
		}
	}
	if in.Responses != nil {
		responses := []byte{'{'}
		for key, value := range in.Responses {
			responses = appendMember(responses, key, value)
		}
		out = appendMember(out, "inputResponses", append(responses, '}'))
	}
	if in.State != nil {
		out = appendMember(out, "requestState", jsontext.Quote(nil, *in.State))
	}
	return append(out, '}')
}

// appendMember appends to an object that is still open.
func appendMember(object []byte, name string, value []byte) []byte {
	if len(object) > 1 {
		object = append(object, ',')
	}
	return append(append(jsontext.Quote(object, name), ':'), value...)
}

// fulfil answers all questions of a round at once, each in a goroutine of its own. The first
// error ends the call; the server is not told.
func (c *Client) fulfil(ctx context.Context, d *dialect.Dialect, required *protocol.InputRequiredResult) (protocol.Inputs, error) {
	in := protocol.Inputs{State: required.State}
	if len(required.Requests) == 0 {
		return in, nil
	}
	if err := c.canAnswer(required.Requests); err != nil {
		return in, err
	}
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.link.life, cancel)()
	answers := make(chan roundAnswer, len(required.Requests))
	for _, q := range required.Requests {
		p := c.place()
		if !c.link.spawn(func() {
			defer p.leave()
			c.answer(p.at(inner), d, q, answers)
		}) {
			return in, ErrClosed
		}
	}
	in.Responses = make(map[string]json.RawMessage, len(required.Requests))
	for range required.Requests {
		select {
		case a := <-answers:
			if a.err != nil {
				return in, c.ended(ctx, fmt.Errorf("answering %q of the server: %w", a.key, a.err))
			}
			in.Responses[a.key] = a.result
		case <-ctx.Done():
			return in, ctx.Err()
		case <-c.link.lost:
			return in, c.link.failure()
		}
	}
	return in, nil
}

// ended prefers the reason why the call has ended to the error that a handler made of it.
func (c *Client) ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if lost := c.link.failure(); lost != nil {
		return lost
	}
	return err
}

// canAnswer checks that there is a handler for every question, before any of them is asked.
func (c *Client) canAnswer(requests []protocol.InputRequest) error {
	if len(requests) > maxQuestions {
		return fmt.Errorf("client: the server asks %d questions at once, at most %d are answered", len(requests), maxQuestions)
	}
	var missing []string
	for _, q := range requests {
		if handler := c.lacks(q.Params); handler != "" && !slices.Contains(missing, handler) {
			missing = append(missing, handler)
		}
	}
	if missing == nil {
		return nil
	}
	return fmt.Errorf("%w: the client did not declare %s", ErrInputRequired, strings.Join(missing, ", "))
}

// lacks names the capability that a question needs and the client does not have, and the option
// that declares it.
func (c *Client) lacks(p protocol.Params) string {
	switch p := p.(type) {
	case *protocol.ElicitParams:
		switch {
		case c.config.elicit == nil:
			return "elicitation (OnElicit)"
		case p.URL != "" && !c.can.ElicitURL:
			return "elicitation by URL (FormOnly)"
		}
	case *protocol.CreateMessageParams:
		if c.config.sample == nil {
			return "sampling (OnSample)"
		}
	case *protocol.ListRootsParams:
		if c.config.roots == nil {
			return "roots (OnRoots)"
		}
	}
	return ""
}

type roundAnswer struct {
	key    string
	result json.RawMessage
	err    error
}

// answer answers even if a handler ends its goroutine, as t.FailNow does: otherwise the caller
// would wait for ever.
func (c *Client) answer(ctx context.Context, d *dialect.Dialect, q protocol.InputRequest, to chan<- roundAnswer) {
	a := roundAnswer{key: q.Key, err: errors.New("the client's handler did not return")}
	defer func() { to <- a }()
	a.result, a.err = c.answered(ctx, d, q.Params, "")
}

// answered runs the handler of a question and encodes its answer, marked as belonging to a task
// if one is named.
func (c *Client) answered(ctx context.Context, d *dialect.Dialect, p protocol.Params, task string) ([]byte, error) {
	c.answering.Add(1)
	defer c.answering.Add(-1)
	result, err := c.handle(ctx, p)
	if err != nil {
		return nil, err
	}
	if task != "" {
		relate(result, task)
	}
	return d.AppendResult(nil, result, nil)
}

// tempo slows down a call that is repeated without progress.
type tempo struct {
	asked []byte // the questions of the last round
	last  time.Duration
}

// pause is how long to wait before the call is sent again. A round with the same questions as
// the last one waits for something that is not in the answers, such as a page that the user has
// not finished.
func (t *tempo) pause(raw []byte, required *protocol.InputRequiredResult) time.Duration {
	asked, _ := jsontext.Member(raw, "inputRequests")
	again := t.asked != nil && bytes.Equal(asked, t.asked)
	t.asked = asked
	if len(required.Requests) > 0 && !again {
		t.last = 0
		return 0
	}
	t.last = min(max(2*t.last, firstPause), longestPause)
	return t.last
}

// rest waits, unless the call or the connection ends.
func (c *Client) rest(ctx context.Context, pause time.Duration) error {
	if pause == 0 {
		return nil
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-c.link.lost:
		return c.link.failure()
	}
}

// rising is the progress of one call over its rounds. A replayed handler reports again what it
// has reported before: that is dropped, so that the caller sees progress increase (2026-07-28
// basic/patterns/progress).
type rising struct {
	fn func(protocol.Progress)

	mu     sync.Mutex // guards the fields below
	best   float64
	seen   bool
	before bool // there was an earlier round: only what exceeds floor is new
	floor  float64
}

func (r *rising) take(p protocol.Progress) {
	r.mu.Lock()
	old := r.before && p.Done <= r.floor
	if !r.seen || p.Done > r.best {
		r.best, r.seen = p.Done, true
	}
	r.mu.Unlock()
	if !old {
		r.fn(p)
	}
}

// again begins another round.
func (r *rising) again() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.before, r.floor = r.seen, r.best
}
