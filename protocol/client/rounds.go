package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

const (
	// defaultMaxRounds is the same as on servers. A longer call is taken for a loop.
	defaultMaxRounds = 32

	// Bounds of the pauses before a call is repeated without new answers. The pauses grow
	// (2026-07-28 basic/patterns/mrtr, load shedding).
	firstPause   = 50 * time.Millisecond
	longestPause = 2 * time.Second
)

// MaxRounds limits how often one call is sent again with answers. The default is 32. If the server
// then asks again, the call ends with [ErrInputRequired]. If n is zero or negative, questions in
// results are not answered.
func MaxRounds(n int) Option { return optionFunc(func(c *config) { c.maxRounds = n }) }

// InRounds makes [Client.Request] answer the questions of an input_required result and send the
// request again, as [Client.CallTool] always does. Request then returns the result of the last
// round. Members inputResponses and requestState in the caller's params are sent only in the first
// round.
func InRounds() CallOption { return callOptionFunc(func(h *how) { h.rounds = true }) }

// inRounds sends a request again until the server has all the input that it wants. Each round has
// the same method and params and a new id, with the answers and the state of the last round only
// (2026-07-28 basic/patterns/mrtr). inRounds returns the final result, decoded and as the server
// sent it.
func (c *Client) inRounds(ctx context.Context, d *dialect.Dialect, p protocol.Params, h how) (protocol.Result, json.RawMessage, error) {
	progress := &rising{fn: h.progress, best: math.Inf(-1), floor: math.Inf(-1)}
	if h.progress != nil {
		h.progress = progress.take
	}
	method, next, t := protocol.MethodOf(p), p, tempo{}
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
		in, err := c.fulfill(ctx, d, required)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", method, err)
		}
		next = withInputs(p, in)
		progress.again()
	}
}

// withInputs returns the request of the next round. It does not change p.
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

// spliced returns raw params with inputs, which replace earlier inputs.
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

// appendMember appends a member to an object that is not closed yet.
func appendMember(object []byte, name string, value []byte) []byte {
	if len(object) > 1 {
		object = append(object, ',')
	}
	return append(append(jsontext.Quote(object, name), ':'), value...)
}

// fulfill answers all questions of a round concurrently, each in a goroutine of its own. The first
// error ends the call; nothing is sent to the server.
//
// The goroutines of the handlers own their questions. answers has room for all of them, so none
// waits for a caller that has given up. When fulfill returns, the contexts of handlers that still
// run have ended. Close waits for them.
func (c *Client) fulfill(ctx context.Context, d *dialect.Dialect, required *protocol.InputRequiredResult) (protocol.Inputs, error) {
	in := protocol.Inputs{State: required.State}
	if len(required.Requests) == 0 {
		return in, nil
	}
	if err := c.canAnswer(required.Requests); err != nil {
		return in, err
	}
	inner, cancel := within(ctx, c.link.life)
	defer cancel()
	answers := make(chan roundAnswer, len(required.Requests))
	for _, q := range required.Requests {
		if err := c.answer(inner, d, q, answers); err != nil {
			return in, err
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

// ended returns the reason why the call has ended, if it has. Otherwise it returns err. A handler
// whose call has ended usually returns an error that hides the reason.
func (c *Client) ended(ctx context.Context, err error) error {
	return cmp.Or(ctx.Err(), c.link.failure(), err)
}

// canAnswer returns an error if a question has no handler. It is called before any handler runs.
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

// lacks returns the capability that a question needs and the client does not have, with the option
// that declares it. If nothing is missing, it returns "".
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

// answer starts a goroutine that runs the handler of a question and sends its answer to the channel.
// It also sends one if the handler ends its goroutine, as t.FailNow does. Otherwise the caller would
// wait forever.
//
// The goroutine sends exactly once. to must have room for it.
func (c *Client) answer(ctx context.Context, d *dialect.Dialect, q protocol.InputRequest, to chan<- roundAnswer) error {
	p := c.place()
	return c.link.spawn(func() {
		defer p.leave()
		a := roundAnswer{key: q.Key, err: errors.New("the client's handler did not return")}
		defer func() { to <- a }()
		a.result, a.err = c.answered(p.at(ctx), d, q.Params, "")
	})
}

// answered runs the handler of a question and encodes its answer. If task is not empty, the answer
// is marked as belonging to that task.
//
// answering counts the handler while it waits for its turn, too.
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
	raw, err := d.AppendResult(nil, result, nil)
	if err == nil {
		err = jsontext.Check(raw, jsontext.Limits{}) // raw JSON of the handler is not checked before
	}
	return raw, err
}

// tempo slows down a call that is repeated without progress.
type tempo struct {
	asked []byte // questions of the last round
	last  time.Duration
}

// pause returns how long to wait before the call is sent again. If a round has the same questions
// as the one before, or none, the server waits for another event. An example is a page that the
// user has not finished.
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

// rest waits for pause. It returns an error if the call or the connection ends first.
func (c *Client) rest(ctx context.Context, pause time.Duration) error {
	if pause == 0 {
		return nil
	}
	waitFor(ctx, c.link.lost, pause)
	return cmp.Or(ctx.Err(), c.link.failure())
}

// rising filters the progress of one call over its rounds. A replayed handler reports progress that
// it has reported before. rising drops it, so that progress increases for the caller (2026-07-28
// basic/patterns/progress).
//
// take runs in the dispatcher, and again in the goroutine of the call. fn is called without mu. One
// dispatcher calls take, so reports keep their order.
type rising struct {
	fn func(protocol.Progress)

	mu    sync.Mutex // guards the fields below
	best  float64    // -Inf before the first report
	floor float64    // best of the earlier rounds: only progress above it is new
}

func (r *rising) take(p protocol.Progress) {
	r.mu.Lock()
	isNew := p.Done > r.floor
	r.best = max(r.best, p.Done)
	r.mu.Unlock()
	if isNew {
		r.fn(p)
	}
}

// again begins another round.
func (r *rising) again() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.floor = r.best
}
