package legacysse

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"sync"

	"github.com/kagami-mcp/kagami/protocol/lazyctx"
	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/internal/hostcall"
	"github.com/kagami-mcp/kagami/transport/internal/streamable"
)

var errClientGone = errors.New("legacysse: the client closed the stream")

// most bounds the exchanges of one connection that run at the same time. Answers and notifications may be as many
// again, because exchanges wait for them.
const most = 1024

// session is one connection. It lasts as long as its stream.
//
// mu guards the number of running exchanges. enter and exit change it. close sets closing; from
// then on the stream ends when the number is 0, by close itself or by the last exit. Both may end it,
// and the second time has no effect. leave is called once, when the stream has ended, and ends the
// session. An exchange that still runs then has a cancelled context, and its frames are dropped.
//
// The fields above mu do not change after newSession. accepting keeps the order of frames: of
// several posts at a time, the first one to get the lock is first.
type session struct {
	e         *Endpoint
	id        string
	principal string
	client    string          // key of the client for the limit of calls
	ctx       context.Context //nolint:containedctx // context of the connection
	cancel    context.CancelCauseFunc
	out       *streamable.ConnectionStream

	accepting sync.Mutex // held during Host.Accept, which takes one frame at a time
	remote    *remote    // if nil, frames can be posted on this node only

	mu      sync.Mutex // guards the fields below
	running int        // exchanges that are running
	closing bool       // the stream ends as soon as no exchange is running
	left    bool       // the stream has ended, and no exchange begins any more
}

// newSession begins a connection. It returns false if there are too many.
func (e *Endpoint) newSession(v *PendingRequest) (*session, bool) {
	s := &session{e: e, id: rand.Text(), principal: v.Principal(), client: strings.Clone(v.Client())} // Client may return part of the request's memory
	greeting := "event: endpoint\ndata: " + v.r.Messages + "?" + parameter + "=" + s.id + "\n\n"
	s.out = e.NewConnectionStream([]byte(greeting), s.close, s.leave)
	inner, cancel := context.WithCancelCause(e.life)
	s.cancel = cancel
	s.ctx = transport.Connect(inner, transport.Peer{
		Carrier: "http+sse", RemoteAddr: v.r.RemoteAddr,
		Principal: transport.PrincipalFrom(v.Context()), Out: s.out,
	})
	if e.node != nil {
		s.remote = newRemote(s)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.sessions) >= e.Config().MaxSessions {
		cancel(errStopped)
		return nil, false
	}
	e.sessions[s.id] = s
	return s, true
}

// leave ends the connection, because its stream has ended.
//
// It first makes sure that no request finds the session and no exchange begins. The commands to
// the store come last, without a lock. Shutdown waits for them.
func (s *session) leave() {
	defer s.e.running.Done()
	s.e.mu.Lock()
	delete(s.e.sessions, s.id)
	if s.remote != nil {
		delete(s.e.keys, s.remote.key)
	}
	s.e.mu.Unlock()
	s.cancel(errClientGone)
	s.mu.Lock()
	s.left = true
	s.mu.Unlock()
	s.unregister()
}

// close ends the stream as soon as no exchange is running.
func (s *session) close() {
	s.mu.Lock()
	s.closing = true
	idle := s.running == 0
	s.mu.Unlock()
	if idle {
		s.out.Finish()
	}
}

// enter counts one more exchange, until exit is called. If the session has ended or has too many
// exchanges, ok is false. For a frame that may hold a request, ok is also false if the client has too many calls
// in all its sessions. Answers are not refused for that reason, because running calls wait for
// them.
func (s *session) enter(body []byte) (exit func(), ok bool) {
	leave, ok := s.e.EnterCalls(s.client, body)
	if !ok {
		if streamable.Asks(body) {
			return nil, false
		}
		leave = func() {}
	}
	s.mu.Lock()
	left, full := s.left, s.running >= 2*most || s.running >= most && streamable.Asks(body)
	if !left && !full {
		s.running++
		s.e.running.Add() // before leave gives back the count of the stream, so that Shutdown waits
		s.mu.Unlock()
		return func() { leave(); s.exit() }, true
	}
	s.mu.Unlock()
	leave()
	if !left {
		s.e.Log().Warn("a connection of HTTP+SSE has reached 1,024 calls at once, and cannot call more", "")
	}
	return nil, false
}

// exit undoes enter.
func (s *session) exit() {
	defer s.e.running.Done()
	s.mu.Lock()
	s.running--
	over := s.closing && s.running == 0
	s.mu.Unlock()
	if over {
		s.out.Finish()
	}
}

// take passes a frame that was posted on this node to the host, and starts its exchange.
func (s *session) take(v *PendingRequest, body []byte) *streamable.Reply {
	exit, ok := s.enter(body)
	switch {
	case !ok && s.ctx.Err() != nil: // the stream has ended since it was found
		return v.noSession()
	case !ok:
		return v.TooMany("too many calls at once")
	}
	ctx, end := s.within(v.Context(), &transport.Request{Fields: v.r.Fields, RemoteAddr: v.r.RemoteAddr})
	if !s.start(ctx, body, func() { end(); exit() }) {
		return v.ShuttingDown()
	}
	return v.Accepted()
}

// start accepts a frame and serves it in a new goroutine, which calls exit at its end. If the host
// accepts no more frames, start calls exit and returns false.
func (s *session) start(ctx context.Context, body []byte, exit func()) bool {
	exchange, err := s.accept(ctx, body)
	if err != nil {
		exit()
		return false
	}
	go func() {
		defer exit()
		if exchange == nil { // the host panicked
			s.refuse(ctx, body)
			return
		}
		hostcall.Serve(ctx, s.e.Log(), exchange, s.out, body)
	}()
	return true
}

// refuse answers a frame that was accepted and cannot be served.
func (s *session) refuse(ctx context.Context, body []byte) {
	if answer := hostcall.ErrorPanicked(body); answer != nil {
		_ = s.out.Send(ctx, transport.Frame{JSON: answer}) // the connection has ended, so that the client cannot get the answer
	}
}

// accept calls Host.Accept, one frame at a time.
func (s *session) accept(ctx context.Context, body []byte) (transport.Exchange, error) {
	s.accepting.Lock()
	defer s.accepting.Unlock()
	return hostcall.Accept(ctx, s.e.Log(), s.e.host, body)
}

// within returns the context of one frame, and a function that ends it. It also ends with the
// connection. Values, such as the principal, come from the POST first, and then from the connection.
func (s *session) within(post context.Context, r *transport.Request) (ctx context.Context, end func()) {
	life := new(lazyctx.Context)
	life.Begin(s.ctx, context.WithoutCancel(post))
	return transport.WithRequest(life, r), func() { life.End(nil) }
}
