package front

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"time"

	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/streamable"
)

// Server is an HTTP library's server.
type Server interface {
	// Serve takes connections until its listener is closed.
	Serve(l net.Listener) error
	// Shutdown closes what is idle, and waits for the rest until ctx ends.
	Shutdown(ctx context.Context) error
}

// Build makes the server of one run. stopping is closed when it begins to stop.
type Build func(f *Front, stopping <-chan struct{}) Server

// Serve is a stand-alone server at addr: it takes connections until ctx ends, gives
// accepted exchanges their grace, and closes. While they end, what comes is refused.
// The error is that of the options, or of a listener that could not be opened, or failed.
func (c *Config) Serve(ctx context.Context, addr string, host transport.Host, build Build) error {
	if err := cmp.Or(c.Fault, c.misplaced()); err != nil {
		return fmt.Errorf("serving HTTP at %q: %w", addr, err)
	}
	l, err := c.listen(ctx, addr)
	if err != nil {
		return err
	}
	f, conns := New(host, c.Config), newConns(c.WriteTimeout)
	return c.run(ctx, f, build(f, ctx.Done()), conns, conns.listener(l))
}

func (c *Config) run(ctx context.Context, f *Front, s Server, conns *conns, l net.Listener) error {
	if c.OnListen != nil {
		c.OnListen(l.Addr())
	}
	served := make(chan struct{})
	var ended, failure error
	go func() { defer close(served); ended = s.Serve(l) }()
	select {
	case <-served:
		failure = ended // without being told to end
	case <-ctx.Done():
	}
	detached := context.WithoutCancel(ctx)
	within(detached, c.Grace, func(ctx context.Context) {
		_ = f.Shutdown(ctx) // what had to be cancelled knows it
	})
	_ = l.Close() // before the last look at the connections
	within(detached, c.WriteTimeout, func(ctx context.Context) { conns.shutdown(ctx, s) })
	<-served
	if failure != nil {
		return fmt.Errorf("serving %s: %w", l.Addr(), failure)
	}
	return nil
}

func within(ctx context.Context, d time.Duration, do func(context.Context)) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	do(ctx)
}

// Health is the reply of Healthz (stopping is nil) and of Readyz: 200, or 503 once
// stopping is closed. Hosts are not checked, since load balancers call addresses.
func Health(stopping <-chan struct{}) *streamable.Reply {
	select {
	case <-stopping:
		return streamable.Refusal(503, "the server is shutting down")
	default:
	}
	return &streamable.Reply{Status: 200, Header: []streamable.Field{{Name: "Content-Type", Value: "text/plain"}}, Body: []byte("ok\n")}
}
