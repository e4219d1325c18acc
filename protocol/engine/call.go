package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
	"github.com/kagami-mcp/kagami/protocol/rounds"
	"github.com/kagami-mcp/kagami/transport"
)

// ErrCannotAsk is returned by Ask where the client cannot be asked: its
// revision has no such request, it did not declare the capability, or the
// answer to the call has been sent.
var ErrCannotAsk = errors.New("engine: the client cannot be asked")

// Call is one request in progress, as handlers see it. All methods may be
// called concurrently, and do nothing harmful once the call has been answered.
type Call struct {
	Params  protocol.Params
	Dialect *dialect.Dialect
	Meta    Meta
	Round   int // of the logical call; 0 is the first

	x      *exchange
	run    *execution // of the task whose handler runs; nil: the handler of a request
	number uint64     // counts the logical calls that began in this engine
	id     string     // of a logical call that began in an earlier round, or on another node; empty: see number

	round atomic.Pointer[round]   // nil until the client is asked in rounds, or answers
	once  atomic.Pointer[effects] // see effects; nil: nothing has used them

	crashed  atomic.Pointer[error] // why Config.Performed or an unavailable store ended the execution; nil: they did not
	returned atomic.Bool           // the handler has returned: it can ask no more
	silent   bool                  // nothing is sent for it: a check of replay

	detachable bool        // Detach makes it a task
	detached   atomic.Bool // Detach was called: the call becomes a task when the handler returns

	resumed *resumed // the state and answers that came with this round; nil: none
}

// Meta is the _meta of a request. What was read in it is read-only, since requests with the same
// _meta share it.
type Meta struct {
	*protocol.RequestMeta
	Raw json.RawMessage // as received; nil: there was none
}

var noMeta = Meta{RequestMeta: dialect.NoMeta}

// resumed is what a client sent with another round of a call, and the result of claiming that
// round.
type resumed struct {
	inputs  *protocol.Inputs
	begun   sync.Once
	refusal error // what Begin returns; set under begun
	earlier atomic.Pointer[outcomeError]
}

// outcome returns the recorded outcome of an earlier execution of the same round; nil: there is
// none.
func (r *resumed) outcome() *outcomeError {
	if r == nil {
		return nil
	}
	return r.earlier.Load()
}

type callKey struct{}

// From is the call that ctx belongs to, or nil.
func From(ctx context.Context) *Call {
	c, _ := ctx.Value(callKey{}).(*Call)
	return c
}

// ID names the logical call, the same in every round and unlike any other of this engine.
func (c *Call) ID() string {
	if c.id != "" {
		return c.id
	}
	return c.x.conn.e.callPrefix + strconv.FormatUint(c.number, 36)
}

// Lend lends an empty buffer for text of the handler's result. The text must go nowhere else:
// the buffer is used again as soon as the call is answered. ok is false if the buffer is lent
// already, and in executions whose result is not the answer, such as those of tasks. The
// borrower must return the buffer by Lent. Only the goroutine that the handler was called in
// may call the two.
func (c *Call) Lend() (room []byte, ok bool) {
	if c.x == nil || c != &c.x.own || c.x.lent != nil {
		return nil, false
	}
	c.x.lent = c.x.conn.e.buffers.take()
	return c.x.lent.b, true
}

// Lent returns the buffer of Lend, with the text that was appended to it.
func (c *Call) Lent(text []byte) { c.x.lent.b = text }

// RequestID is the JSON-RPC id, as JSON.
func (c *Call) RequestID() string { return c.x.id.String() }

// Session names the handshake session; empty on 2026-07-28.
func (c *Call) Session() string {
	if s := c.x.session; s != nil {
		return s.id
	}
	return ""
}

// Client is who the client says it is; never a reason to behave otherwise
// (2026-07-28 basic). Zero if it did not say.
func (c *Call) Client() protocol.Implementation {
	if c.Meta.Client != nil {
		return *c.Meta.Client
	}
	if s := c.x.session; s != nil {
		return s.client
	}
	return protocol.Implementation{}
}

// Capabilities are what the client declared: in this request on 2026-07-28,
// else at the handshake.
func (c *Call) Capabilities() protocol.ClientCapabilities {
	if c.Meta.Capabilities != nil {
		return *c.Meta.Capabilities
	}
	if s := c.x.session; s != nil {
		return s.capabilities
	}
	return protocol.ClientCapabilities{}
}

// Header is the HTTP header of the request; nil on other carriers. Read-only.
func (c *Call) Header() http.Header {
	if r := c.x.request; r != nil {
		return r.Fields.Header()
	}
	return nil
}

// RemoteAddr is the client's address; empty on carriers without one.
func (c *Call) RemoteAddr() string {
	if r := c.x.request; r != nil {
		return r.RemoteAddr
	}
	if link := c.x.conn.link; link != nil {
		return link.RemoteAddr
	}
	return ""
}

// Principal is who calls, or nil.
func (c *Call) Principal(ctx context.Context) *transport.Principal {
	return transport.PrincipalFrom(ctx)
}

// Progress tells the client how far the call is, if it asked for that. A total that is
// nil, NaN or infinite is unknown. Reports whose done does not increase, or is NaN or
// infinite, are dropped: the specification wants each to be greater than the one before
// (basic/utilities/progress).
func (c *Call) Progress(ctx context.Context, done float64, total *float64, message string) {
	if c.run != nil && c.Dialect.TaskExtension() {
		if message != "" && !c.silent {
			c.run.setMessage(ctx, c.run.began, message)
		}
		return
	}
	if c.Meta.ProgressToken.IsZero() || c.silent || !finite(done) {
		return
	}
	known := math.NaN()
	if total != nil && finite(*total) {
		known = *total
	}
	c.outlet().progress(ctx, c.Meta.ProgressToken, done, known, message)
}

// finite reports whether f has a form in JSON.
func finite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }

// WantsProgress says whether the client asked for progress. In a task of 2026-07-28
// it always does: the message is that of the task's status.
func (c *Call) WantsProgress() bool {
	return !c.Meta.ProgressToken.IsZero() || c.run != nil && c.Dialect.TaskExtension()
}

// Logs says whether the client wants log messages of this level from this call:
// by the level of the request on 2026-07-28, else by that of the session.
// Without a level nothing is sent.
func (c *Call) Logs(level protocol.Level) bool {
	limit := c.Meta.LogLevel
	if s := c.x.session; s != nil {
		limit = s.logLevel()
	}
	return limit != "" && level.Severity() >= limit.Severity()
}

// Log sends a log message if the client wants it. data is one JSON value; other data is reported to
// Config.Failed instead.
func (c *Call) Log(ctx context.Context, level protocol.Level, logger string, data []byte) {
	if !c.Logs(level) || c.silent {
		return
	}
	if err := jsontext.Check(data, jsontext.DefaultLimits()); err != nil {
		c.x.conn.e.failed(ctx, c, fmt.Errorf("engine: the data of a log message is no JSON: %w", err))
		return
	}
	c.outlet().notify(ctx, &protocol.LogParams{Level: level, Logger: logger, Data: data})
}

// Ask sends a request of our own to the client, on the stream of this call, and
// waits for the answer: elicitation, sampling, roots, ping. The wait ends with
// ctx, with the configured timeout since the last sign of progress, or with the
// connection; the client is then told by notifications/cancelled. The error is
// ErrCannotAsk, the client's *protocol.Error or *protocol.Fault, or the reason
// that ended the wait.
func (c *Call) Ask(ctx context.Context, p protocol.Params, progress func(protocol.Progress)) (protocol.Result, error) {
	return c.askInTurn(ctx, p, progress, nil)
}

func (c *Call) askInTurn(ctx context.Context, p protocol.Params, progress func(protocol.Progress), t *sendOrder) (protocol.Result, error) {
	if !c.Dialect.ServerRequests() || !c.canAsk(p) {
		return nil, ErrCannotAsk
	}
	return c.x.ask(ctx, p, progress, t)
}

// Question is one that a handler puts to the client: elicitation, sampling or roots.
type Question struct {
	// Key names the question among those of the call; "" is its place in the order
	// of the questions. The same question must have the same key in each round.
	Key      string
	Params   protocol.Params
	Progress func(protocol.Progress) // may be nil; where the client is asked live
}

// Reply is what came of a Question.
type Reply struct {
	Result protocol.Result
	Err    error
}

// Questions puts all questions to the client at once, in their order, and returns what came
// of each. Where the client can be asked live it waits, as Ask does. On 2026-07-28, and in
// tasks, an answer comes from the journal of the call; without one the error is
// ErrPending: the question is filed, the context of the handler has ended, and the
// handler will run again with the answer.
func (c *Call) Questions(ctx context.Context, all ...Question) []Reply {
	if c.Replays() {
		if err := c.Begin(ctx); err != nil {
			return failedReplies(len(all), err)
		}
		if c.returned.Load() {
			return failedReplies(len(all), ErrCannotAsk)
		}
		if c.crashed.Load() != nil || c.detached.Load() {
			return failedReplies(len(all), ErrPending)
		}
		return c.newRound(&rounds.Journal{Call: c.ID()}).questions(all)
	}
	replies := make([]Reply, len(all))
	inTurn(len(all), func(i int, t *sendOrder) {
		replies[i].Result, replies[i].Err = c.askInTurn(ctx, all[i].Params, all[i].Progress, t)
	})
	return replies
}

// failedReplies returns n replies with the same error.
func failedReplies(n int, err error) []Reply {
	replies := make([]Reply, n)
	for i := range replies {
		replies[i].Err = err
	}
	return replies
}

// Begin is called when the handler's own work begins, after all that decides whether
// it may: a round that was executed before is not executed again. ErrPending says
// that its recorded outcome will be the answer, or that the store cannot say whether there
// is one; another error refuses.
func (c *Call) Begin(ctx context.Context) error {
	r := c.resumed
	if r == nil || c.silent {
		return nil
	}
	r.begun.Do(func() {
		err := c.x.claimRound(ctx, r.inputs)
		earlier, executed := errors.AsType[*outcomeError](err)
		_, away := errors.AsType[*storeError](err)
		switch {
		case executed:
			r.earlier.Store(earlier)
			r.refusal = ErrPending
		case away:
			c.crashed.CompareAndSwap(nil, &err)
			r.refusal = ErrPending
		default:
			r.refusal = err
		}
	})
	return r.refusal
}

// Once runs effect unless it has happened in this logical call, and keeps its
// result. An effect that fails has not happened. ErrPending: a question is pending,
// and nothing new may happen in this round. The value is shared: read-only.
func (c *Call) Once(ctx context.Context, key string, effect func(context.Context) ([]byte, error)) ([]byte, error) {
	if j := c.run; j != nil {
		if err := j.own(); err != nil {
			return nil, err
		}
		value, err := c.effects().run(ctx, key, effect, c.Pending)
		if err == nil && !c.silent {
			err = j.keep(ctx, c)
		}
		return value, err
	}
	if performed := c.x.conn.e.cfg.Performed; performed != nil && c.Dialect.InputRounds() {
		effect = c.reported(key, effect, performed)
	}
	return c.effects().run(ctx, key, effect, c.Pending)
}

// reported returns an effect that calls performed (Config.Performed) after effect has happened. If
// performed fails, the execution ends as if a question were pending, and its error is the answer.
func (c *Call) reported(key string, effect func(context.Context) ([]byte, error), performed func(context.Context, string) error) func(context.Context) ([]byte, error) {
	return func(ctx context.Context) ([]byte, error) {
		value, err := effect(ctx)
		if err != nil {
			return nil, err
		}
		if crash := performed(ctx, key); crash != nil {
			c.crashed.CompareAndSwap(nil, &crash)
			c.outlet().end(ErrPending)
			return nil, ErrPending
		}
		return value, nil
	}
}

// crash returns why the execution was ended early; nil: it was not.
func (c *Call) crash() error {
	if err := c.crashed.Load(); err != nil {
		return *err
	}
	return nil
}

// Pending says whether a question is filed, the call was detached, the outcome of an
// earlier execution is the answer, or Config.Performed or a store that is away ended the
// execution: what the handler returns does not count.
func (c *Call) Pending() bool {
	r := c.round.Load()
	return r != nil && r.pending() || c.crashed.Load() != nil || c.resumed.outcome() != nil || c.detached.Load()
}

// InReplayCheck reports whether this execution only checks that the one before it can be
// replayed (Config.ReplayCheck). Nothing of such an execution counts.
func (c *Call) InReplayCheck() bool { return c.silent }

// MayAsk says whether the revision lets this call ask the client anything: live, or, by three
// methods, in rounds (2026-07-28 basic/patterns/mrtr). What the client has declared is not
// looked at.
func (c *Call) MayAsk() bool {
	if c.Dialect.ServerRequests() {
		return true
	}
	switch c.Params.(type) {
	case *protocol.CallToolParams, *protocol.ReadResourceParams, *protocol.GetPromptParams: // see inputs
		return c.Dialect.InputRounds()
	}
	return false
}

// canAsk says whether this call can put p to the client.
func (c *Call) canAsk(p protocol.Params) bool {
	if !c.MayAsk() || !c.Dialect.ServerMethod(p.Method()) {
		return false
	}
	can := c.Capabilities()
	switch p := p.(type) {
	case *protocol.ElicitParams:
		return p.URL == "" && can.Elicitation || p.URL != "" && can.ElicitURL
	case *protocol.CreateMessageParams:
		return can.Sampling && (len(p.Tools) == 0 || can.SamplingTool)
	case *protocol.ListRootsParams:
		return can.Roots
	}
	return true
}
