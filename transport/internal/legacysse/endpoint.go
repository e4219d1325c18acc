package legacysse

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"sync"

	"github.com/kagami-mcp/kagami/protocol/eventlog"
	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/internal/cluster"
	"github.com/kagami-mcp/kagami/transport/internal/inflight"
	"github.com/kagami-mcp/kagami/transport/internal/streamable"
)

var errStopped = errors.New("legacysse: the server stopped")

// parameter is the query parameter that identifies a connection.
const parameter = "sessionId"

// Role is the set of methods that a URL of HTTP+SSE serves.
type Role string

// The roles. A pair of URLs has one role each; a single URL can have both.
const (
	Stream   Role = http.MethodGet
	Messages Role = http.MethodPost
	Both     Role = http.MethodGet + ", " + http.MethodPost
)

func (r Role) serves(method string) bool {
	return method == http.MethodGet && r != Messages || method == http.MethodPost && r != Stream
}

// Request is an HTTP request without its body, as a carrier read it.
type Request struct {
	*streamable.Request
	Role  Role
	Query string // of the URI, without "?"

	// Messages is the reference for the posts of clients, relative to the URL of this
	// request and without a query. If it is empty, they post to the same URL.
	Messages string
}

// Endpoint is a pair of URLs of HTTP+SSE, or one URL with both roles.
//
// mu guards the connections that requests and messages of nodes can find. newSession and register add
// one, and leave removes it. The other fields do not change, or are safe for concurrent use.
type Endpoint struct {
	*streamable.Admitter
	host    transport.Host
	life    context.Context //nolint:containedctx // the parent of all connections
	stop    context.CancelCauseFunc
	running *inflight.Counter // requests, exchanges and streams

	node  *cluster.Node  // if nil, a frame must be posted on the node with the stream
	inbox eventlog.Store // frames that were posted on other nodes

	mu       sync.Mutex // guards the fields below
	sessions map[string]*session
	keys     map[string]*session // by the key of their record
}

// New returns an endpoint for host. If host is a [transport.Server], the endpoint uses its
// services.
func New(host transport.Host, cfg streamable.Config) *Endpoint {
	e := &Endpoint{
		Admitter: streamable.NewAdmitter(host, cfg), host: host,
		running:  inflight.New(),
		sessions: make(map[string]*session),
		keys:     make(map[string]*session),
	}
	e.life, e.stop = context.WithCancelCause(context.Background()) //nolint:forbidigo // an endpoint outlives any one request
	if server, ok := host.(transport.Server); ok {
		e.joinNodes(server.Services())
	}
	return e
}

// PendingRequest is a request whose method, header and caller were accepted, and whose body has not
// been read.
type PendingRequest struct {
	streamable.Admission
	e *Endpoint
	r *Request
}

// Check checks everything except the body. It returns a refusal, or a PendingRequest, whose Serve
// is called next.
func (e *Endpoint) Check(ctx context.Context, r *Request) (*PendingRequest, *streamable.Reply) {
	entry, refused := e.Admit(ctx, r.Request, string(r.Role))
	if refused != nil {
		return nil, refused
	}
	v := &PendingRequest{Admission: entry, e: e, r: r}
	switch {
	case !r.Role.serves(r.Method):
		refused = v.NotAllowed(string(r.Role))
	case r.Method == http.MethodPost:
		refused = v.NoJSON()
	default:
		refused = v.NoEvents()
	}
	if refused != nil {
		return nil, refused
	}
	return v, nil
}

// Serve answers the request. The endpoint owns the body of a POST from then on; for a GET body is
// nil.
func (v *PendingRequest) Serve(body []byte) *streamable.Reply {
	post := v.r.Method == http.MethodPost
	if v.e.Stops() || !v.e.running.TryAdd() {
		if !post || streamable.Asks(body) {
			return v.ShuttingDown()
		}
		v.e.running.Add() // it may answer a question of a call that was accepted
	}
	if !post {
		return v.open()
	}
	defer v.e.running.Done()
	id, s := v.session()
	if s == nil {
		return v.forward(id, body)
	}
	return s.take(v, body)
}

func (v *PendingRequest) noSession() *streamable.Reply {
	return v.Refuse(http.StatusNotFound, "no such session")
}

// open begins a connection. The end of its stream calls running.Done for the request.
//
// Until the stream has a carrier, open owns the session, also if the store panics.
func (v *PendingRequest) open() (reply *streamable.Reply) {
	s, ok := v.e.newSession(v)
	if !ok {
		v.e.running.Done()
		v.e.Log().Warn("a stream of HTTP+SSE was refused: MaxSessions is reached", "")
		return v.TooMany("too many connections")
	}
	defer func() {
		if reply == nil || reply.Stream == nil { // reply is nil if the store has panicked
			s.leave()
		}
	}()
	if v.e.running.Closed() { // Shutdown may have ended the sessions before it could see this one
		return v.ShuttingDown()
	}
	if s.register(v.Context()) != nil {
		return v.Unavailable()
	}
	return s.out.Reply(&v.Admission)
}

// session returns the id in the query. It also returns the session, if its stream is on this node
// and the session belongs to this principal. If the id is empty, the query does not identify a
// session of any node.
func (v *PendingRequest) session() (id string, s *session) {
	values, err := url.ParseQuery(v.r.Query)
	if err != nil || len(values[parameter]) != 1 {
		return "", nil
	}
	id = values.Get(parameter)
	v.e.mu.Lock()
	defer v.e.mu.Unlock()
	s = v.e.sessions[id]
	if s != nil && s.principal != v.Principal() {
		return "", nil
	}
	return id, s
}

// Shutdown refuses new requests (503) and waits for exchanges. Each stream ends after the last
// exchange of its connection. When ctx ends, Shutdown cancels the exchanges and waits two more
// seconds.
//
// The end of a stream may wait for a write to a client that does not read. The other sessions, and
// Shutdown itself, must not wait for that client.
func (e *Endpoint) Shutdown(ctx context.Context) error {
	e.running.Close()
	e.mu.Lock()
	all := slices.Collect(maps.Values(e.sessions))
	e.mu.Unlock()
	streamable.EachCounted(e.Log(), all, e.running, (*session).close)
	if e.node != nil {
		defer e.node.End()
	}
	defer e.stop(errStopped)
	return e.running.Drain(ctx, func() {
		e.stop(errStopped)
		streamable.EachCounted(e.Log(), all, e.running, func(s *session) { s.out.Finish() })
	})
}
