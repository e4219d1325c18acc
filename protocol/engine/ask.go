package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/engine/internal/feed"
	"github.com/kagami-mcp/kagami/protocol/engine/internal/wait"
	"github.com/kagami-mcp/kagami/protocol/jsonrpc"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
	"github.com/kagami-mcp/kagami/transport"
)

// read decodes the answer to a request of the server. It returns the client's error, or a fault if
// the client's result is invalid.
func (x *exchange) read(method string, msg jsonrpc.Message) (protocol.Result, error) {
	if msg.Kind == jsonrpc.Failure {
		return nil, x.dialect.DecodeError(msg.Error)
	}
	result, fault := x.dialect.DecodeResult(method, msg.Result)
	if fault != nil {
		return nil, fault
	}
	return result, nil
}

// put sends a request to the client, waits for the answer, and returns it undecoded.
//
// The wait belongs to the calling goroutine. endAsk removes the ask on every way out, so that a
// late answer is dropped. The message that put returns refers to the frame of the
// answer, which belongs to the engine.
func (x *exchange) put(
	ctx context.Context, p protocol.Params, meta *protocol.RequestMeta, progress func(protocol.Progress), t *wait.Order,
) (jsonrpc.Message, error) {
	if err := x.session.settled(ctx); err != nil {
		return jsonrpc.Message{}, err
	}
	a, err := x.conn.newAsk(progress)
	if err != nil {
		return jsonrpc.Message{}, err
	}
	defer x.conn.endAsk(a)
	a.turn, a.task = t, meta.RelatedTask
	if err := x.sendAsk(ctx, a, p, meta); err != nil {
		return jsonrpc.Message{}, err
	}
	return x.wait(ctx, a)
}

// initializedGrace is how long requests of the server wait for notifications/initialized. The server
// SHOULD NOT send requests before it (2025-11-25 basic/lifecycle). A client that never sends it is
// asked after this time.
const initializedGrace = 3 * time.Second

// settled waits until the client has sent notifications/initialized, but no longer than
// initializedGrace. A nil session does not wait.
func (s *session) settled(ctx context.Context) error {
	if s == nil {
		return nil
	}
	ready, already := s.ready.Wait()
	if already {
		return nil
	}
	timer := time.NewTimer(initializedGrace)
	defer timer.Stop()
	select {
	case <-ready:
	case <-timer.C:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

// sendAsk writes the request to the client, after the requests that precede it in a.turn. It waits
// for its turn before it takes sending, because the goroutine before it needs sending, too. It
// returns ErrCannotAsk if the call is closed or abandoned or has no stream, and errGone if the
// request cannot be written. Pass is called in any case, so that an error does not stop the requests
// that follow.
func (x *exchange) sendAsk(ctx context.Context, a *ask, p protocol.Params, meta *protocol.RequestMeta) (err error) {
	defer recovered(&err) // questions that are asked together have goroutines of their own, where a panic would end the process
	meta.Extra = traceContext(x.call.Meta.Raw)
	if a.progress != nil {
		meta.ProgressToken = a.id
	}
	params, err := x.dialect.AppendParams(nil, p, meta)
	if err != nil {
		return err
	}
	a.turn.Await()
	defer a.turn.Pass()
	x.sending.RLock()
	defer x.sending.RUnlock()
	if x.closed || x.abandoned.Load() || x.out == nil {
		return ErrCannotAsk
	}
	err = x.out.Send(ctx, transport.Frame{JSON: jsonrpc.AppendRequest(nil, a.id, protocol.MethodOf(p), params)})
	switch {
	case errors.Is(err, transport.ErrNoStream):
		return ErrCannotAsk
	case err != nil && ctx.Err() == nil:
		return fmt.Errorf("%w: %w", errGone, err)
	}
	return err
}

// wait waits for the answer to a. If ctx or AskTimeout ends the wait, it sends the client
// notifications/cancelled.
//
// The channels of a are never closed. Each of them may have a value when wait returns; it is
// garbage with a.
func (x *exchange) wait(ctx context.Context, a *ask) (jsonrpc.Message, error) {
	timeout := x.conn.e.cfg.AskTimeout
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	looks, stop := x.conn.looks()
	defer stop()
	for {
		select {
		case msg := <-a.answer:
			return msg, nil
		case <-a.look:
			x.conn.lookForAnswer(ctx, a)
		case <-looks:
			x.conn.lookForAnswer(ctx, a)
		case err := <-a.failure:
			return jsonrpc.Message{}, err
		case <-a.alive:
			timer.Reset(timeout)
		case <-ctx.Done():
			x.withdraw(ctx, a, "the request was cancelled")
			return jsonrpc.Message{}, context.Cause(ctx)
		case <-timer.C:
			x.withdraw(ctx, a, "timeout")
			return jsonrpc.Message{}, ErrNoAnswer
		}
	}
}

// withdraw sends the client notifications/cancelled for a.
//
// It sends without sending, because the call may already be closed while one of its questions is
// open. The carrier keeps frames of one Outbound apart.
func (x *exchange) withdraw(ctx context.Context, a *ask, reason string) {
	defer func() { // as in sendAsk
		if v := recover(); v != nil {
			x.conn.e.failed(ctx, x.call, &PanicError{Value: v, Stack: debug.Stack()})
		}
	}()
	frame, err := feed.Notification(x.dialect, &protocol.CancelledParams{ID: a.id, Reason: reason}, &protocol.RequestMeta{RelatedTask: a.task})
	if err == nil {
		_ = x.out.Send(context.WithoutCancel(ctx), transport.Frame{JSON: frame}) // best effort: the client may be gone
	}
}

// progressed returns the step of notifications/progress, which passes the progress to the waiting
// request of the server.
func (c *conn) progressed(x *exchange, p *protocol.ProgressParams) step {
	return func(ctx context.Context, out transport.Outbound) error {
		c.mu.Lock()
		a := c.asks[p.Token.Key()]
		c.mu.Unlock()
		if a == nil {
			return c.forward(x)(ctx, out)
		}
		a.advanced(p)
		return nil
	}
}

// advanced resets the timeout of the wait and passes the progress on. It runs in the goroutine that
// serves the notification.
//
// It calls the user's function and must not be called under conn.mu.
func (a *ask) advanced(p *protocol.ProgressParams) {
	if a.progress == nil {
		return
	}
	wait.Signal(a.alive)
	seen := protocol.Progress{Done: p.Done, Message: p.Message}
	if p.Total != nil {
		seen.Total = *p.Total
	}
	a.progress(seen)
}

// traceContext returns the W3C trace context in the _meta of a call, for the requests that the call
// causes (2026-07-28 basic, SEP-414; the keys have no prefix).
func traceContext(meta []byte) protocol.Meta {
	var out protocol.Meta
	for _, key := range []string{"traceparent", "tracestate", "baggage"} {
		raw, _ := jsontext.Member(meta, key)
		if value, ok := jsontext.String(raw); ok {
			if out == nil {
				out = make(protocol.Meta, 1)
			}
			out[key] = value
		}
	}
	return out
}
