package engine

import (
	"context"
	"errors"
	"math"
	"net/http"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/protocol/engine/internal/feed"
	"github.com/kagami-mcp/kagami/protocol/engine/internal/framebuf"
	"github.com/kagami-mcp/kagami/protocol/engine/internal/roundstore"
	"github.com/kagami-mcp/kagami/protocol/jsonrpc"
	"github.com/kagami-mcp/kagami/protocol/lazyctx"
	"github.com/kagami-mcp/kagami/transport"
)

// exchange is one inbound message and the work that it causes. Accept makes and fills it. Serve runs
// it, in any goroutine.
//
// An exchange with a request goes through these states: Accept registers it as in flight
// (registered), and Serve runs its handler. Then it is either answered (closed) or abandoned, because
// the client has cancelled it. Both states are final. Notifications and requests to the client are
// written under the read lock of sending, and only while the exchange is neither closed nor
// abandoned. close takes the write lock, so that it waits for them: the answer follows everything
// that was sent before it.
type exchange struct {
	origin

	frame      []byte
	method     string
	call       *Call // nil for responses, for refused requests, and for most notifications
	registered bool  // Accept has put the request in flight

	uncounted    bool              // accepted while the server stops; Shutdown does not wait for it
	forwarded    bool              // another node received it from the client
	unregistered atomic.Bool       // no longer in flight; see conn.unregister
	feed         *feed.Feed        // of a listen request; otherwise nil
	record       *roundstore.Claim // the claim of this round; nil: the outcome is not recorded
	created      *job              // the task that the call became; started after the answer

	refuse *jsonrpc.Error // set by Accept: the only answer
	status int            // the HTTP status of refuse
	run    step           // the step of a notification or a response; nil for requests

	out transport.Outbound // set by Serve; nil before that, and in executions of tasks

	// sending is read-locked while a notification or a request of this call is written. It is locked
	// to close the call.
	sending   sync.RWMutex
	closed    bool        // guarded by sending
	reported  bool        // there was a progress report; guarded by reporting
	abandoned atomic.Bool // the client has cancelled the call: nothing more is sent

	// life is the context of the request. It ends when the client cancels, the carrier ends, or the
	// call is over. It is not used in executions of tasks.
	life lazyctx.Context

	// reporting is held from the check that progress increases until the report is written, so that
	// reports of two goroutines cannot overtake each other.
	reporting sync.Mutex
	done      float64 // of the last progress report; guarded by reporting

	own Call // memory for the Call that call points to, except in executions of tasks
}

type exchangeKey struct{}

// Value implements lazyctx.Values: the context of a request has its exchange and its call. Frame
// middleware must not see the call. If there is any, handle adds the call to the context later.
func (x *exchange) Value(key any) any {
	switch key.(type) {
	case exchangeKey:
		return x
	case callKey:
		if len(x.conn.e.cfg.Frames) == 0 {
			return x.call
		}
	}
	return nil
}

func (x *exchange) newCall(p protocol.Params, m Meta) *Call {
	c := &x.own
	c.Params, c.Dialect, c.Meta, c.out, c.number = p, x.dialect, m, x, x.conn.e.calls.Add(1)
	return c
}

func (x *exchange) register() *protocol.Fault {
	fault := x.conn.register(x)
	x.registered = fault == nil
	return fault
}

// Serve runs the frame-level chain around the exchange.
func (x *exchange) Serve(ctx context.Context, out transport.Outbound) error {
	if !x.uncounted {
		defer x.conn.e.leave(x.conn)
	}
	return x.serve(ctx, out)
}

func (x *exchange) serve(ctx context.Context, out transport.Outbound) (err error) {
	returned := false
	defer func() { x.rescue(ctx, out, recover(), returned, &err) }()
	switch {
	case x.registered:
		defer x.over()
		x.life.Begin(ctx, x)
		ctx = &x.life
	case len(x.conn.e.cfg.Frames) > 0:
		ctx = context.WithValue(ctx, exchangeKey{}, x)
	}
	if len(x.conn.e.cfg.Frames) == 0 {
		err = x.handle(ctx, out)
	} else {
		err = x.stopped(ctx, out, x.conn.e.frames(ctx, x.frame, out))
	}
	returned = true
	return err
}

// stopped answers a request if frame middleware returned err instead of calling next.
func (x *exchange) stopped(ctx context.Context, out transport.Outbound, err error) error {
	if err == nil || x.out != nil || !x.registered && x.refuse == nil {
		return err
	}
	if x.out = out; x.refuse != nil {
		return x.sendError(ctx, x.refuse)
	}
	return x.answer(ctx, nil, err)
}

// over ends a request: it ends the context, releases requests that wait for initialize, and takes the
// request out of flight.
func (x *exchange) over() {
	x.life.End(nil)
	if x.method == protocol.MethodInitialize {
		x.session.opened.Release()
	}
	x.conn.unregister(x)
}

// errGoexit is the panic value for a handler that has ended its goroutine.
var errGoexit = errors.New("the handler called runtime.Goexit")

// rescue recovers panics of frame middleware and of OnRootsChanged, and handles handlers that end
// their goroutine, as t.FailNow does. A request still gets an answer.
func (x *exchange) rescue(ctx context.Context, out transport.Outbound, v any, returned bool, err *error) {
	switch {
	case v == nil && returned:
		return
	case v == nil:
		v = errGoexit
	}
	panicked := &PanicError{Value: v, Stack: debug.Stack()}
	if !x.registered { // a notification or a response, which is not answered
		x.conn.e.failed(ctx, x.call, panicked)
		return
	}
	if x.out == nil {
		x.out = out
	}
	*err = x.sendError(ctx, x.wireError(ctx, x.call, panicked))
}

func (x *exchange) handle(ctx context.Context, out transport.Outbound) error {
	x.out = out
	switch {
	case x.refuse != nil:
		return x.sendError(ctx, x.refuse)
	case x.run != nil:
		return x.run(ctx, out)
	}
	if fault := x.await(ctx); fault != nil {
		return x.answer(ctx, nil, fault)
	}
	if len(x.conn.e.cfg.Frames) > 0 { // frame middleware must not see the call
		ctx = context.WithValue(ctx, callKey{}, x.call)
	}
	defer x.launch()
	result, err := x.dispatch(ctx)
	err = x.answer(ctx, result, err)
	if lent := x.own.lent; lent != nil { // the answer has been sent, and nothing else refers to the result
		x.conn.e.buffers.Give(lent)
		x.own.lent = nil
	}
	return err
}

// outlive returns the context for work that goes on after the exchange: transport.WithoutRequest of
// the context that the carrier passed to Serve. Frame middleware may have added values to ctx. If
// there is any, outlive derives the result from ctx, which keeps the request in memory.
func (x *exchange) outlive(ctx context.Context) context.Context {
	if len(x.conn.e.cfg.Frames) > 0 {
		return transport.WithRequest(context.WithoutCancel(ctx), nil)
	}
	return transport.WithoutRequest(x.life.Parent())
}

// launch starts the task that the call became. It is called after the answer with the task's id was
// sent.
func (x *exchange) launch() {
	if x.created != nil {
		go x.created.work()
	}
}

// await waits until the initialize of the session has been answered, so that a client that does not
// wait gets the answers in order. If initialize was answered with an error, await returns a fault.
func (x *exchange) await(ctx context.Context) *protocol.Fault {
	if x.session == nil || x.method == protocol.MethodInitialize {
		return nil
	}
	if opened, already := x.session.opened.Wait(); !already { // creating the Done channel of ctx would allocate
		select {
		case <-opened:
		case <-ctx.Done():
		}
	}
	if x.session.unopened.Load() {
		return needsSession()
	}
	return nil
}

// end implements outlet. The handler's context ends, and the request is answered when the handler
// returns.
func (x *exchange) end(cause error) { x.life.End(cause) }

// source implements outlet.
func (x *exchange) source() *origin { return &x.origin }

// taskID implements outlet.
func (x *exchange) taskID() string { return "" }

// willRetry implements outlet.
func (x *exchange) willRetry() bool { return false }

// lend implements outlet. Executions that check the replay do not get the buffer.
func (x *exchange) lend(c *Call) *framebuf.Buffer {
	if c != &x.own {
		return nil
	}
	return x.conn.e.buffers.Take()
}

// once implements outlet.
func (x *exchange) once(ctx context.Context, c *Call, key string, effect func(context.Context) ([]byte, error)) ([]byte, error) {
	if performed := x.conn.e.cfg.Performed; performed != nil && x.dialect.InputRounds() {
		effect = c.reported(key, effect, performed)
	}
	return c.effects().Run(ctx, key, effect, c.Pending)
}

// abandon ends the call after the client has cancelled it, and sends nothing more for it (2026-07-28
// basic/transports/stdio: MUST NOT send any further message; earlier revisions: SHOULD NOT respond).
func (x *exchange) abandon(cause error) {
	x.abandoned.Store(true) // before the context ends, because the handler may then answer at once
	x.end(cause)
	x.conn.unregister(x) // before close, which waits for frames that are being written
	x.close()
}

// notify implements outlet. If the call was answered, notify sends nothing.
func (x *exchange) notify(ctx context.Context, p protocol.Params) {
	room := x.conn.e.buffers.Take()
	defer x.conn.e.buffers.Give(room)
	x.sendNotice(ctx, room, p)
}

// progress implements outlet. It does not allocate, because handlers may report in a loop: it copies
// the parameters into the pooled buffer.
func (x *exchange) progress(ctx context.Context, token jsonrpc.ID, done, total float64, message string) {
	x.reporting.Lock()
	defer x.reporting.Unlock()
	if token.IsZero() || !finite(done) || x.reported && done <= x.done {
		return
	}
	x.reported, x.done = true, done
	room := x.conn.e.buffers.Take()
	defer x.conn.e.buffers.Give(room)
	room.Report = protocol.ProgressParams{Token: token, Done: done, Message: message}
	if !math.IsNaN(total) {
		room.Total = total
		room.Report.Total = &room.Total
	}
	x.sendNotice(ctx, room, &room.Report)
}

func (x *exchange) sendNotice(ctx context.Context, room *framebuf.Buffer, p protocol.Params) {
	var err error
	if room.B, err = feed.AppendNotification(room.B, x.dialect, p, nil); err != nil {
		x.conn.e.failed(ctx, x.call, err) // without the lock, because Config.Failed may log to this call
		return
	}
	x.sending.RLock()
	defer x.sending.RUnlock()
	if x.closed || x.abandoned.Load() || x.out == nil {
		return
	}
	_ = x.out.Send(ctx, transport.Frame{JSON: room.B}) // if the client is gone, sending the answer fails
}

// close makes the call send nothing more. It returns false if the call was closed before.
func (x *exchange) close() bool {
	x.sending.Lock()
	defer x.sending.Unlock()
	if x.closed {
		return false
	}
	x.closed = true
	return true
}

func (x *exchange) answer(ctx context.Context, result protocol.Result, err error) error {
	if earlier, ok := errors.AsType[*roundstore.Outcome](err); ok {
		return x.repeat(ctx, earlier)
	}
	if refused, ok := errors.AsType[*transport.AuthError](err); ok {
		return x.forbid(ctx, refused)
	}
	if err != nil {
		var converted *protocol.CallToolResult
		if converted = x.argumentResult(x.call, err); converted == nil {
			after, _ := protocol.RetryAfter(err)
			return x.sendErrorAfter(ctx, x.wireError(ctx, x.call, err), after)
		}
		result = converted
	}
	room := x.conn.e.buffers.Take()
	defer x.conn.e.buffers.Give(room)
	head := x.resultFrame(room.B)
	room.B, err = x.dialect.AppendResult(head, result, x.conn.e.serverInfo[x.dialect])
	if err != nil {
		return x.sendError(ctx, x.wireError(ctx, x.call, err))
	}
	x.settled(ctx, room.B[len(head):], nil)
	room.B = append(room.B, '}')
	return x.finish(ctx, transport.Frame{JSON: room.B})
}

// resultFrame appends the part of an answer that precedes its result.
func (x *exchange) resultFrame(dst []byte) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","id":`...)
	return append(x.id.Append(dst), `,"result":`...)
}

// repeat answers with the outcome of an earlier execution.
func (x *exchange) repeat(ctx context.Context, earlier *roundstore.Outcome) error {
	if earlier.Fault != nil {
		return x.sendError(ctx, earlier.Fault)
	}
	if lacking := x.call.unable(earlier.Result); lacking != nil {
		return x.sendError(ctx, x.fault(lacking))
	}
	return x.finish(ctx, transport.Frame{JSON: append(append(x.resultFrame(nil), earlier.Result...), '}')})
}

// forbid answers a caller whose authorization is missing or not sufficient. An HTTP response that has
// not begun gets the status and the challenge of the refusal. The client does not see the reason.
func (x *exchange) forbid(ctx context.Context, refused *transport.AuthError) error {
	status := refused.HTTPStatus()
	wire := &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: http.StatusText(status)}
	x.settled(ctx, nil, wire)
	x.unopen()
	return x.finish(ctx, transport.Frame{
		JSON: jsonrpc.AppendError(nil, x.id, wire, false), Status: status, Challenge: refused.Challenge,
	})
}

// finish closes the call and sends answer, unless the call was abandoned. It frees the id before
// that, because the client may use the id again as soon as it has the answer.
func (x *exchange) finish(ctx context.Context, answer transport.Frame) error {
	if x.abandoned.Load() || !x.close() {
		return nil
	}
	if x.registered {
		x.conn.unregister(x)
	}
	answer.Final = true
	return x.out.Send(ctx, answer)
}

// unopen removes the session if the exchange is an initialize that is answered with an error.
func (x *exchange) unopen() {
	if x.registered && x.method == protocol.MethodInitialize {
		x.conn.unopen(x.session)
	}
}

func (x *exchange) sendError(ctx context.Context, wire *jsonrpc.Error) error {
	return x.sendErrorAfter(ctx, wire, 0)
}

// sendErrorAfter is like sendError, but the client should wait for the time after before it tries
// again.
func (x *exchange) sendErrorAfter(ctx context.Context, wire *jsonrpc.Error, after time.Duration) error {
	x.settled(ctx, nil, wire)
	x.unopen()
	nullID := x.dialect != nil && x.dialect.NullErrorID()
	status := x.status
	if wire != x.refuse {
		status = x.answerStatus(wire.Code)
	}
	return x.finish(ctx, transport.Frame{
		JSON: jsonrpc.AppendError(nil, x.id, wire, nullID), Status: status, RetryAfter: after,
	})
}

// Plan implements transport.Planned.
func (x *exchange) Plan() transport.Plan {
	p := transport.Plan{Answered: x.run == nil, LongLived: x.feed != nil || x.method == protocol.MethodTaskResult}
	if d := x.dialect; d != nil {
		p.Resumable, p.Polls, p.CancelByClose = d.Resumable(), d.PollStreams(), d.CancelByClose()
	}
	return p
}

// settled records the answer of the exchange. It does not record an answer that another execution
// might not give: of a cancelled call, an internal error, a busy server (429 and 503), or a client
// without a capability.
func (x *exchange) settled(ctx context.Context, result []byte, wire *jsonrpc.Error) {
	r := x.record
	if r == nil {
		return
	}
	x.record = nil
	var outcome *roundstore.Outcome
	switch {
	case result != nil:
		outcome = &roundstore.Outcome{Result: result}
	case wire.Code != jsonrpc.CodeInternal && wire.Code != http.StatusServiceUnavailable && dialect.HTTPStatus(wire.Code) == http.StatusOK:
		outcome = &roundstore.Outcome{Fault: wire}
	}
	if err := r.Settle(ctx, x.outlive(ctx), outcome); err != nil {
		x.conn.e.failed(ctx, x.call, err)
	}
}
