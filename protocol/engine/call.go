package engine

import (
	"context"
	"encoding/json"
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
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// Call is one request in progress, as handlers see it. All methods but Lend and Lent are safe for
// concurrent use. They may still be called after the call has been answered, and then send nothing on
// its stream.
//
// The exchange or the execution owns a Call, and its fields without atomics are set before the
// handler runs. Only lent changes later, in the goroutine of the handler. round and once are made
// by the first goroutine that needs them (CompareAndSwap), and crashed keeps its first error.
// returned is set after the handler has returned: a question of a goroutine that it has left behind
// then fails.
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
//
// begun makes goroutines of the handler that call Begin wait for the first of them, which may be
// waiting for the store or for another execution. earlier is atomic, because Pending and the
// goroutine of Serve read it without begun.
type resumed struct {
	claim   func(ctx context.Context) error
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

// from returns the request that the call came in.
//
// It must not be called if c.out is nil.
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

// RemoteAddr returns the address of the client, or "" on carriers without addresses. In a task it
// is the address of the client that created the task.
func (c *Call) RemoteAddr() string {
	if r := c.from().request; r != nil {
		return r.RemoteAddr
	}
	if link := c.from().conn.link; link != nil {
		return link.RemoteAddr
	}
	return c.from().addr
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

// Once runs effect, unless it has happened in this logical call, and keeps its result. If the effect
// fails, it counts as not happened. Once returns ErrPending if a question is pending, because nothing
// new may happen in this round. Callers must not modify the value, which is shared.
func (c *Call) Once(ctx context.Context, key string, effect func(context.Context) ([]byte, error)) ([]byte, error) {
	return c.out.once(ctx, c, key, effect)
}

// effects returns the effects of the call. They are allocated at the first use, or by the execution of
// a task.
//
// In rounds their total size is bounded by the limit of a journal. In tasks the store bounds the
// record instead.
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
//
// It is read after the handler has returned. The error takes precedence over the result and over
// pending questions.
func (c *Call) crash() error {
	if err := c.crashed.Load(); err != nil {
		return *err
	}
	return nil
}

// InReplayCheck reports whether this execution only checks that the execution before it can be
// replayed (Config.ReplayCheck). Results and effects of such an execution are ignored.
func (c *Call) InReplayCheck() bool { return c.silent }

// MayAsk reports whether the revision lets this call ask the client: live or, for three methods, in
// rounds (2026-07-28 basic/patterns/mrtr). It ignores the capabilities that the client has declared.
func (c *Call) MayAsk() bool {
	return c.Dialect.ServerRequests() || c.Dialect.InputRounds() && inputs(c.Params) != nil
}

// canAsk reports whether this call can send p to the client.
func (c *Call) canAsk(p protocol.Params) bool {
	if !c.MayAsk() || !c.Dialect.ServerMethod(protocol.MethodOf(p)) {
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

// Task returns the id of the task that the call runs in. Outside a task it returns "".
func (c *Call) Task() string {
	if c.out == nil {
		return ""
	}
	return c.out.taskID()
}

// Replays reports whether answers come from a journal, in rounds or in a task. The handler then runs
// again for each answer.
func (c *Call) Replays() bool { return c.Dialect.InputRounds() || c.Task() != "" }

// WillRetry reports whether the handler runs again, in its task, if it returns an internal error
// now. Errors of the client or the protocol cause another run only while the process stops
// (ErrShutdown): a task of a queue that has not succeeded then runs again elsewhere.
func (c *Call) WillRetry() bool { return c.out.willRetry() }

// guarded runs the handler and returns a panic as an error. Pending questions then take precedence
// over the panic, as they do over any result.
//
// It does not recover runtime.Goexit: the caller must handle that, as rescue and job.run do.
func guarded(ctx context.Context, h Handler, c *Call) (result protocol.Result, err error) {
	defer recovered(&err)
	return h.Handle(ctx, c)
}

// inputs returns the answers and the state of a request whose handler may ask in rounds. For other
// requests it returns nil.
func inputs(p protocol.Params) *protocol.Inputs {
	switch p := p.(type) {
	case *protocol.CallToolParams:
		return &p.Inputs
	case *protocol.ReadResourceParams:
		return &p.Inputs
	case *protocol.GetPromptParams:
		return &p.Inputs
	}
	return nil
}

// Notifier returns a function that sends notifications to the session of the call, even after the
// call has been answered. If there is no session, Notifier returns nil. The function returns the
// error of sending, or an error if the session has ended. It is safe for concurrent use.
func (c *Call) Notifier() func(ctx context.Context, p protocol.Params) error {
	if c.from().session == nil || c.silent {
		return nil
	}
	var meta *protocol.RequestMeta
	if task := c.Task(); task != "" {
		meta = &protocol.RequestMeta{RelatedTask: task}
	}
	e, s := c.from().conn.e, c.from().session
	return func(ctx context.Context, p protocol.Params) error { return e.notifySession(ctx, s, p, meta) }
}
