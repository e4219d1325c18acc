package streamable

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/kagami-mcp/kagami/protocol/jsonrpc"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/internal/guarded"
	"github.com/kagami-mcp/kagami/transport/internal/refusal"
)

var errClientGone = errors.New("streamable: the client closed the stream")

// posting is one POST. It is the transport.Sessions of its request.
type posting struct {
	v       *Visit
	session *session // found or opened; in use until release
	opened  bool
}

// Find is the session that the request names.
func (p *posting) Find() (*transport.Connection, error) {
	if p.session == nil {
		s, err := p.v.named()
		if err != nil || s == nil {
			return nil, err
		}
		p.session = s
	}
	return p.session.link, nil
}

// Open makes a session; it is found by others only once the frame was accepted.
func (p *posting) Open() (*transport.Connection, error) {
	if !p.v.e.room(client(p.v.ctx, p.v.r)) {
		return nil, errTooMany
	}
	p.session, p.opened = p.v.e.newSession(p.v.ctx, p.v.r), true
	return p.session.link, nil
}

func (p *posting) release() {
	if p.session != nil {
		p.session.release()
	}
}

// discard gives up a session that was opened for a frame that was not accepted.
func (p *posting) discard() {
	if p.opened {
		p.session.cancel(errSessionEnded)
		p.session, p.opened = nil, false
	}
}

// post serves a frame. The exchange runs in a goroutine of its own, because it may
// outlive the request; this one waits for what the response shall be.
//
// A request takes one of the client's places before it is accepted: what is refused
// for want of one has not run.
func (v *Visit) post(body []byte) *Reply {
	who := v.limited()
	placed := v.e.enter(who)
	if !placed && Asks(body) {
		return tooManyStreams()
	}
	reply := v.run(body)
	leave := func() {
		if placed {
			v.e.leave(who)
		}
	}
	if reply.Stream == nil {
		leave()
		return reply
	}
	after := reply.Stream.leave
	reply.Stream.leave = func() { leave(); after() }
	return reply
}

// Asks says whether a frame is a request, or may hold one: answers to questions of
// calls that run must not wait for a place, and are taken to the end.
func Asks(body []byte) bool {
	if jsontext.Check(body, jsontext.DefaultLimits()) != nil || jsonrpc.IsBatch(body) {
		return true
	}
	msg, fault := jsonrpc.Decode(body)
	return fault != nil || msg.Kind == jsonrpc.Request
}

// run accepts a frame and serves it.
func (v *Visit) run(body []byte) *Reply {
	p := &posting{v: v}
	st := &stream{gate: v.e.Gate}
	st.json, st.sse = accepted(v.r.Fields)
	request := &transport.Request{
		Fields: v.r.Fields, RemoteAddr: v.r.RemoteAddr, Sessions: p, Release: st.release,
	}
	ctx := transport.WithRequest(v.ctx, request)
	exchange, err := guarded.Accept(ctx, v.e.host, body)
	if err != nil || exchange == nil {
		p.discard()
		p.release()
		if err == nil {
			return broken(body)
		}
		return shuttingDown()
	}
	plan := transport.Plan{Answered: true}
	if planned, ok := exchange.(transport.Planned); ok {
		plan = planned.Plan()
	}
	if p.opened {
		v.e.keep(p.session, plan)
	}
	st.plan, st.session = plan, p.session
	if plan.Resumable && st.sse && p.session != nil {
		st.log = v.e.events
	}
	st.first, st.attached = make(chan struct{}), make(chan struct{})
	ctx, cancel := v.e.exchangeContext(ctx, p.session)
	st.cancel = cancel
	v.e.running.Join()
	go v.e.run(ctx, exchange, st, p, body)
	if !plan.Answered {
		return &Reply{Status: http.StatusAccepted}
	}
	return v.await(st, p)
}

// broken is the reply to a frame on which the host panicked.
func broken(body []byte) *Reply {
	return &Reply{Status: http.StatusInternalServerError, Header: []Field{contentJSON}, Body: refusal.Panicked(body)}
}

// exchangeContext has the values of the request, but not its end: that is the
// session's, or the client's where closing cancels.
func (e *Endpoint) exchangeContext(ctx context.Context, s *session) (context.Context, context.CancelCauseFunc) {
	life := e.life
	if s != nil {
		life = s.ctx
	}
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(life, func() { cancel(context.Cause(life)) })
	return ctx, func(cause error) { stop(); cancel(cause) }
}

// run serves the exchange to its end.
func (e *Endpoint) run(ctx context.Context, x transport.Exchange, st *stream, p *posting, body []byte) {
	defer e.running.End()
	defer p.release()
	defer st.cancel(nil)
	defer e.linger(st)
	defer st.finish()
	guarded.Serve(ctx, x, st, body)
	if p.opened && p.session.record.lost() {
		e.endSession(p.session, errSessionEnded)
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

// await decides what the response is: whole if the answer is the first message and
// comes soon, else a stream that a carrier takes over.
func (v *Visit) await(st *stream, p *posting) *Reply {
	timer := time.NewTimer(v.e.cfg.Patience)
	defer timer.Stop()
	select {
	case <-st.first:
	case <-timer.C:
	case <-v.ctx.Done():
	}
	reply := st.whole()
	if reply == nil {
		return v.open(&Stream{st: st}, p)
	}
	return reply.with(p.issued())
}

// issued is the id of a session that this request opened.
func (p *posting) issued() []Field {
	if !p.opened || p.session.record.lost() {
		return nil
	}
	return []Field{{headerSession, p.session.id}}
}

// open hands the stream over to a carrier.
func (v *Visit) open(s *Stream, p *posting) *Reply {
	if p.session != nil {
		p.session.use()
	}
	s.header, s.leave = p.issued(), func() {
		p.release()
		v.e.running.End()
	}
	return &Reply{Stream: s}
}

// admit is open for a GET, unless the client has too many.
func (v *Visit) admit(s *Stream, p *posting) *Reply {
	who := v.limited()
	if !v.e.enter(who) {
		return tooManyStreams()
	}
	reply := v.open(s, p)
	after := s.leave
	s.leave = func() { v.e.leave(who); after() }
	return reply
}

// limited is for whom streams are counted: the client's session where it names one,
// else its principal or address. An id that is not the client's counts for nothing,
// or making them up would be a way around the limit.
func (v *Visit) limited() string {
	if ids := v.r.Fields.Values(headerSession); len(ids) == 1 && v.e.owns(v.ctx, ids[0]) {
		return ids[0]
	}
	return client(v.ctx, v.r)
}
