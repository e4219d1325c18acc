package transporttest

import (
	"context"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/transport"
)

// Stop tests a carrier after the context of its Serve has ended, as when a server begins to stop. Calls
// may then go on for the grace period of the host. open returns a carrier, and a function that connects
// a client to it. The carrier must not have a grace period of its own.
//
// [Suite] does not test this. [HTTP] does it for carriers over HTTP.
func Stop(t *testing.T, open func(t testing.TB) (carrier transport.Transport, dial func(ctx context.Context) (transport.Conn, error))) {
	t.Helper()
	for _, test := range []struct {
		name, rule string
		grace      time.Duration
		run        func(t *testing.T, c *client, stop func())
	}{
		{"CallsMayEnd", "When the context of Serve ends, calls may go on, and their answers arrive.", patience, testCallsMayEnd},
		{"GraceIsOver", "When the context of Serve ends, calls are cancelled after the grace period of the host, with a cause, and not before.", shortGrace, testGraceIsOver},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			told(t, test.rule)
			s := serve(t, open, test.grace)
			c := s.client()
			test.run(t, c, s.stop)
			s.wait()
			c.finish()
		})
	}
}

// served is a carrier that serves a host.
type served struct {
	t    testing.TB
	ctx  context.Context //nolint:containedctx // of the clients
	host *host
	dial func(context.Context) (transport.Conn, error)
	stop func() // ends the context of Serve
	over chan error
}

// serve opens a carrier and calls its Serve.
func serve(t testing.TB, open func(testing.TB) (transport.Transport, func(context.Context) (transport.Conn, error)), grace time.Duration) *served {
	t.Helper()
	carrier, dial := open(t)
	ctx, stop := context.WithCancel(t.Context())
	t.Cleanup(stop)
	alive, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	s := &served{t: t, ctx: alive, host: newHost(), dial: dial, stop: stop, over: make(chan error, 1)}
	go func() { s.over <- carrier.Serve(ctx, stopping{s.host, grace}) }()
	return s
}

// client connects a client.
func (s *served) client() *client {
	s.t.Helper()
	conn, err := s.dial(s.ctx)
	if err != nil {
		s.t.Fatalf("connecting: %v", err)
	}
	return &client{t: s.t, ctx: s.ctx, conn: conn, host: s.host}
}

// wait waits for the end of Serve.
func (s *served) wait() {
	s.t.Helper()
	if err := within(s.t, "Serve to return", s.over); err != nil {
		s.t.Errorf("Serve: %v", err)
	}
	s.host.check(s.t)
}

// shortGrace is long enough to detect a carrier that cancels too early.
const shortGrace = 2 * time.Second

// stopping is a host with a grace period.
type stopping struct {
	*host
	grace time.Duration
}

// Services implements transport.Server.
func (s stopping) Services() transport.Services { return transport.Services{Grace: s.grace} }

func testCallsMayEnd(t *testing.T, c *client, stop func()) {
	c.send(1, "hold", script{})
	within(t, "the exchange to begin", c.host.holding)
	stop()
	close(c.host.released)
	if r := c.result(1); r.Result.Text != "held" {
		t.Errorf("got %+v, want the answer of the exchange that was accepted", r)
	}
}

func testGraceIsOver(t *testing.T, c *client, stop func()) {
	c.send(1, "block", script{})
	within(t, "the exchange to begin", c.host.holding)
	began := time.Now()
	stop()
	cause := within(t, "the exchange to be cancelled", c.host.cancelled)
	if after := time.Since(began); after < shortGrace {
		t.Errorf("the exchange was cancelled after %v, and the host has a grace period of %v", after, shortGrace)
	}
	wantCause(t, cause)
}
