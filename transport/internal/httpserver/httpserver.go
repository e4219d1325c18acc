// Package httpserver has what the HTTP carriers share, except for the rules of MCP: their settings,
// the endpoints of their URLs, and the shutdown of a stand-alone server. A carrier reads a request
// into a [Request], calls an [Endpoint], and writes the reply.
//
// # Ownership and locks
//
// run.serve is the goroutine of a stand-alone server, and waits for all others: the one that accepts
// (Server.Serve), and during the shutdown the one in Server.Shutdown and a few that end a context. The
// goroutines of connections belong to the Server.
//
// The shutdown has this order. The endpoints end first, while the listener still accepts, so that
// clients of other calls get 503. Then the listener is closed. When Server.Serve has returned, conns has
// every connection that was accepted, and closes them, idle ones first. Endpoints.Shutdown must return
// even if clients do not read, because only the closing of their connections ends a Write to them.
//
// conns.mu is the only lock. It guards the set of connections, and nothing else is done while it is
// held: connections are collected under it, and closed after it. A connection is in the set from
// Accept until its first Close.
//
// A reply with a body from Memory owns the buffer until the carrier has written it. After Put the
// buffer belongs to the pool; with the race detector its bytes are overwritten.
package httpserver

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"

	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/internal/hostcall"
	"github.com/kagami-mcp/kagami/transport/internal/legacysse"
	"github.com/kagami-mcp/kagami/transport/internal/streamable"
)

// Request is an HTTP request without its body. Its strings do not share memory with the HTTP
// library.
type Request struct {
	streamable.Request
	Query string
}

// PendingRequest is a request whose header was accepted and whose body has not been read. The
// caller calls exactly one of the methods.
type PendingRequest interface {
	// Serve answers the request. The endpoint owns body from then on.
	Serve(body []byte) *streamable.Reply
	TooLarge(limit int) *streamable.Reply
	Unreadable() *streamable.Reply
}

// Endpoint checks the header of a request to one URL. If the Reply is not nil, the request is
// refused.
type Endpoint func(ctx context.Context, r *Request) (PendingRequest, *streamable.Reply)

// Endpoints are all endpoints of a carrier for one host.
type Endpoints struct {
	host  transport.Host
	limit int
	main  *streamable.Endpoint
	old   *legacysse.Endpoint
}

// New returns the endpoints for host.
func New(host transport.Host, cfg streamable.Config) *Endpoints {
	f := &Endpoints{host: host, main: streamable.New(host, cfg), old: legacysse.New(host, cfg)}
	f.limit = f.main.Config().BodyLimit
	return f
}

// Limit returns the largest size of a body in bytes.
func (f *Endpoints) Limit() int { return f.limit }

// MainOf returns the endpoint of Streamable HTTP, which sends the landing page to a browser.
func (f *Endpoints) MainOf(c *Config) Endpoint {
	return func(ctx context.Context, r *Request) (PendingRequest, *streamable.Reply) {
		if r.Method != http.MethodPost {
			if page := f.Land(r, c, r.Path); page != nil {
				return nil, page
			}
		}
		return f.Main(ctx, r)
	}
}

// RootOf returns the endpoint for the root of a stand-alone server whose MCP endpoint is elsewhere.
// It sends the landing page to a browser, and 404 to other clients.
func (f *Endpoints) RootOf(c *Config) Endpoint {
	return func(_ context.Context, r *Request) (PendingRequest, *streamable.Reply) {
		if page := f.Land(r, c, c.Path); page != nil {
			return nil, page
		}
		return nil, streamable.Refusal(http.StatusNotFound, "there is nothing here")
	}
}

// Main is the endpoint of Streamable HTTP.
func (f *Endpoints) Main(ctx context.Context, r *Request) (PendingRequest, *streamable.Reply) {
	v, refused := f.main.Check(ctx, &r.Request)
	return v, refused
}

// Old returns an endpoint of HTTP+SSE. Its clients post to the path neighbor beside the URL or, if
// neighbor is empty, to the URL itself.
func (f *Endpoints) Old(role legacysse.Role, neighbor string) Endpoint {
	return func(ctx context.Context, r *Request) (PendingRequest, *streamable.Reply) {
		messages := neighbor
		if messages != "" && strings.HasSuffix(r.Path, "/") {
			messages = "../" + messages // a path with a trailing slash is one level deeper
		}
		v, refused := f.old.Check(ctx, &legacysse.Request{Request: &r.Request, Role: role, Query: r.Query, Messages: messages})
		return v, refused
	}
}

// Shutdown ends all endpoints at the same time; see [streamable.Endpoint.Shutdown].
func (f *Endpoints) Shutdown(ctx context.Context) error {
	var old error
	var both sync.WaitGroup
	both.Go(func() { old = f.old.Shutdown(ctx) })
	err := f.main.Shutdown(ctx)
	both.Wait()
	return errors.Join(err, old)
}

// Log returns the log for warnings of the carrier.
func (f *Endpoints) Log() *hostcall.Log { return f.main.Log() }

// Broken logs the panic value, and returns the reply to the request that panicked.
func Broken(logs *hostcall.Log, value any) *streamable.Reply {
	logs.Panicked(value)
	return streamable.Refusal(http.StatusInternalServerError, "internal error")
}
