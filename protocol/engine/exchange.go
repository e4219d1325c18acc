package engine

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"

	"github.com/kagami-mcp/kagami/protocol"
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
//
// Accept writes the fields without a lock of their own before it returns, and Serve writes out,
// record, created and own while it alone owns the exchange. Other goroutines reach an exchange in
// two ways only. Goroutines of the handler use the methods of outlet. A cancellation or Shutdown
// finds it in conn.calls, and calls abandon or end.
//
// unregistered and abandoned are atomics, because they are decided by whichever comes first: the
// answer, or the cancellation. life has its own lock, which is taken last.
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

	out transport.Outbound // set by Serve; nil before that

	// sending is read-locked while a notification or a request of this call is written. It is locked
	// to close the call.
	sending   sync.RWMutex
	closed    bool        // guarded by sending
	reported  bool        // there was a progress report; guarded by reporting
	abandoned atomic.Bool // the client has cancelled the call: nothing more is sent

	// life is the context of the request. It ends when the client cancels, the carrier ends, or the
	// call is over.
	life lazyctx.Context

	// reporting is held from the check that progress increases until the report is written, so that
	// reports of two goroutines cannot overtake each other.
	reporting sync.Mutex
	done      float64 // of the last progress report; guarded by reporting

	own Call // memory for the Call that call points to
}

// step is the work of an inbound notification or response, which Serve runs.
type step = func(ctx context.Context, out transport.Outbound) error

func ignore(context.Context, transport.Outbound) error { return nil }

var _ outlet = (*exchange)(nil)

type exchangeKey struct{}

// Value implements lazyctx.Values: the context of a request has its exchange.
func (x *exchange) Value(key any) any {
	if _, ok := key.(exchangeKey); ok {
		return x
	}
	return nil
}

// newCall returns the call of the exchange, which is in the memory of the exchange. A handler that
// keeps its Call therefore keeps the exchange and its frame.
func (x *exchange) newCall(p protocol.Params, m Meta) *Call {
	c := &x.own
	c.Params, c.Dialect, c.Meta, c.out, c.number = p, x.dialect, m, x, x.conn.e.calls.Add(1)
	return c
}

// register puts x in flight. After a fault it is not in flight, and nothing has to be undone.
func (x *exchange) register() *protocol.Fault {
	fault := x.conn.register(x)
	x.registered = fault == nil
	return fault
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

// source implements outlet.
func (x *exchange) source() *origin { return &x.origin }

// taskID implements outlet.
func (x *exchange) taskID() string { return "" }

// willRetry implements outlet.
func (x *exchange) willRetry() bool { return false }

// lost implements outlet.
func (x *exchange) lost() bool { return false }

// notify implements outlet. If the call was answered, notify sends nothing.
func (x *exchange) notify(ctx context.Context, p protocol.Params) {
	room := x.conn.e.buffers.Take()
	defer x.conn.e.buffers.Give(room)
	x.sendNotice(ctx, room, p)
}

// progress implements outlet. It does not allocate, because handlers may report in a loop: it copies
// the parameters into the pooled buffer.
//
// The buffer belongs to this function until sendNotice has returned. reporting is held during the
// Send. Otherwise two goroutines could check their reports in one order and send them in the other.
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

// sendNotice encodes p into room and sends it, unless the call is closed or abandoned. The caller
// owns room. Several goroutines may hold the read lock at once: the Outbound orders their frames.
// If the client does not read, close waits for this Send, and with it the answer.
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

// once implements outlet.
func (x *exchange) once(ctx context.Context, c *Call, key string, effect func(context.Context) ([]byte, error)) ([]byte, error) {
	if performed := x.conn.e.cfg.Performed; performed != nil && x.dialect.InputRounds() {
		effect = c.reported(key, effect, performed)
	}
	return c.effects().Run(ctx, key, effect, c.Pending)
}

// lend implements outlet. Executions that check the replay do not get the buffer.
//
// handle gives the buffer back after the answer was sent.
func (x *exchange) lend(c *Call) *framebuf.Buffer {
	if c != &x.own {
		return nil
	}
	return x.conn.e.buffers.Take()
}

// end implements outlet. The handler's context ends, and the request is answered when the handler
// returns.
func (x *exchange) end(cause error) { x.life.End(cause) }

// abandon ends the call after the client has cancelled it, and sends nothing more for it (2026-07-28
// basic/transports/stdio: MUST NOT send any further message; earlier revisions: SHOULD NOT respond).
//
// It runs in Accept of the cancellation, or in the goroutine of the bus if another node has received
// it, and must not block. Afterwards the id may belong to another request. The feed is stopped before
// that, because its changes have this id. The caller calls close to wait for frames of the call that
// are being written.
func (x *exchange) abandon(cause error) {
	x.abandoned.Store(true) // before the context ends, because the handler may then answer at once
	x.end(cause)
	if x.feed != nil {
		x.feed.Stop()
	}
	x.conn.unregister(x)
}

// close makes the call send nothing more. It returns false if the call was closed before.
//
// The caller must not hold the read lock. It returns true for one caller only, which may send the
// answer.
func (x *exchange) close() bool {
	x.sending.Lock()
	defer x.sending.Unlock()
	if x.closed {
		return false
	}
	x.closed = true
	return true
}

// streamFrame sends a frame of the listen stream, unless the client has cancelled it
// (2026-07-28 basic/patterns/cancellation: the server must not send further messages).
func (x *exchange) streamFrame(ctx context.Context, frame []byte) error {
	x.sending.RLock()
	defer x.sending.RUnlock()
	if x.abandoned.Load() {
		<-ctx.Done() // abandon ends it
		return context.Cause(ctx)
	}
	err := x.out.Send(ctx, transport.Frame{JSON: frame})
	if err == nil || errors.Is(err, transport.ErrNoStream) {
		return err
	}
	return fmt.Errorf("%w: %w", errGone, err)
}
