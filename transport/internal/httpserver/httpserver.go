// Package httpserver is what carriers over HTTP have in common beside the rules: their
// settings, the endpoints behind their URLs, and the order in which a stand-alone
// server ends. A carrier reads requests into a [Request], asks a [Endpoint], and writes
// the reply.
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

// Request is an HTTP request but for its body. Its strings are its own.
type Request struct {
	streamable.Request
	Query string
}

// PendingRequest is a request that came in.
type PendingRequest interface {
	// Serve answers; body belongs to the endpoint from now on.
	Serve(body []byte) *streamable.Reply
	TooLarge(limit int) *streamable.Reply
	Unreadable() *streamable.Reply
}

// Endpoint is one URL: a Reply refuses.
type Endpoint func(ctx context.Context, r *Request) (PendingRequest, *streamable.Reply)

// Endpoints is all endpoints of a carrier for one host.
type Endpoints struct {
	host  transport.Host
	limit int
	main  *streamable.Endpoint
	old   *legacysse.Endpoint
}

// New makes the endpoints.
func New(host transport.Host, cfg streamable.Config) *Endpoints {
	f := &Endpoints{host: host, main: streamable.New(host, cfg), old: legacysse.New(host, cfg)}
	f.limit = f.main.Config().BodyLimit
	return f
}

// Limit is how large a body may be.
func (f *Endpoints) Limit() int { return f.limit }

// MainOf is the URL of Streamable HTTP, where a browser gets the landing page.
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

// RootOf is the root of a stand-alone server whose endpoint is elsewhere: a browser gets the
// landing page, and there is nothing else.
func (f *Endpoints) RootOf(c *Config) Endpoint {
	return func(_ context.Context, r *Request) (PendingRequest, *streamable.Reply) {
		if page := f.Land(r, c, c.Path); page != nil {
			return nil, page
		}
		return nil, streamable.Refusal(http.StatusNotFound, "there is nothing here")
	}
}

// Main is the URL of Streamable HTTP.
func (f *Endpoints) Main(ctx context.Context, r *Request) (PendingRequest, *streamable.Reply) {
	v, refused := f.main.Check(ctx, &r.Request)
	return v, refused
}

// Old is a URL of HTTP+SSE. Its clients post to the neighbour of that name, or, if it
// is empty, to the URL itself.
func (f *Endpoints) Old(role legacysse.Role, neighbour string) Endpoint {
	return func(ctx context.Context, r *Request) (PendingRequest, *streamable.Reply) {
		messages := neighbour
		if messages != "" && strings.HasSuffix(r.Path, "/") {
			messages = "../" + messages // the slash makes one level more
		}
		v, refused := f.old.Check(ctx, &legacysse.Request{Request: r.Request, Role: role, Query: r.Query, Messages: messages})
		return v, refused
	}
}

// Shutdown ends all endpoints at once; see [streamable.Endpoint.Shutdown].
func (f *Endpoints) Shutdown(ctx context.Context) error {
	var old error
	var both sync.WaitGroup
	both.Go(func() { old = f.old.Shutdown(ctx) })
	err := f.main.Shutdown(ctx)
	both.Wait()
	return errors.Join(err, old)
}

// Broken is the reply to a request on which something panicked.
func Broken(value any) *streamable.Reply {
	hostcall.Report(value)
	return streamable.Refusal(http.StatusInternalServerError, "internal error")
}
