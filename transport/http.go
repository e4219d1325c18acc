package transport

import (
	"context"
	"errors"
	"net/http"

	"github.com/kagami-mcp/kagami/protocol/change"
	"github.com/kagami-mcp/kagami/protocol/eventlog"
	"github.com/kagami-mcp/kagami/protocol/session"
)

// ErrNoSession is what Sessions.Find returns for an id that was never issued, has ended or
// belongs to another principal: callers cannot tell which.
var ErrNoSession = errors.New("transport: no such session")

// ErrUnavailable is what Sessions.Find returns while sessions cannot be looked up: the
// client keeps its session, and tries again.
var ErrUnavailable = errors.New("transport: sessions cannot be looked up now")

// ErrNoStream is what Send returns for a frame before the answer if the client takes one
// JSON answer and no stream (Accept), or cannot be sent a stream.
var ErrNoStream = errors.New("transport: the client takes no stream")

// Fields are the header fields of one HTTP request. They are read-only, and remain valid
// for as long as anything holds them.
type Fields interface {
	// Value is the first value of a field, and how often the request has the field; name in
	// any case.
	Value(name string) (first string, times int)
	// Values are those of one field, in order of arrival; name in any case.
	Values(name string) []string
	// Header is all of them, built at most once.
	Header() http.Header
}

// HeaderFields are the Fields of a header that is not changed any more.
type HeaderFields http.Header

// Value implements Fields.
func (f HeaderFields) Value(name string) (first string, times int) {
	values := http.Header(f).Values(name)
	if len(values) == 0 {
		return "", 0
	}
	return values[0], len(values)
}

// Values implements Fields.
func (f HeaderFields) Values(name string) []string { return http.Header(f).Values(name) }

// Header implements Fields.
func (f HeaderFields) Header() http.Header { return http.Header(f) }

// Request is the HTTP request that carries a frame. It goes into the context of
// Accept and of Serve; carriers without requests have none. Immutable, once it is in one.
type Request struct {
	Fields     Fields // never nil
	RemoteAddr string

	// Sessions finds the connection that the frame belongs to, once the host has
	// seen what kind of frame it is. Nil: the frame belongs to the connection of
	// the context, as on HTTP+SSE, and no header speaks of the frame.
	Sessions Sessions

	// Stream is the response, where it may end before the answer. Nil: it cannot.
	Stream Releaser

	// Outer is the context without anything of this request; see WithoutRequest. Nil: it is not known.
	Outer context.Context //nolint:containedctx // what a request lets go of when it outlives itself

	first carried // the context that WithRequest made first
}

// Releaser is a response that may end early, because the client comes back for the rest
// (2025-11-25 basic/transports, SEP-1699). Release may be called by any goroutine, and at any
// time; more than once has no effect.
type Releaser interface{ Release() }

// carried is a context that carries a Request. It is part of the Request, which saves an
// allocation: most requests are put into exactly one context.
type carried struct {
	context.Context //nolint:containedctx // it is a context itself
	r               *Request
}

// Value returns the request for requestKey; other keys are left to the wrapped context.
func (c *carried) Value(key any) any {
	if key == (requestKey{}) {
		return c.r
	}
	return c.Context.Value(key)
}

// Sessions are a carrier's handshake sessions: each is a connection.
type Sessions interface {
	// Find is the session that the request names; nil where it names none, or
	// a connection that is OneRequest where the carrier keeps no sessions;
	// ErrNoSession where there is no such session for this principal, and
	// ErrUnavailable while that cannot be known. It may have to ask another process:
	// it blocks, and is called from Accept for posted frames only, which are accepted
	// concurrently.
	Find() (*Connection, error)
	// Open makes the connection of a new session. It is called at most once for
	// a request, when its initialize has been understood. The error says that
	// there is no room. A session that the host refuses after all
	// (Connection.Refuse) ends with its request.
	Open() (*Connection, error)
}

type requestKey struct{}

// WithRequest is for carriers: it makes ctx carry r. The first context made for r is in r's
// own memory, so two goroutines must not make it at once.
func WithRequest(ctx context.Context, r *Request) context.Context {
	if r == nil || r.first.Context != nil {
		return context.WithValue(ctx, requestKey{}, r)
	}
	r.first = carried{ctx, r}
	return &r.first
}

// RequestFrom returns the HTTP request that ctx belongs to, or nil.
func RequestFrom(ctx context.Context) *Request {
	r, _ := ctx.Value(requestKey{}).(*Request)
	return r
}

// WithoutRequest returns the context for work that goes on after the exchange of ctx: it has the same
// values but for the request, and no end. Where the carrier has set Request.Outer, it has the
// values of that and the connection, and keeps nothing of the request in memory.
func WithoutRequest(ctx context.Context) context.Context {
	r := RequestFrom(ctx)
	if r == nil || r.Outer == nil {
		return WithRequest(context.WithoutCancel(ctx), nil)
	}
	outer := context.WithoutCancel(r.Outer)
	if c := ConnectionFrom(ctx); c != nil {
		outer = context.WithValue(outer, connectionKey{}, c)
	}
	return outer
}

// Plan is what an HTTP carrier must know about an exchange before it runs.
type Plan struct {
	Answered      bool // there will be an answer; otherwise 202 and no body
	Resumable     bool // a broken response may be resumed
	Polls         bool // an event with an id primes the client to resume
	CancelByClose bool // a closed response cancels the exchange
	LongLived     bool // the exchange waits for something to happen, as subscriptions/listen does
}

// Planned is an Exchange that HTTP carriers know more about. One that is not Planned is
// answered, and its client hears nothing if the process ends before that.
type Planned interface {
	Exchange
	// Plan does not change.
	Plan() Plan
	// Interrupted returns the answer for the client in case the process ends before the
	// exchange; nil: none is due. It may be called while Serve runs.
	Interrupted() []byte
}

// Server is a Host that offers what HTTP carriers can use besides. *framework.Server is one.
type Server interface {
	Host
	// Services does not change once the server is built.
	Services() Services
}

// Services is what a [Server] offers to carriers over HTTP. A field that is nil is not offered.
type Services struct {
	// Authenticator demands a principal of every request.
	Authenticator Authenticator
	// Events keeps what was sent on streams that may be resumed.
	Events eventlog.Store
	// Closing is closed when the host begins to stop: streams that would never end by themselves
	// are to end.
	Closing <-chan struct{}
	// Abandoned is closed when the host has given up on calls that do not end, although they were
	// cancelled. A carrier that ends does not wait for those.
	Abandoned <-chan struct{}
	// Warn takes a warning for whoever runs the server, such as that a host name was refused. It
	// may be called concurrently, and a carrier calls it some hundred times in its life at most.
	Warn func(text string)

	// Sessions keeps what other processes must know to serve a session of this one. Nil: a
	// session is this process's alone. Otherwise Events are shared, too, and the two fields
	// below are set.
	Sessions session.Store
	// Changes tells the other processes what happened.
	Changes change.Bus
	// Adopt tells the host of a session that another process has opened and whose client
	// listens here: of some sessions no frame ever comes here. Of what others change in it
	// later the host hears by Changes. Each further call looks for what they have changed before
	// it. The error says that the host takes no more connections.
	Adopt func(link *Connection) error
}

// AuthError is an Authenticator's refusal in terms of HTTP. Any other error of an
// Authenticator is 401 with the challenge "Bearer". The text of Err is not shown to the
// client.
type AuthError struct {
	Status    int    // 400, 401, 403 or 503; one that refuses nothing is sent as 401
	Challenge string // of WWW-Authenticate; empty: none
	Err       error
}

// HTTPStatus is Status, or 401 where that is none, or none that refuses: the connection would
// break, or the client believe that it was heard.
func (e *AuthError) HTTPStatus() int {
	if e.Status < http.StatusBadRequest || http.StatusText(e.Status) == "" {
		return http.StatusUnauthorized
	}
	return e.Status
}

// Error returns the reason.
func (e *AuthError) Error() string {
	if e.Err == nil {
		return http.StatusText(e.Status)
	}
	return e.Err.Error()
}

// Unwrap returns the reason.
func (e *AuthError) Unwrap() error { return e.Err }
