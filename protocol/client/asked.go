package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/protocol/jsonrpc"
)

// maxQuestions limits the requests of the server that are in progress at the same time.
const maxQuestions = 64

// questionTable holds the requests of the server that are in progress, by id.
//
// The reader adds an entry (begin) and may cancel it (withdraw). The goroutine of the question
// removes it (end), in any case. The renewal of a session drops all entries (reset). The context of
// an entry ends by withdraw, by reset, by end, or with the link. An id is free again only after the
// answer was written, so a server that reuses an id too early is refused.
type questionTable struct {
	mu      sync.Mutex // guards the fields below
	open    map[string]*context.CancelFunc
	running int // requests without an end so far, including those that reset has dropped
}

// begin records a request. It returns the context of the request and the function that ends the
// context and forgets the request. Only the goroutine that answers the request calls that function,
// once. An error is for the server.
func (t *questionTable) begin(ctx context.Context, id jsonrpc.ID) (_ context.Context, end func(), _ *jsonrpc.Error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open[id.Key()] != nil {
		return nil, nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "a request with this id is in progress"}
	}
	if t.running >= maxQuestions {
		return nil, nil, &jsonrpc.Error{Code: jsonrpc.CodeInternal, Message: "too many requests in progress"}
	}
	if t.open == nil {
		t.open = map[string]*context.CancelFunc{}
	}
	ctx, cancel := context.WithCancel(ctx)
	t.open[id.Key()] = &cancel
	t.running++
	return ctx, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		cancel()
		t.running--
		if t.open[id.Key()] == &cancel { // the id may belong to a request of a newer session
			delete(t.open, id.Key())
		}
	}, nil
}

// withdraw cancels the context of a request. Unknown and finished requests are ignored.
func (t *questionTable) withdraw(id jsonrpc.ID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if cancel := t.open[id.Key()]; cancel != nil {
		(*cancel)()
	}
}

// reset withdraws all requests and frees their ids, because their session has ended.
func (t *questionTable) reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, cancel := range t.open {
		(*cancel)()
	}
	clear(t.open)
}

// request handles a request of the server. On a revision without such requests it drops the
// request, because the revision also forbids answering it (2026-07-28 basic/transports/stdio).
//
// The reader calls it. It starts the goroutine that owns the question from then on. If the client
// is closing, spawn does not start it, and the entry in the table ends with the link.
func (c *Client) request(msg jsonrpc.Message) {
	d := c.dialect.Load()
	if d != nil && !d.ServerRequests() {
		return
	}
	ctx, end, refusal := c.questions.begin(c.link.life, msg.ID)
	if refusal != nil {
		c.refuse(jsonrpc.AppendError(nil, msg.ID, refusal, false))
		return
	}
	var p *place
	if isQuestion(msg.Method) {
		p = c.place()
	}
	_ = c.link.spawn(func() {
		defer p.leave()
		c.reply(p.at(ctx), d, msg, end)
	})
}

// isQuestion reports whether a request of the server goes to a handler.
func isQuestion(method string) bool {
	return method == protocol.MethodElicit || method == protocol.MethodCreateMessage || method == protocol.MethodListRoots
}

// refuse answers a request of the server with an error. The reader calls it, so over HTTP, where a
// Write waits for the server, it has a time limit.
func (c *Client) refuse(frame []byte) {
	ctx := c.link.life
	if c.http != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, farewell)
		defer cancel()
	}
	_ = c.link.send(ctx, frame) // the reader notices a lost connection
}

// reply answers a request of the server, even if the handler ends its goroutine, as t.FailNow does.
// Otherwise the server would wait forever. A withdrawn question is not answered.
//
// The deferred function decides by the context, once, whether the answer is sent. After the Send it
// calls end, which ends the entry in the table. If the question has become a task, the same goroutine
// then runs the handler, and keeps the place of the question until the handler has returned.
func (c *Client) reply(ctx context.Context, d *dialect.Dialect, msg jsonrpc.Message, end func()) {
	frame := jsonrpc.AppendError(nil, msg.ID, &jsonrpc.Error{
		Code: jsonrpc.CodeInternal, Message: "the client's handler did not return",
	}, false)
	var created *receivedTask
	defer func() {
		withdrawn := ctx.Err() != nil
		if !withdrawn {
			_ = c.link.send(c.link.life, frame) // the reader notices a lost connection
		}
		end()
		switch {
		case created == nil:
		case withdrawn: // the server does not wait for the task any more
			c.received.forget(created)
		default:
			c.perform(placeOf(ctx).at(created.life), d, created)
		}
	}()
	result, created, err := c.result(ctx, d, msg)
	if err != nil {
		frame = jsonrpc.AppendError(nil, msg.ID, wireError(d, err), false)
		return
	}
	frame = jsonrpc.AppendResult(nil, msg.ID, result)
}

// wireError returns the error that the server receives for err. Texts of handlers stay here, unless
// they are errors of the protocol or describe the server's own form.
func wireError(d *dialect.Dialect, err error) *jsonrpc.Error {
	if errors.Is(err, ErrRejected) {
		err = protocol.Faultf(protocol.FaultRejected, "The user rejected the request.")
	}
	if e := d.Error(err); e != nil {
		return e
	}
	if errors.Is(err, ErrInvalidAnswer) { // the text describes the form, not the user's answer
		return &jsonrpc.Error{Code: jsonrpc.CodeInternal, Message: err.Error()}
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInternal, Message: "the client's handler failed"}
}

// result runs the handler of a request, or turns the request into a task. Before a revision is
// offered, only pings are expected (2025-11-25 basic/lifecycle "Initialization").
func (c *Client) result(ctx context.Context, d *dialect.Dialect, msg jsonrpc.Message) ([]byte, *receivedTask, error) {
	if msg.Method == protocol.MethodPing {
		return []byte("{}"), nil, nil
	}
	if d == nil {
		return nil, nil, unknown(msg.Method)
	}
	params, fault := d.DecodeParams(msg.Method, msg.Params)
	if fault != nil {
		return nil, nil, fault
	}
	if isTaskMethod(msg.Method) {
		raw, err := c.serveTask(ctx, d, params)
		return raw, nil, err
	}
	if wish := c.wishFor(d, params); wish != nil {
		created, result, err := c.receive(params, wish)
		if err != nil {
			return nil, nil, err
		}
		raw, err := d.AppendResult(nil, result, nil)
		return raw, created, err
	}
	meta, _ := d.DecodeMeta(msg.Params) // a malformed _meta does not prevent an answer
	raw, err := c.answered(ctx, d, params, meta.RelatedTask)
	return raw, nil, err
}

// unknown returns the fault for a method that the client does not serve.
func unknown(method string) error {
	return protocol.Faultf(protocol.FaultMethodNotFound, "the client does not support %s", method)
}

// handle waits for the turn of the question and runs its handler, in the calling goroutine. If ctx
// ends before the turn, it returns the cause, and the handler does not run.
func (c *Client) handle(ctx context.Context, params protocol.Params) (protocol.Result, error) {
	if err := inTurn(ctx); err != nil {
		return nil, err
	}
	switch p := params.(type) {
	case *protocol.ElicitParams:
		return c.elicit(ctx, p)
	case *protocol.CreateMessageParams:
		return c.sample(ctx, p)
	case *protocol.ListRootsParams:
		return c.listRoots(ctx, p)
	}
	return nil, unknown(protocol.MethodOf(params))
}

// elicit asks the function of Approve and then the handler of OnElicit. A refusal by Approve is an
// answer, not an error.
func (c *Client) elicit(ctx context.Context, p *protocol.ElicitParams) (protocol.Result, error) {
	if c.config.elicit == nil {
		return nil, unknown(protocol.MethodOf(p))
	}
	if p.URL != "" && !c.can.ElicitURL {
		return nil, protocol.Faultf(protocol.FaultInvalidParams, "the client did not declare elicitation by URL")
	}
	q := &ElicitRequest{Message: p.Message, Schema: p.Schema, URL: p.URL, ID: p.ID}
	approval, err := elicitApproval(q)
	if err != nil {
		return nil, err
	}
	if err := c.approved(ctx, approval); errors.Is(err, ErrRejected) {
		return &protocol.ElicitResult{Action: "decline"}, nil
	} else if err != nil {
		return nil, err
	}
	a, err := c.config.elicit(ctx, q)
	if err != nil {
		return nil, err
	}
	if a == nil {
		return nil, errors.New("no answer")
	}
	switch {
	case a.Action == "accept" && p.URL == "":
		content, err := c.filledIn(p.Schema, a.Content)
		return &protocol.ElicitResult{Action: a.Action, Content: content}, err
	case a.Action == "accept", a.Action == "decline", a.Action == "cancel": // a URL elicitation is answered on its page
		return &protocol.ElicitResult{Action: a.Action}, nil
	}
	return nil, fmt.Errorf("unknown action %q", a.Action)
}

// filledIn returns the content of an accepted form, completed with defaults and checked.
func (c *Client) filledIn(schema []byte, answer map[string]any) (json.RawMessage, error) {
	if answer == nil {
		answer = map[string]any{}
	}
	content, err := json.Marshal(answer)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalidAnswer, err)
	}
	if c.config.unchecked {
		return content, nil
	}
	form, err := ParseForm(schema)
	if err != nil { // a schema that only the server understands is not checked
		return content, nil //nolint:nilerr // see above
	}
	content = form.Fill(content)
	if err := form.Check(content); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalidAnswer, err)
	}
	return content, nil
}

// sample asks the function of Approve and then the handler of OnSample. A refusal by Approve is an
// error that wraps ErrRejected.
func (c *Client) sample(ctx context.Context, p *protocol.CreateMessageParams) (protocol.Result, error) {
	if c.config.sample == nil {
		return nil, unknown(protocol.MethodOf(p))
	}
	q := &SampleRequest{
		Messages: p.Messages, System: p.System, MaxTokens: p.MaxTokens, Tools: p.Tools,
		ToolChoice: p.ToolChoice, Preferences: p.Preferences, Temperature: p.Temperature,
		StopSequences: p.StopSequences, IncludeContext: p.IncludeContext, Metadata: p.Metadata,
	}
	if err := c.approved(ctx, sampleApproval(q)); err != nil {
		return nil, err
	}
	a, err := c.config.sample(ctx, q)
	if err != nil {
		return nil, err
	}
	if a == nil {
		return nil, errors.New("no answer")
	}
	return &protocol.CreateMessageResult{
		Role: protocol.RoleAssistant, Content: a.Content, Model: a.Model, StopReason: a.StopReason,
	}, nil
}

// listRoots is like sample, for the handler of OnRoots.
func (c *Client) listRoots(ctx context.Context, p *protocol.ListRootsParams) (protocol.Result, error) {
	if c.config.roots == nil {
		return nil, unknown(protocol.MethodOf(p))
	}
	if err := c.approved(ctx, &Approval{Kind: "roots"}); err != nil {
		return nil, err
	}
	roots, err := c.config.roots(ctx)
	return &protocol.ListRootsResult{Roots: roots}, err
}
