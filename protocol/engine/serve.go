package engine

import (
	"context"
	"errors"
	"runtime/debug"
	"sync/atomic"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/transport"
)

// Serve runs the frame-level chain around the exchange.
func (x *exchange) Serve(ctx context.Context, out transport.Outbound) error {
	if !x.uncounted {
		defer x.conn.e.leave(x.conn)
	}
	return x.serve(ctx, out)
}

// serve runs the exchange to its end. A batch calls it for its members, which are not counted.
// returned is false if the goroutine ends by a panic or by runtime.Goexit; rescue then answers.
// over is deferred after rescue and runs before it, so the context has ended when rescue answers.
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
	switch {
	case len(x.conn.e.cfg.Frames) == 0:
		err = x.handle(ctx, out)
	case x.registered || x.refuse != nil:
		err = x.stopped(ctx, out, x.framed(ctx, out))
	default: // a notification or a response, which is not answered
		err = x.conn.e.frames(ctx, x.frame, out)
	}
	returned = true
	return err
}

// framed runs the frame-level chain around a request. It returns an error if frame middleware has neither
// called next nor sent anything. If frame middleware has sent the answer itself, framed closes the
// request, so that an error or a panic does not cause a second answer.
func (x *exchange) framed(ctx context.Context, out transport.Outbound) error {
	watched := &watchedOutbound{next: out}
	defer func() { // runs before rescue, which would answer an open request
		if x.out == nil && watched.answered.Load() {
			x.close()
		}
	}()
	err := x.conn.e.frames(ctx, x.frame, watched)
	switch {
	case err != nil || x.out != nil || watched.sent.Load():
		return err
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return errUnanswered
}

// errUnanswered is the error for frame middleware that has returned nil without answering a request.
var errUnanswered = errors.New("engine: a frame middleware has neither called next nor sent an answer with Final set")

// watchedOutbound records whether a frame was sent, and whether the answer was sent. Frame middleware
// may call it from several goroutines.
type watchedOutbound struct {
	next           transport.Outbound
	sent, answered atomic.Bool
}

// Send implements transport.Outbound.
func (w *watchedOutbound) Send(ctx context.Context, frame transport.Frame) error {
	err := w.next.Send(ctx, frame)
	if err == nil {
		w.sent.Store(true)
		if frame.Final {
			w.answered.Store(true)
		}
	}
	return err
}

// stopped answers a request if frame middleware returned err instead of calling next.
//
// It does nothing if next was called.
func (x *exchange) stopped(ctx context.Context, out transport.Outbound, err error) error {
	if err == nil || x.out != nil {
		return err
	}
	if x.out = out; x.refuse != nil {
		return x.sendError(ctx, x.refuse)
	}
	return x.answer(ctx, nil, err)
}

// over ends a request: it ends the context, releases requests that wait for initialize, and takes the
// request out of flight.
//
// It runs once for each registered request, also after a panic. unregister has no effect if the
// answer or a cancellation has already taken the request out of flight.
func (x *exchange) over() {
	x.life.End(nil)
	if x.method == protocol.MethodInitialize {
		x.session.opened.Release()
	}
	x.conn.unregister(x)
}

// rescue recovers panics of frame middleware and of OnRootsChanged, and handles handlers that end
// their goroutine, as t.FailNow does. A request still gets an answer.
//
// It must be called by a deferred function, with the result of recover. After a Goexit the
// goroutine goes on ending, but the answer has been sent. out may be nil for a forwarded
// notification, which has no answer.
func (x *exchange) rescue(ctx context.Context, out transport.Outbound, v any, returned bool, err *error) {
	switch {
	case v == nil && returned:
		return
	case v == nil:
		v = errGoexit
	}
	panicked := &PanicError{Value: v, Stack: debug.Stack()}
	if !x.registered && x.refuse == nil { // a notification or a response, which is not answered
		x.conn.e.failed(ctx, x.call, panicked)
		return
	}
	if x.out == nil {
		x.out = out
	}
	wire := x.wireError(ctx, x.call, panicked)
	if x.refuse != nil {
		wire = x.refuse
	}
	*err = x.sendError(ctx, wire)
}

// handle is the end of the frame-level chain, in the goroutine of Serve or of a middleware. It sets
// x.out, which shows stopped that the chain has reached its end. The handler's buffer is given back
// after the answer: the result may still refer to it during Send. If the handler has ended its
// goroutine, the buffer is left to the garbage collector.
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
	defer x.launch()
	result, err := x.dispatch(ctx)
	err = x.answer(ctx, result, err)
	if lent := x.own.lent; lent != nil { // the answer has been sent, and nothing else refers to the result
		x.conn.e.buffers.Give(lent)
		x.own.lent = nil
	}
	return err
}

// launch starts the task that the call became. It is called after the answer with the task's id was
// sent.
//
// The goroutine owns the job from then on. createTask has counted it in running. If the answer
// could not be sent, the task runs all the same, because the client may have seen its id.
func (x *exchange) launch() {
	if x.created != nil {
		go x.created.work()
	}
}

// await waits until the initialize of the session has been answered, so that a client that does not
// wait gets the answers in order. If initialize was answered with an error, await returns a fault.
//
// It returns nil if ctx ends first. The handler then runs with a context that has ended.
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

// Plan implements transport.Planned.
func (x *exchange) Plan() transport.Plan {
	p := transport.Plan{Answered: x.run == nil, LongLived: x.feed != nil || x.method == protocol.MethodTaskResult}
	if d := x.dialect; d != nil {
		p.Resumable, p.Polls, p.CancelByClose = d.Resumable(), d.PollStreams(), d.CancelByClose()
	}
	return p
}
