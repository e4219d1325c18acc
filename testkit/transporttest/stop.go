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
			h := newHost()
			carrier, dial := open(t)
			ctx, stop := context.WithCancel(t.Context())
			t.Cleanup(stop)
			served := make(chan error, 1)
			go func() { served <- carrier.Serve(ctx, stopping{h, test.grace}) }()
			alive, cancel := context.WithTimeout(t.Context(), patience)
			t.Cleanup(cancel)
			conn, err := dial(alive)
			if err != nil {
				t.Fatalf("connecting: %v", err)
			}
			c := &client{t: t, ctx: alive, conn: conn, host: h}
			test.run(t, c, stop)
			if err := within(t, "Serve to return", served); err != nil {
				t.Errorf("Serve: %v", err)
			}
			c.finish()
			h.check(t)
		})
	}
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
	if cause == nil {
		t.Error("the exchange was cancelled without a cause")
	}
}
