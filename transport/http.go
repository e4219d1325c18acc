package transport

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/kagami-mcp/kagami/protocol/change"
	"github.com/kagami-mcp/kagami/protocol/eventlog"
	"github.com/kagami-mcp/kagami/protocol/session"
)

// ErrNoSession is the error of Sessions.Find for an id that was never issued, has ended or belongs to
// another principal. The caller cannot find out which.
var ErrNoSession = errors.New("transport: no such session")

// ErrUnavailable is the error of Sessions.Find while sessions cannot be looked up. The client keeps
// its session, and tries again.
var ErrUnavailable = errors.New("transport: sessions cannot be looked up now")

// ErrNoStream is the error of Send for a frame before the answer, if the client accepts only one JSON
// answer, or if the carrier cannot send a stream.
var ErrNoStream = errors.New("transport: the client takes no stream")

// Fields are the header fields of one HTTP request. They are read-only, safe for concurrent use, and
// stay valid as long as they are referenced. Names are in any case.
type Fields interface {
	// Value returns the first value of a field, and how often the request has the field.
	Value(name string) (first string, times int)
	// Values returns all values of a field, in order of arrival.
	Values(name string) []string
	// Header returns all fields. It is built at most once.
	Header() http.Header
}

// HeaderFields makes Fields of a header. The header must not be changed any more.
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

// Request is the HTTP request that carries a frame. An HTTP carrier puts it into the context of Accept
// and of Serve. It is immutable from then on.
type Request struct {
	Fields     Fields // never nil
	RemoteAddr string // such as "192.0.2.1:4711"; behind a proxy that the program does not trust, the address of the proxy

	// Sessions finds the connection of the frame, once the host has seen what kind of frame it is.
	// If it is nil, the frame belongs to the connection of the context, as on HTTP+SSE, and the
	// header does not describe the frame.
	Sessions Sessions

	// Stream is the response, if it may end before the answer, because the client comes back for the
	// rest (2025-11-25 basic/transports, SEP-1699); otherwise nil. Release may be called by any
	// goroutine, at any time. Further calls have no effect.
	Stream interface{ Release() }

	// Outer is the context without anything of this request; see WithoutRequest. It may be nil.
	Outer context.Context //nolint:containedctx // for work that goes on after the request

	first carried // the context that WithRequest made first
}

// carried is a context with a Request. It is part of the Request, which saves an allocation, because
// most requests are put into exactly one context.
type carried struct {
	context.Context //nolint:containedctx // it is a context itself
	r               *Request
}

// Value returns the request for requestKey, and asks the wrapped context for other keys.
func (c *carried) Value(key any) any {
	if key == (requestKey{}) {
		return c.r
	}
	return c.Context.Value(key)
}

// Sessions are the handshake sessions of a carrier. Each is a connection.
type Sessions interface {
	// Find returns the session that the request names. If the request does not name one, Find
	// returns nil; a carrier without sessions returns a connection that is OneRequest. The error
	// is ErrNoSession or ErrUnavailable. Find may have to ask another process. Accept waits for
	// it, which holds nothing up, because frames with a Request are accepted concurrently.
	Find() (*Connection, error)
	// Open makes the connection of a new session. It is called at most once for a request, when its
	// initialize has been decoded. It returns an error if there are too many sessions. A session that
	// the host refuses after that (Connection.Refuse) ends with its request.
	Open() (*Connection, error)
}

type requestKey struct{}

// WithRequest returns a context with r, for carriers. The first context with r is in r's own memory, so
// two goroutines must not make it at the same time.
func WithRequest(ctx context.Context, r *Request) context.Context {
	if r == nil || r.first.Context != nil {
		return context.WithValue(ctx, requestKey{}, r)
	}
	r.first = carried{ctx, r}
	return &r.first
}

// RequestFrom returns the HTTP request of ctx, or nil.
func RequestFrom(ctx context.Context) *Request {
	r, _ := ctx.Value(requestKey{}).(*Request)
	return r
}

// WithoutRequest returns a context for work that goes on after the exchange of ctx. It has the values
// of ctx except the request, and does not end. If the carrier has set Request.Outer, it has only the
// values of Outer and the connection, so that it keeps nothing of the request in memory.
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

// Plan describes an exchange to an HTTP carrier, before the exchange runs.
type Plan struct {
	Answered      bool // there will be an answer; otherwise the response is 202 without a body
	Resumable     bool // a broken response may be resumed
	Polls         bool // an event with an id primes the client to resume
	CancelByClose bool // a closed response cancels the exchange
	LongLived     bool // the exchange waits for something to happen, as subscriptions/listen does
}

// Planned is an Exchange with a Plan. HTTP carriers expect an answer from an exchange that is not
// Planned, and cannot answer its client if the process ends before that.
type Planned interface {
	Exchange
	// Plan returns the plan, which does not change.
	Plan() Plan
	// Interrupted returns the answer for the client if the process ends before the exchange does;
	// nil if the frame is not answered. It may be called while Serve runs.
	Interrupted() []byte
}

// Server is a Host with services for HTTP carriers. *framework.Server is one.
type Server interface {
	Host
	// Services returns the services, which do not change.
	Services() Services
}

// Services are the functions and values of a [Server] that HTTP carriers use in addition to Accept. All
// carriers use Grace. Each field may be nil or empty.
type Services struct {
	// Authenticator returns the principal of each request, or refuses it.
	Authenticator Authenticator
	// Events stores the frames of streams that may be resumed.
	Events eventlog.Store
	// Closing is closed when the host begins to stop. The carrier then ends the streams that would
	// not end by themselves.
	Closing <-chan struct{}
	// Abandoned is closed when the host does not wait any longer for cancelled calls. A carrier that
	// stops does not wait for them, either.
	Abandoned <-chan struct{}
	// Grace is how long the host lets calls go on when it stops, or 0. A carrier without a setting of
	// its own does not cancel them earlier.
	Grace time.Duration
	// Warn logs a warning, for example about a refused host name. It is safe for concurrent use, and
	// does not call the carrier. A carrier does not log the same warning more than once a minute.
	Warn func(text string)
	// Title is the title for users, which pages show that anyone can read. It may be empty.
	Title string
	// Servable returns why transports that serve the public must refuse to serve the host, or nil.
	// A nil Servable means that they may.
	Servable func() error

	// Sessions stores what other processes need to serve a session of this one. If it is nil, only
	// this process serves its sessions. Otherwise Events is also shared, and Adopt is set.
	Sessions session.Store
	// Changes carries messages to the other processes. It may be nil if there are none.
	Changes change.Bus
	// Adopt makes the host serve a session that another process has opened and whose client listens
	// here, even if a frame of the session never comes here. The host receives later changes of the
	// session by Changes; each further call of Adopt finds the changes before it. If missed is true,
	// the client may have missed updates of the resources that it watches, and the host sends them.
	// Adopt returns an error if the host does not accept connections any more.
	Adopt func(link *Connection, missed bool) error
}

// AuthError is the refusal of an Authenticator, as an HTTP response. Any other error of an
// Authenticator is sent as 401 with the challenge "Bearer". The client does not see the text of Err.
type AuthError struct {
	Status    int    // usually 400, 401, 403 or 503; 0 and others that refuse nothing are sent as 401
	Challenge string // value of WWW-Authenticate; empty means that it is not sent. It is never sent with 503
	Nonce     string // value of DPoP-Nonce (RFC 9449 §9); empty means that it is not sent. It is never sent with 503
	Err       error  // the reason, for logs; may be nil
}

// HTTPStatus returns Status, or 401 if Status is not a status of HTTP that refuses a request.
func (e *AuthError) HTTPStatus() int {
	if e.Status < http.StatusBadRequest || http.StatusText(e.Status) == "" {
		return http.StatusUnauthorized
	}
	return e.Status
}

// Error returns the text of Err. If Err is nil, it returns the text of HTTPStatus.
func (e *AuthError) Error() string {
	if e.Err == nil {
		return http.StatusText(e.HTTPStatus())
	}
	return e.Err.Error()
}

// Unwrap returns the reason.
func (e *AuthError) Unwrap() error { return e.Err }
