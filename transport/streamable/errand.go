package streamable

import (
	"context"
	"net/http"
	"time"

	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/internal/guarded"
	"github.com/kagami-mcp/kagami/transport/internal/refusal"
)

// errand is a POST and its exchange, all in one piece of memory. Contexts of handlers
// lead to it, which may be kept: it is not used again.
type errand struct {
	posting
	body     []byte
	exchange transport.Exchange
	request  transport.Request
	stream   stream
	ctx      frameContext
	reply    Reply
}

// frameContext is the context of an exchange: it ends with it, or with what it belongs to,
// and has the values of the request, and then those of what it belongs to.
type frameContext struct {
	life
	values  context.Context //nolint:containedctx // for its values only
	lasting context.Context //nolint:containedctx // values, but that of the request
}

// Outlive lets the memory of the POST go. See [transport.Outliver].
func (c *frameContext) Outlive() context.Context {
	return context.WithoutCancel(&frameContext{life: life{parent: c.parent}, values: c.lasting})
}

// Value is that of the request, if it has one.
func (c *frameContext) Value(key any) any {
	if value := c.values.Value(key); value != nil {
		return value
	}
	return c.life.Value(key)
}

// run accepts a frame and has it served. The exchange runs in a goroutine of its own,
// because it may outlive the request; this one waits for what the response shall be.
func (v *Visit) run(body []byte) *Reply {
	er := &errand{posting: posting{v: v}, body: body}
	er.request = transport.Request{Fields: v.r.Fields, RemoteAddr: v.r.RemoteAddr, Sessions: &er.posting}
	ctx := transport.WithRequest(v.ctx, &er.request)
	exchange, err := guarded.Accept(ctx, v.e.host, body)
	if err != nil || exchange == nil {
		er.discard()
		er.release()
		if err == nil {
			return broken(body)
		}
		return shuttingDown()
	}
	er.exchange = exchange
	plan := transport.Plan{Answered: true}
	if planned, ok := exchange.(transport.Planned); ok {
		plan = planned.Plan()
	}
	if er.opened {
		v.e.keep(er.session, plan)
	}
	er.plan(plan)
	er.within(ctx)
	v.e.running.Join()
	if !plan.Answered {
		v.e.crew.Do(er)
		return &Reply{Status: http.StatusAccepted}
	}
	return er.await()
}

// broken is the reply to a frame on which the host panicked.
func broken(body []byte) *Reply {
	return &Reply{Status: http.StatusInternalServerError, Header: jsonHeader, Body: refusal.Panicked(body)}
}

// plan prepares the stream, before anybody else knows of it.
func (er *errand) plan(plan transport.Plan) {
	st := &er.stream
	st.gate, st.session, st.plan = er.v.e.Gate, er.session, plan
	st.json, st.sse = er.v.json, er.v.sse
	if plan.Resumable && st.sse && er.session != nil {
		st.log = er.v.e.events
	}
	if plan.Polls && st.log != nil {
		er.request.Release = st.release
	}
	if plan.Answered {
		st.lender = er.v.r.Lender
	}
}

// within makes the context of the exchange. It has the values of the request, but not its
// end: that is the session's, and the client's where closing cancels.
func (er *errand) within(request context.Context) {
	if request.Done() != nil {
		request = context.WithoutCancel(request)
	}
	er.ctx.parent, er.ctx.values, er.ctx.lasting = er.v.e.life, request, er.v.ctx //nolint:fatcontext // no loop
	switch {
	case er.stream.plan.CancelByClose:
		er.stream.life = &er.ctx.life
	case er.session != nil:
		er.ctx.parent = er.session.ctx
	}
}

// await has the exchange served and decides what the response is: whole if the answer is
// the first message and comes soon, else a stream that a carrier takes over.
func (er *errand) await() *Reply {
	v, st := er.v, &er.stream
	w := v.e.waiting.add()
	st.waiter = w
	v.e.crew.Do(er)
	w.wait(v.ctx)
	whole := st.whole(&er.reply)
	v.e.waiting.remove(w)
	if whole {
		return er.reply.with(er.issued())
	}
	return v.open(&Stream{st: st}, &er.posting)
}

// serve serves the exchange to its end.
func (er *errand) serve() {
	e := er.v.e
	defer e.running.End()
	defer er.release()
	defer e.linger(&er.stream)
	defer er.stream.finish()
	defer er.ctx.end(nil)
	guarded.Serve(&er.ctx, er.exchange, &er.stream, er.body)
	if er.opened && er.session.record.lost() {
		e.endSession(er.session, errSessionEnded)
	}
}

// farewell is how long a stopping endpoint waits for a client to come back for the
// answer of a call whose stream it has let go.
const farewell = 2 * time.Second

// linger keeps the endpoint from stopping before a client that polls has its answer.
// Another node can give it, too.
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
