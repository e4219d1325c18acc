package streamable

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/protocol/eventlog"
	"github.com/kagami-mcp/kagami/transport"
)

// methods that the endpoint serves.
const methods = "GET, POST, DELETE"

var errStopped = errors.New("streamable: the server stopped")

// Endpoint is one URL.
type Endpoint struct {
	*Gate
	host   transport.Host
	events eventlog.Store // nil: nothing is resumable

	life context.Context //nolint:containedctx // the parent of sessions and of calls without one
	stop context.CancelCauseFunc

	mu       sync.Mutex // guards the fields below
	stopping bool
	running  int           // requests, exchanges and open streams
	idle     chan struct{} // closed when stopping and running is 0
	sessions map[string]*session
	streams  map[string]int // open, by client
}

// New makes an endpoint for host. If host is a [transport.Server], its
// authenticator and its event store are used.
func New(host transport.Host, cfg Config) *Endpoint {
	e := &Endpoint{
		Gate: NewGate(host, cfg), host: host,
		idle:     make(chan struct{}),
		sessions: make(map[string]*session),
		streams:  make(map[string]int),
	}
	if e.server != nil {
		e.events = e.server.Events()
	}
	e.life, e.stop = context.WithCancelCause(context.Background()) //nolint:forbidigo // an endpoint outlives any one request
	return e
}

// Limit is how large a body may be.
func (e *Endpoint) Limit() int { return e.cfg.BodyLimit }

// Visit is a request that may come in.
type Visit struct {
	e      *Endpoint
	ctx    context.Context //nolint:containedctx // the request's
	r      *Request
	common []Field
}

// Check decides by everything but the body. A Reply refuses; without one the
// Visit goes on with Serve.
func (e *Endpoint) Check(ctx context.Context, r *Request) (*Visit, *Reply) {
	ctx, common, refused := e.Enter(ctx, r, methods)
	if refused != nil {
		return nil, refused
	}
	v := &Visit{e: e, ctx: ctx, r: r, common: common}
	if refused := v.headers(); refused != nil {
		return nil, refused.with(common)
	}
	return v, nil
}

// headers checks what the method demands.
func (v *Visit) headers() *Reply {
	json, sse := accepted(v.r.Fields)
	switch v.r.Method {
	case http.MethodPost:
		if !contentIsJSON(v.r.Fields) {
			return refuse(http.StatusUnsupportedMediaType, "Content-Type must be application/json")
		}
		if len(v.r.Fields.Values("Content-Encoding")) > 0 {
			return refuse(http.StatusUnsupportedMediaType, "compressed bodies are not accepted")
		}
		if !json && !sse {
			return refuse(http.StatusNotAcceptable, "Accept must name application/json or text/event-stream")
		}
	case http.MethodGet:
		if refused := v.handshakeOnly(); refused != nil {
			return refused
		}
		if !sse {
			return refuse(http.StatusNotAcceptable, "Accept must name text/event-stream")
		}
	case http.MethodDelete:
		return v.handshakeOnly()
	default:
		return notAllowed()
	}
	return nil
}

func notAllowed() *Reply {
	return refuse(http.StatusMethodNotAllowed, "this method is not served here", Field{"Allow", methods})
}

// handshakeOnly: a revision without sessions has neither GET nor DELETE
// (2026-07-28 basic/transports/streamable-http), and an unknown one is refused.
func (v *Visit) handshakeOnly() *Reply {
	for _, version := range v.r.Fields.Values(headerVersion) {
		if _, modern := dialect.PerRequest(version); modern {
			return notAllowed()
		}
		if !dialect.KnownHandshake(version) {
			return refuse(http.StatusBadRequest, "unknown "+headerVersion)
		}
	}
	return nil
}

// Header names, in the form that http.Header has them.
const (
	headerSession   = "Mcp-Session-Id"
	headerVersion   = "Mcp-Protocol-Version"
	headerLastEvent = "Last-Event-Id"
)

// Serve answers the request. It blocks until there is something to say; for a POST
// body belongs to the endpoint from now on, for other methods it is nil. A
// cancelled context of the request means that the client is gone.
func (v *Visit) Serve(body []byte) *Reply {
	if !v.e.begin() {
		return shuttingDown().with(v.common)
	}
	reply := v.serve(body)
	if reply.Stream != nil {
		reply.Stream.header = append(reply.Stream.header, v.common...)
		return reply // whose end counts it out
	}
	v.e.end()
	return reply.with(v.common)
}

func (v *Visit) serve(body []byte) *Reply {
	switch v.r.Method {
	case http.MethodPost:
		return v.post(body)
	case http.MethodGet:
		return v.get()
	default:
		return v.remove()
	}
}

// begin counts a request in; false when the endpoint stops.
func (e *Endpoint) begin() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.stopping {
		return false
	}
	e.running++
	return true
}

// join counts the exchange of a request in, which is counted itself.
func (e *Endpoint) join() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.running++
}

func (e *Endpoint) end() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.running--
	if e.stopping && e.running == 0 {
		close(e.idle)
	}
}

// enter counts an open stream for a client; false where it has too many.
func (e *Endpoint) enter(client string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.streams[client] >= e.cfg.MaxStreams {
		return false
	}
	e.streams[client]++
	return true
}

func (e *Endpoint) leave(client string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.streams[client]--; e.streams[client] <= 0 {
		delete(e.streams, client)
	}
}

// stopGrace is how long Shutdown waits for handlers after cancelling them.
const stopGrace = 2 * time.Second

// Shutdown takes no more requests (503), ends the streams that wait for nothing,
// and waits for exchanges and for the streams that carry their answers. When ctx
// ends they are cancelled, and given two more seconds. Sessions end with it.
func (e *Endpoint) Shutdown(ctx context.Context) error {
	e.mu.Lock()
	first := !e.stopping
	e.stopping = true
	if first && e.running == 0 {
		close(e.idle)
	}
	sessions := make([]*session, 0, len(e.sessions))
	for _, s := range e.sessions {
		sessions = append(sessions, s)
	}
	e.mu.Unlock()
	for _, s := range sessions {
		s.standalone.finish()
	}
	defer e.endSessions(sessions)
	select {
	case <-e.idle:
		return nil
	case <-ctx.Done():
	}
	e.stop(errStopped)
	timer := time.NewTimer(stopGrace)
	defer timer.Stop()
	select {
	case <-e.idle:
	case <-timer.C:
	}
	return ctx.Err()
}

func (e *Endpoint) endSessions(all []*session) {
	for _, s := range all {
		e.endSession(s, errStopped)
	}
	e.stop(errStopped)
}
