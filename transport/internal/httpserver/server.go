package httpserver

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/internal/streamable"
)

// Server is the server of an HTTP library.
type Server interface {
	// Serve accepts connections until its listener is closed. Accepted connections may go on after
	// that.
	Serve(l net.Listener) error
	// Shutdown closes idle connections, and waits for the others until ctx ends.
	Shutdown(ctx context.Context) error
}

// NewServer makes the server of one run. The channel stopping is closed when the run begins to
// stop.
type NewServer func(f *Endpoints, stopping <-chan struct{}) Server

// Serve runs a stand-alone server at addr. When ctx ends, it refuses new requests, waits at most
// Grace for accepted exchanges, and closes the connections. It returns an error for wrong options,
// and if the listener cannot be opened or fails.
func (c *Config) Serve(ctx context.Context, addr string, host transport.Host, build NewServer) error {
	services := servicesOf(host)
	if services.Servable != nil {
		if err := services.Servable(); err != nil {
			return err
		}
	}
	if err := cmp.Or(c.Fault, c.misplaced(), c.uncertified(), c.misnamed(), c.mistrusted(), c.misrouted()); err != nil {
		return fmt.Errorf("serving HTTP at %q: %w", addr, err)
	}
	l, err := c.listen(ctx, addr)
	if err != nil && ctx.Err() != nil { // it was looking up a name
		return nil //nolint:nilerr // a server that is stopped has no error
	}
	if err != nil {
		return err
	}
	f, conns := New(host, c.Config), newConns(c.WriteTimeout)
	r := &run{Config: c, endpoints: f, server: build(f, ctx.Done()), conns: conns, grace: c.Grace, abandoned: services.Abandoned}
	if r.grace <= 0 {
		r.grace = max(30*time.Second, services.Grace)
	}
	return r.serve(ctx, conns.listener(l, f.Log()))
}

// servicesOf returns the services of a host. If host is not a transport.Server, all of them are nil.
func servicesOf(host transport.Host) (s transport.Services) {
	if server, ok := host.(transport.Server); ok {
		s = server.Services()
	}
	return s
}

// run is one run of a stand-alone server.
//
// serve alone uses it. ended belongs to the goroutine that accepts until served is closed.
type run struct {
	*Config
	endpoints *Endpoints
	server    Server
	conns     *conns
	grace     time.Duration
	abandoned <-chan struct{} // see transport.Services
}

func (r *run) serve(ctx context.Context, l net.Listener) error {
	if r.OnListen != nil {
		r.OnListen(l.Addr())
	}
	if r.OnEndpoint != nil {
		r.OnEndpoint(r.endpoint(l.Addr()))
	}
	served := make(chan struct{})
	var ended, failure error
	go func() { defer close(served); ended = r.server.Serve(l) }()
	select {
	case <-served:
		if ctx.Err() == nil { // the server ended by itself, and may have returned no error
			failure = cmp.Or(ended, net.ErrClosed)
		}
	case <-ctx.Done():
	}
	detached := context.WithoutCancel(ctx)
	within(detached, r.grace, r.abandoned, func(ctx context.Context) {
		_ = r.endpoints.Shutdown(ctx) // cancelled exchanges have reported the error themselves
	})
	_ = l.Close()
	<-served // now conns has all connections that were accepted
	within(detached, r.WriteTimeout, nil, func(ctx context.Context) {
		r.conns.shutdown(ctx, r.server)
	})
	if failure != nil {
		return fmt.Errorf("serving %s: %w", l.Addr(), failure)
	}
	return nil
}

// within runs do with a context that ends after d, or when stop is closed.
func within(ctx context.Context, d time.Duration, stop <-chan struct{}, do func(context.Context)) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	go func() {
		select {
		case <-stop:
			cancel()
		case <-ctx.Done():
		}
	}()
	do(ctx)
}

// Health returns the reply to a request for Healthz or Readyz. GET and HEAD get 200, or 503 once
// stopping is closed; for Healthz stopping is nil. The Host field is not checked, because load
// balancers use addresses.
func Health(method string, stopping <-chan struct{}) *streamable.Reply {
	if method != http.MethodGet && method != http.MethodHead {
		return NotAllowed("GET, HEAD")
	}
	if Stops(stopping) {
		return streamable.Refusal(503, "the server is shutting down")
	}
	return &streamable.Reply{Status: 200, Header: []streamable.Field{{Name: "Content-Type", Value: "text/plain"}}, Body: []byte("ok\n")}
}

// Stops reports whether a server is stopping. Its answers then close their connections. On a
// connection that stayed open, the next request could meet the close, and the client could not know
// whether it was served (RFC 9112 section 9.6).
func Stops(stopping <-chan struct{}) bool {
	select {
	case <-stopping:
		return true
	default:
		return false
	}
}

// NotAllowed returns the reply to a method that is not among methods.
func NotAllowed(methods string) *streamable.Reply {
	reply := streamable.Refusal(http.StatusMethodNotAllowed, "this method is not served here")
	reply.Header = append(reply.Header, streamable.Field{Name: "Allow", Value: methods})
	return reply
}
