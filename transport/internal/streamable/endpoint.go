package streamable

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/protocol/eventlog"
	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/internal/cluster"
	"github.com/kagami-mcp/kagami/transport/internal/inflight"
	"github.com/kagami-mcp/kagami/transport/internal/workerpool"
)

var (
	errStopped        = errors.New("streamable: the server stopped")
	errTooManyStreams = errors.New("streamable: too many open streams")
)

// Endpoint serves one URL.
//
// mu guards the sessions that requests can find. keep and adopt add a session, and end removes it.
// The other fields do not change or are safe for concurrent use.
//
// running counts each request in PendingRequest.Serve, each exchange that a worker serves, and each
// open stream. Every TryAdd and Add has one Done. Shutdown waits for all of them before it ends the
// sessions. life ends after the sessions, or when the time of Shutdown is over. following ends as
// soon as Shutdown begins, because another node continues those streams.
type Endpoint struct {
	*Admitter
	host   transport.Host
	events eventlog.Store // if nil, no stream is resumable

	life context.Context //nolint:containedctx // parent of sessions, and of calls without a session
	stop context.CancelCauseFunc

	running  *inflight.Counter // requests, exchanges and open streams
	workers  *workerpool.Pool[*postedExchange]
	timers   *responseTimers
	expiring expiryQueue   // idle sessions
	young    expiryQueue   // idle sessions without a request after initialize
	node     *cluster.Node // if nil, only this process serves the sessions

	following context.Context    //nolint:containedctx // context of all followers of other nodes' streams
	unfollow  context.CancelFunc // cancels following

	mu            sync.Mutex          // guards the fields below
	sessions      map[string]*session // by id
	sessionsByKey map[string]*session // by the key of their record; nil unless sessions are shared
	places        int                 // number of sessions; large ones count several times
	openers       map[string]int      // number of sessions that each client has opened, counted in the same way
}

// New returns an endpoint for host. If host is a [transport.Server], the endpoint uses its
// services.
func New(host transport.Host, cfg Config) *Endpoint {
	life, stop := context.WithCancelCause(context.Background()) //nolint:forbidigo // an endpoint outlives any one request
	e := &Endpoint{
		Admitter: NewAdmitter(host, cfg), host: host,
		life: life, stop: stop,
		running:  inflight.New(),
		sessions: make(map[string]*session),
		openers:  make(map[string]int),
	}
	e.workers = workerpool.New(e.Closing(), (*postedExchange).apart)
	e.expiring.began = time.Now()
	e.young.began = e.expiring.began
	e.timers = newResponseTimers(e.cfg.StreamDelay)
	if !cfg.Stateless {
		e.events = e.log.Events(e.offered.Events)
		e.joinNodes()
	}
	return e
}

// methods returns the HTTP methods that the endpoint serves, in the form of the field Allow.
func (e *Endpoint) methods() string {
	if e.cfg.Stateless {
		return http.MethodPost
	}
	return "GET, POST, DELETE"
}

// joinNodes makes the endpoint a node if the host shares its sessions with other processes.
//
// It is called by New, before requests arrive. The node has no goroutine until the first shared
// session.
func (e *Endpoint) joinNodes() {
	store := e.offered.Sessions
	if store == nil {
		return
	}
	e.node = cluster.New(e.log.Sessions(store), e.offered.Changes, cluster.Handlers{
		Receive: e.receive, Look: e.look, Period: e.refresh(), Closing: e.Closing(), Idle: e.running.Idle,
	})
	e.sessionsByKey = make(map[string]*session)
	e.following, e.unfollow = context.WithCancel(e.life)
}

// PendingRequest is a request whose method, headers and caller were accepted and whose body has not
// been read. Call Serve with the body.
type PendingRequest struct {
	Admission
	e         *Endpoint
	json, sse bool       // what the client accepts as the response
	id        string     // Mcp-Session-Id
	ids       int        // how often the request has the field; if more than once, there is no session
	owner     quotaOwner // counts the streams and calls of this request; set by limited

	posted postedExchange // of a POST; filled by run
}

// Check checks everything except the body. It returns a refusal, or a PendingRequest, whose Serve
// is called next. The PendingRequest is in the memory of r, so each Check needs an r of its own.
func (e *Endpoint) Check(ctx context.Context, r *Request) (*PendingRequest, *Reply) {
	entry, refused := e.Admit(ctx, r, e.methods())
	if refused != nil {
		return nil, refused
	}
	v := &r.pending
	v.Admission, v.e = entry, e
	if refused := v.headers(); refused != nil {
		return nil, refused.with(v.common)
	}
	return v, nil
}

// headers checks the header fields that the method requires.
func (v *PendingRequest) headers() *Reply {
	v.json, v.sse = accepted(v.r.Fields)
	switch v.r.Method {
	case http.MethodPost:
		if refused := unreadableContent(v.r.Fields); refused != nil {
			return refused
		}
		if !v.json && !v.sse {
			return refuse(http.StatusNotAcceptable, "Accept must name application/json or text/event-stream")
		}
		v.sse = v.sse && !v.r.Whole
	case http.MethodGet:
		if refused := v.sessionsOnly(); refused != nil {
			return refused
		}
		if !v.sse {
			return refuse(http.StatusNotAcceptable, "Accept must name text/event-stream")
		}
		if v.r.Whole { // required by 2025-03-26 basic/transports for servers without this stream
			return refuse(http.StatusMethodNotAllowed, heldBack, Field{"Allow", "POST, DELETE"})
		}
	case http.MethodDelete:
		return v.sessionsOnly()
	default:
		return notAllowed(v.e.methods())
	}
	return nil
}

// sessionsOnly refuses GET and DELETE if there are no sessions: on a stateless endpoint, and for
// 2026-07-28 (basic/transports/streamable-http). It also refuses an unknown revision (2025-11-25
// basic/transports).
func (v *PendingRequest) sessionsOnly() *Reply {
	if v.e.cfg.Stateless {
		return notAllowed(v.e.methods())
	}
	for _, version := range v.r.Fields.Values(headerVersion) {
		if _, modern := dialect.PerRequest(version); modern {
			return notAllowed(v.e.methods())
		}
		if !dialect.KnownHandshake(version) {
			return refuse(http.StatusBadRequest, "unknown "+headerVersion)
		}
	}
	return nil
}

// Header names in the form of http.Header.
const (
	headerSession   = "Mcp-Session-Id"
	headerVersion   = "Mcp-Protocol-Version"
	headerLastEvent = "Last-Event-Id"
)

// Serve answers the request. It blocks until the response is decided. The endpoint owns the body of
// a POST from then on; for other methods body is nil. If the context of the request is cancelled,
// the client has disconnected.
//
// Carriers call it once, in the goroutine that reads the connection. The count in running passes to
// the stream if the reply is open.
func (v *PendingRequest) Serve(body []byte) *Reply {
	if v.e.Stops() || !v.e.running.TryAdd() {
		if !v.goesOn(body) {
			return shuttingDown().with(v.common)
		}
		v.e.running.Add() // the call that the request belongs to is still counted
	}
	streams := false
	defer func() {
		if !streams { // also if a store has panicked
			v.e.running.Done()
		}
	}()
	reply := v.serve(body)
	if streams = reply.streams(); streams {
		return reply // the end of the stream calls running.Done
	}
	return reply.with(v.common)
}

// goesOn reports whether the request may belong to a call that was accepted before the endpoint
// stopped. It may answer a question of the call, cancel it, or resume its stream.
func (v *PendingRequest) goesOn(body []byte) bool {
	switch v.r.Method {
	case http.MethodPost:
		return !Asks(body)
	case http.MethodGet:
		_, ids := v.r.Fields.Value(headerLastEvent)
		return ids > 0
	}
	return true
}

// serve dispatches by the method. The caller has counted the request.
func (v *PendingRequest) serve(body []byte) *Reply {
	v.id, v.ids = v.r.Fields.Value(headerSession)
	switch v.r.Method {
	case http.MethodPost:
		return v.post(body)
	case http.MethodGet:
		return v.get()
	default:
		return v.remove()
	}
}

// Shutdown refuses new requests (503), ends the standalone streams, and waits for exchanges and for
// the streams of their answers. When ctx ends, it cancels them and waits two more seconds. It ends
// the sessions, except those that other nodes can serve. For clients that do not read their
// streams, this takes two more seconds.
//
// The end of a stream waits for a write to its client, which may not read. Other streams, and
// Shutdown itself, must not wait for that client. Each session therefore ends in a goroutine of its own.
func (e *Endpoint) Shutdown(ctx context.Context) error {
	e.running.Close()
	EachCounted(e.log, e.all(), e.running, (*session).silence)
	if e.node != nil {
		e.unfollow() // another node continues
	}
	defer e.endSessions(ctx)
	return e.running.Drain(ctx, func() { e.stop(errStopped) })
}

// all returns the sessions that this node serves.
func (e *Endpoint) all() []*session {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Collect(maps.Values(e.sessions))
}

// endSessions ends all sessions on this node, then the endpoint's context, the workers and the
// node. Shared sessions stay in the store. It waits for the goroutines of the node, but not for long
// for a client that does not read after ctx has ended.
func (e *Endpoint) endSessions(ctx context.Context) {
	ends := inflight.New()
	EachCounted(e.log, e.all(), ends, func(s *session) {
		e.end(s, ending{cause: errStopped, stays: s.record.made()})
	})
	_ = ends.Drain(ctx, func() {}) // Drain of running has returned the error of ctx
	e.stop(errStopped)
	e.workers.Stop()
	if e.node != nil {
		e.node.End()
	}
}
