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

// Server is an HTTP library's server.
type Server interface {
	// Serve takes connections until its listener is closed; those it has may go on then.
	Serve(l net.Listener) error
	// Shutdown closes what is idle, and waits for the rest until ctx ends.
	Shutdown(ctx context.Context) error
}

// NewServer makes the server of one run. stopping is closed when it begins to stop.
type NewServer func(f *Endpoints, stopping <-chan struct{}) Server

// Serve is a stand-alone server at addr: it takes connections until ctx ends, gives
// accepted exchanges their grace, and closes. While they end, what comes is refused.
// The error is that of the options, or of a listener that could not be opened, or failed.
func (c *Config) Serve(ctx context.Context, addr string, host transport.Host, build NewServer) error {
	if err := cmp.Or(c.Fault, c.misplaced(), c.uncertified(), c.misnamed(), c.mistrusted(), c.misrouted()); err != nil {
		return fmt.Errorf("serving HTTP at %q: %w", addr, err)
	}
	l, err := c.listen(ctx, addr)
	if err != nil {
		return err
	}
	f, conns := New(host, c.Config), newConns(c.WriteTimeout)
	r := &run{Config: c, endpoints: f, server: build(f, ctx.Done()), conns: conns}
	if server, ok := host.(transport.Server); ok {
		r.abandoned = server.Services().Abandoned
	}
	return r.serve(ctx, conns.listener(l))
}

// run is one run of a stand-alone server.
type run struct {
	*Config
	endpoints *Endpoints
	server    Server
	conns     *conns
	abandoned <-chan struct{} // of transport.Services
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
		if ctx.Err() == nil { // without being told to end, and perhaps without a word of why
			failure = cmp.Or(ended, net.ErrClosed)
		}
	case <-ctx.Done():
	}
	detached := context.WithoutCancel(ctx)
	within(detached, r.Grace, r.abandoned, func(ctx context.Context) {
		_ = r.endpoints.Shutdown(ctx) // what had to be cancelled knows it
	})
	_ = l.Close()
	<-served // now all connections that were accepted are in the set
	within(detached, r.WriteTimeout, nil, func(ctx context.Context) {
		r.conns.shutdown(ctx, r.server)
	})
	if failure != nil {
		return fmt.Errorf("serving %s: %w", l.Addr(), failure)
	}
	return nil
}

// within runs do with a context that ends after d, and with stop.
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

// Health is the reply of Healthz (stopping is nil) and of Readyz to GET and HEAD: 200, or
// 503 once stopping is closed. Hosts are not checked, since load balancers call addresses.
func Health(method string, stopping <-chan struct{}) *streamable.Reply {
	if method != http.MethodGet && method != http.MethodHead {
		return NotAllowed("GET, HEAD")
	}
	if Stops(stopping) {
		return streamable.Refusal(503, "the server is shutting down")
	}
	return &streamable.Reply{Status: 200, Header: []streamable.Field{{Name: "Content-Type", Value: "text/plain"}}, Body: []byte("ok\n")}
}

// Stops reports whether a server stops. Its answers then end their connections: on one that
// is kept, the next request could meet the end, and nobody would know whether it was served
// (RFC 9112 section 9.6).
func Stops(stopping <-chan struct{}) bool {
	select {
	case <-stopping:
		return true
	default:
		return false
	}
}

// NotAllowed is the reply of a server to a method that is not among methods.
func NotAllowed(methods string) *streamable.Reply {
	reply := streamable.Refusal(http.StatusMethodNotAllowed, "this method is not served here")
	reply.Header = append(reply.Header, streamable.Field{Name: "Allow", Value: methods})
	return reply
}
