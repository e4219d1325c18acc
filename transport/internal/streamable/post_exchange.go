package streamable

import (
	"context"
	"net/http"
	"time"

	"github.com/kagami-mcp/kagami/protocol/lazyctx"
	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/internal/hostcall"
)

// postedExchange is a POST and its exchange. It is in the memory of the request, which is not pooled,
// because handlers may keep their contexts, which point into it.
//
// Accept has returned its exchange before any other goroutine sees it. After that, stream.mu guards
// what the waiting goroutine and the serving one share. Contexts of handlers point into ctx, so the
// whole value lives as long as one of them.
type postedExchange struct {
	posting
	body    []byte
	request transport.Request
	stream  stream
	ctx     lazyctx.Context // see within
}

// run passes a frame to the host and serves its exchange. If the carrier can hijack the connection
// (see Hijacker), the calling goroutine serves the exchange. Otherwise a worker does, because the
// exchange may outlive the request, and the calling goroutine waits until the response is decided.
// call counts the n calls of the frame; it may be nil.
//
// handed tells who releases x: run itself, or serve. A panic of a store before the hand-over passes
// through run, which releases x.
func (v *PendingRequest) run(body []byte, call *streamQuota, n int) *Reply {
	x := &v.posted
	x.v, x.calls, x.body = v, n, body
	x.call.Store(call)
	handed := false
	defer func() {
		if !handed { // the request was refused, or a store has panicked
			x.release()
		}
	}()
	x.request = transport.Request{Fields: v.r.Fields, RemoteAddr: v.r.RemoteAddr, Sessions: &x.posting, Outer: v.ctx}
	ctx := transport.WithRequest(v.ctx, &x.request)
	exchange, err := hostcall.Accept(ctx, v.e.log, v.e.host, body)
	if err != nil || exchange == nil {
		x.discard()
		if err == nil {
			return broken(body)
		}
		if !v.e.Stops() {
			return notReady()
		}
		return shuttingDown()
	}
	x.stream.exchange = exchange
	plan := transport.Plan{Answered: true}
	if planned, ok := exchange.(transport.Planned); ok {
		plan = planned.Plan()
	}
	if x.opened {
		v.e.keep(x.session, plan, len(body))
	}
	x.plan(plan)
	x.within(ctx)
	handed = true
	if plan.Answered && v.r.Hijacker != nil && !plan.LongLived {
		return x.inline()
	}
	v.e.running.Add() // until apart has served it
	if !plan.Answered {
		v.e.workers.Run(x)
		return &Reply{Status: http.StatusAccepted}
	}
	return x.await()
}

// broken returns the reply to a frame if the host has panicked.
func broken(body []byte) *Reply {
	return &Reply{Status: http.StatusInternalServerError, Header: jsonHeader, Body: hostcall.ErrorPanicked(body)}
}

// plan sets up the stream, before any other goroutine can reach it.
func (x *postedExchange) plan(plan transport.Plan) {
	st := &x.stream
	st.admitter, st.session, st.plan = x.v.e.Admitter, x.session, plan
	st.json, st.sse = x.v.json, x.v.sse
	if plan.Resumable && st.sse && x.session != nil {
		st.log = x.v.e.events
	}
	if plan.Polls && st.log != nil {
		x.request.Stream = st
	}
	if plan.Answered {
		st.buffers = x.v.r.Buffers
	}
}

// within makes the context of the exchange. It has the values of the request, but not its
// cancellation. It ends with the session. If closing the response cancels the call
// (transport.Plan), it ends when the client disconnects.
func (x *postedExchange) within(request context.Context) {
	if request.Done() != nil {
		request = context.WithoutCancel(request)
	}
	parent := x.v.e.life
	switch {
	case x.stream.plan.CancelByClose:
		x.stream.life = &x.ctx
	case x.session != nil:
		parent = x.session.ctx
	}
	x.ctx.Begin(parent, request)
}

// await starts the exchange and waits until its response is decided: one whole response, if the
// answer is the first message and comes in time, or a stream that a carrier takes over.
//
// The timer belongs to await: it goes back to the pool after whole has cut the stream off from it.
// If the client disconnects first, await returns a stream, and the carrier notices the end when it
// writes.
func (x *postedExchange) await() *Reply {
	v, st := x.v, &x.stream
	w := v.e.timers.add(nil)
	st.timer = w
	v.e.workers.Run(x)
	w.wait(v.ctx)
	whole := st.whole()
	v.e.timers.remove(w)
	if whole != nil {
		return whole.with(x.issued())
	}
	if st.plan.LongLived {
		return x.lasting()
	}
	return v.open(&Stream{st: st}, &x.posting)
}

// lasting opens the stream of an exchange that waits for something to happen. It counts among the
// client's streams, not among its calls. If a client that goes does not cancel the exchange, it counts
// until it has ended.
//
// If there are too many streams, the exchange is cancelled, and ends in its own goroutine.
func (x *postedExchange) lasting() *Reply {
	x.uncount()
	if !x.v.e.enter(&x.v.owner) {
		x.stream.gone(errTooManyStreams)
		x.ctx.End(errTooManyStreams) // gone ends only what a client cancels by closing
		return tooManyStreams()
	}
	s := &Stream{st: &x.stream}
	reply := x.v.open(s, &x.posting)
	if x.stream.plan.CancelByClose || !x.holds() {
		s.holdsQuota(x.v.owner.quota)
	}
	return reply
}

// holds makes release give back the place among the client's streams. It returns false if the
// exchange has been served: release has run then, or will not see it.
func (x *postedExchange) holds() bool {
	x.stream.mu.Lock()
	defer x.stream.mu.Unlock()
	if x.stream.exchange == nil { // served precedes release
		return false
	}
	x.lasts = true
	return true
}

// apart serves an exchange after run has called running.Add for it.
//
// It is the function of the worker pool.
func (x *postedExchange) apart() {
	defer x.v.e.running.Done()
	x.serve()
}

// serve serves the exchange to its end.
//
// The deferred calls run in this order: the context ends, the stream ends, a stopping endpoint
// waits for the client, and the uses are given back. They also run after runtime.Goexit.
func (x *postedExchange) serve() {
	e := x.v.e
	defer e.log.Recover() // an event store may panic at the end of the stream
	defer x.release()
	defer e.linger(&x.stream)
	defer x.stream.served()
	defer x.ctx.End(nil)
	hostcall.Serve(&x.ctx, e.log, x.stream.exchange, &x.stream, x.body)
	x.body = nil // a resumable stream is kept for a while, and keeps x alive
	if x.opened && x.session.link.Refused() {
		e.endSession(x.session)
	}
}

// farewell is how long a stopping endpoint waits for a client to come back for the answer of a call
// whose stream was released.
const farewell = 2 * time.Second

// linger keeps the endpoint from stopping before a client that polls has fetched its answer. If
// nodes share the log, the client can fetch the answer from another node.
//
// It polls, because it runs only while the endpoint stops.
func (e *Endpoint) linger(st *stream) {
	if e.node != nil || !e.Stops() || !st.waits() {
		return
	}
	look := time.NewTicker(farewell / 100)
	defer look.Stop()
	late := time.NewTimer(farewell)
	defer late.Stop()
	for st.waits() {
		select {
		case <-look.C:
		case <-late.C:
			return
		case <-e.life.Done():
			return
		}
	}
}
