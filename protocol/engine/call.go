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
	"github.com/kagami-mcp/kagami/protocol/engine/internal/framebuf"
	"github.com/kagami-mcp/kagami/protocol/engine/internal/replay"
	"github.com/kagami-mcp/kagami/protocol/engine/internal/roundstore"
	"github.com/kagami-mcp/kagami/protocol/engine/internal/storeerror"
	"github.com/kagami-mcp/kagami/protocol/engine/internal/wait"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
	"github.com/kagami-mcp/kagami/protocol/rounds"
	"github.com/kagami-mcp/kagami/transport"
)

// ErrCannotAsk is the error of Ask if the client cannot be asked: its revision has no such request,
// it did not declare the capability, or the call has been answered.
var ErrCannotAsk = errors.New("engine: the client cannot be asked")

// Call is one request in progress, as handlers see it. All methods but Lend and Lent are safe for
// concurrent use. They may still be called after the call has been answered, and then send nothing on
// its stream.
type Call struct {
	Params  protocol.Params
	Dialect *dialect.Dialect
	Meta    Meta
	Round   int // of the logical call, from 0

	out    outlet // nil in calls that tests make
	number uint64 // of the logical call, among those that began in this engine
	id     string // set if the logical call began in an earlier round or on another node; otherwise empty, see number

	round atomic.Pointer[round]          // nil until a question is asked in rounds, or answers arrive
	once  atomic.Pointer[replay.Effects] // see effects; nil: not used yet

	crashed  atomic.Pointer[error] // set if Config.Performed failed or a store was unavailable, which ended the execution
	returned atomic.Bool           // the handler has returned and cannot ask any more
	silent   bool                  // nothing is sent, because this execution checks the replay

	detachable bool        // Detach makes the call a task
	detached   atomic.Bool // Detach was called: the call becomes a task when the handler returns

	resumed *resumed         // the state and answers that came with this round; nil: none
	lent    *framebuf.Buffer // lent by Lend; nil: none
}

// Meta is the _meta of a request. Callers must not modify the decoded members, because requests with
// the same _meta share them.
type Meta struct {
	*protocol.RequestMeta
	Raw json.RawMessage // as received; nil: absent
}

var noMeta = Meta{RequestMeta: dialect.NoMeta}

// resumed is the state and the answers that a client sent with a further round of a call, and the
// result of claiming that round.
type resumed struct {
	x       *exchange
	inputs  *protocol.Inputs
	begun   sync.Once
	refusal error // the error of Begin; set under begun
	earlier atomic.Pointer[roundstore.Outcome]
}

// outcome returns the recorded outcome of an earlier execution of the same round, or nil.
func (r *resumed) outcome() *roundstore.Outcome {
	if r == nil {
		return nil
	}
	return r.earlier.Load()
}

type callKey struct{}

// From returns the call of ctx, or nil.
func From(ctx context.Context) *Call {
	c, _ := ctx.Value(callKey{}).(*Call)
	return c
}

// from returns the request that the call came in.
func (c *Call) from() *origin { return c.out.source() }

// ID returns the id of the logical call. It is the same in every round, and unique in this engine.
func (c *Call) ID() string {
	if c.id != "" {
		return c.id
	}
	return c.from().conn.e.callPrefix + strconv.FormatUint(c.number, 36)
}

// Lend lends an empty buffer for text of the handler's result. The text must not be used elsewhere,
// because the buffer is reused as soon as the call is answered. ok is false if the buffer is already
// lent, and in executions whose result is not the answer, as in tasks. The borrower must
// return the buffer with Lent. Call both methods only in the goroutine that runs the handler.
func (c *Call) Lend() (room []byte, ok bool) {
	if c.lent != nil || c.out == nil {
		return nil, false
	}
	if c.lent = c.out.lend(c); c.lent == nil {
		return nil, false
	}
	return c.lent.B, true
}

// Lent returns the buffer of Lend to the call, with the text that was appended to it.
func (c *Call) Lent(text []byte) { c.lent.B = text }

// RequestID returns the JSON-RPC id, as JSON.
func (c *Call) RequestID() string { return c.from().id.String() }

// Session returns the id of the handshake session. On 2026-07-28 it returns "".
func (c *Call) Session() string {
	if s := c.from().session; s != nil {
		return s.id
	}
	return ""
}

// Client returns the name and version that the client gave, or the zero value. Servers must not
// depend on it for their behavior (2026-07-28 basic).
func (c *Call) Client() protocol.Implementation {
	if c.Meta.Client != nil {
		return *c.Meta.Client
	}
	if s := c.from().session; s != nil {
		return s.Client
	}
	return protocol.Implementation{}
}

// Capabilities returns the capabilities that the client declared: in this request on 2026-07-28, and
// in the handshake on other revisions.
func (c *Call) Capabilities() protocol.ClientCapabilities {
	if c.Meta.Capabilities != nil {
		return *c.Meta.Capabilities
	}
	if s := c.from().session; s != nil {
		return s.Capabilities
	}
	return protocol.ClientCapabilities{}
}

// Header returns the HTTP header of the request, or nil on other carriers. Callers must not modify
// it.
func (c *Call) Header() http.Header {
	if r := c.from().request; r != nil {
		return r.Fields.Header()
	}
	return nil
}

// RemoteAddr returns the address of the client, or "" on carriers without addresses.
func (c *Call) RemoteAddr() string {
	if r := c.from().request; r != nil {
		return r.RemoteAddr
	}
	if link := c.from().conn.link; link != nil {
		return link.RemoteAddr
	}
	return ""
}

// Principal returns the authenticated caller, or nil.
func (c *Call) Principal(ctx context.Context) *transport.Principal {
	return transport.PrincipalFrom(ctx)
}

// Progress sends a progress report to the client, if the client asked for progress. A total that is
// nil, NaN or infinite is unknown. Progress drops a report if done does not increase, or is NaN or
// infinite: the specification requires that it increases (basic/utilities/progress). In a task of
// 2026-07-28, Progress sets the message of the task's status instead.
func (c *Call) Progress(ctx context.Context, done float64, total *float64, message string) {
	if c.silent {
		return
	}
	known := math.NaN()
	if total != nil && finite(*total) {
		known = *total
	}
	c.out.progress(ctx, c.Meta.ProgressToken, done, known, message)
}

// finite reports whether f can be represented in JSON.
func finite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }

// WantsProgress reports whether the client asked for progress. It is always true in a task of
// 2026-07-28, where the message becomes the message of the task's status.
func (c *Call) WantsProgress() bool {
	return !c.Meta.ProgressToken.IsZero() || c.Task() != "" && c.Dialect.TaskExtension()
}

// Logs reports whether the client wants log messages of this level from this call. The limit is the
// level of the request on 2026-07-28, and the level of the session on other revisions. If no level is
// set, nothing is sent.
func (c *Call) Logs(level protocol.Level) bool {
	limit := c.Meta.LogLevel
	if s := c.from().session; s != nil {
		limit = s.logLevel()
	}
	return limit != "" && level.Severity() >= limit.Severity()
}

// Log sends a log message if the client wants it. data must be one JSON value. If it is not, Log
// sends nothing and reports an error to Config.Failed.
func (c *Call) Log(ctx context.Context, level protocol.Level, logger string, data []byte) {
	if !c.Logs(level) || c.silent {
		return
	}
	if err := jsontext.Check(data, jsontext.DefaultLimits()); err != nil {
		c.from().conn.e.failed(ctx, c, fmt.Errorf("engine: the data of a log message is invalid JSON: %w", err))
		return
	}
	c.out.notify(ctx, &protocol.LogParams{Level: level, Logger: logger, Data: data})
}

// Ask sends a request of the server to the client, on the stream of this call, and waits for the
// answer: elicitation, sampling, roots, ping. The wait ends with ctx, with the connection, or when
// Config.AskTimeout has passed since the last sign of progress. Ask then sends
// notifications/cancelled. It returns ErrCannotAsk, the client's *protocol.Error or *protocol.Fault,
// or the reason for the end of the wait.
func (c *Call) Ask(ctx context.Context, p protocol.Params, progress func(protocol.Progress)) (protocol.Result, error) {
	return c.askInTurn(ctx, p, progress, nil)
}

func (c *Call) askInTurn(ctx context.Context, p protocol.Params, progress func(protocol.Progress), t *wait.Order) (protocol.Result, error) {
	if !c.Dialect.ServerRequests() || !c.canAsk(p) {
		return nil, ErrCannotAsk
	}
	return c.out.ask(ctx, p, progress, t)
}

// Question is a question that a handler asks the client: elicitation, sampling or roots.
type Question struct {
	// Key identifies the question within the call. If it is empty, the position of the question is
	// used. The same question must have the same key in each round.
	Key      string
	Params   protocol.Params
	Progress func(protocol.Progress) // called only if the client is asked live; may be nil
}

// Reply is the result of a Question.
type Reply struct {
	Result protocol.Result
	Err    error
}

// Questions asks the client all questions at once, in their order, and returns their replies. If the
// client can be asked live, Questions waits, as Ask does.
//
// On 2026-07-28, and in tasks, answers come from the journal of the call. If an answer is missing,
// the error of the reply is ErrPending: the question is registered, the context of the handler has
// ended, and the handler will run again with the answer.
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
	wait.InOrder(len(all), func(i int, t *wait.Order) {
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

// Begin must be called before the handler's own work begins, after all checks that may refuse the
// call. It claims the round, so that a round is not executed twice. If the round was executed before,
// Begin returns ErrPending, and the recorded outcome is the answer. It also returns ErrPending if the
// store is unavailable. Any other error refuses the call.
func (c *Call) Begin(ctx context.Context) error {
	r := c.resumed
	if r == nil || c.silent {
		return nil
	}
	r.begun.Do(func() {
		err := r.x.claimRound(ctx, r.inputs)
		earlier, executed := errors.AsType[*roundstore.Outcome](err)
		_, away := errors.AsType[*storeerror.Error](err)
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

// Once runs effect, unless it has happened in this logical call, and keeps its result. If the effect
// fails, it counts as not happened. Once returns ErrPending if a question is pending, because nothing
// new may happen in this round. Callers must not modify the value, which is shared.
func (c *Call) Once(ctx context.Context, key string, effect func(context.Context) ([]byte, error)) ([]byte, error) {
	return c.out.once(ctx, c, key, effect)
}

// effects returns the effects of the call. They are allocated at the first use, or by the execution of
// a task.
func (c *Call) effects() *replay.Effects {
	if f := c.once.Load(); f != nil {
		return f
	}
	limit := 0
	if c.Dialect.InputRounds() && inputs(c.Params) != nil {
		limit = c.from().conn.e.rounds.Limit()
	}
	c.once.CompareAndSwap(nil, replay.New(limit)) // fails if another goroutine was first
	return c.once.Load()
}

// reported returns an effect that calls performed (Config.Performed) after effect has happened. If
// performed fails, the execution ends as if a question were pending, and the error of performed is
// the answer.
func (c *Call) reported(key string, effect func(context.Context) ([]byte, error), performed func(context.Context, string) error) func(context.Context) ([]byte, error) {
	return func(ctx context.Context) ([]byte, error) {
		value, err := effect(ctx)
		if err != nil {
			return nil, err
		}
		if crash := performed(ctx, key); crash != nil {
			c.crashed.CompareAndSwap(nil, &crash)
			c.out.end(ErrPending)
			return nil, ErrPending
		}
		return value, nil
	}
}

// crash returns the error that ended the execution early, or nil.
func (c *Call) crash() error {
	if err := c.crashed.Load(); err != nil {
		return *err
	}
	return nil
}

// Pending reports whether the result of the handler is ignored. It is if a question is pending, the
// call was detached, or the outcome of an earlier execution is the answer. It also is if
// Config.Performed or an unavailable store ended the execution.
func (c *Call) Pending() bool {
	r := c.round.Load()
	return r != nil && r.pending() || c.crashed.Load() != nil || c.resumed.outcome() != nil || c.detached.Load()
}

// InReplayCheck reports whether this execution only checks that the execution before it can be
// replayed (Config.ReplayCheck). Results and effects of such an execution are ignored.
func (c *Call) InReplayCheck() bool { return c.silent }

// MayAsk reports whether the revision lets this call ask the client: live or, for three methods, in
// rounds (2026-07-28 basic/patterns/mrtr). It ignores the capabilities that the client has declared.
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

// canAsk reports whether this call can send p to the client.
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
