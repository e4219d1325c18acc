package transporttest_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/kagami-mcp/kagami/testkit/transporttest"
	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/inmem"
)

// asBroken makes the test binary run a suite that fails.
const asBroken = "TRANSPORTTEST_BROKEN"

// overtaken delivers the first note of an exchange after the second.
type overtaken struct {
	transport.Conn
	held []byte
}

func (c *overtaken) Read(ctx context.Context) ([]byte, error) {
	if held := c.held; held != nil {
		c.held = nil
		return held, nil
	}
	first, err := c.Conn.Read(ctx)
	if err != nil || !bytes.Contains(first, []byte(`"seq":0`)) {
		return first, err
	}
	c.held = first
	return c.Conn.Read(ctx)
}

// wrapped is a host that passes the carrier's Outbound through wrap. It turns a correct carrier into a
// broken one.
type wrapped struct {
	transport.Host
	wrap func(transport.Outbound) transport.Outbound
}

func (h wrapped) Accept(ctx context.Context, frame []byte) (transport.Exchange, error) {
	x, err := h.Host.Accept(ctx, frame)
	return wrappedExchange{x, h.wrap}, err
}

type wrappedExchange struct {
	transport.Exchange
	wrap func(transport.Outbound) transport.Outbound
}

func (x wrappedExchange) Serve(ctx context.Context, out transport.Outbound) error {
	return x.Exchange.Serve(ctx, x.wrap(out))
}

// impatient sends nothing when the context has ended, not even a final frame.
func impatient(out transport.Outbound) transport.Outbound {
	return transport.OutboundFunc(func(ctx context.Context, frame transport.Frame) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return out.Send(ctx, frame)
	})
}

// deaf sends every frame, even when the context has ended.
func deaf(out transport.Outbound) transport.Outbound {
	return transport.OutboundFunc(func(ctx context.Context, frame transport.Frame) error {
		return out.Send(context.WithoutCancel(ctx), frame)
	})
}

// pooled has no Out for a connection, and uses the Outbound of an exchange again when Serve has returned.
type pooled struct{ transport.Host }

func (h pooled) Accept(ctx context.Context, frame []byte) (transport.Exchange, error) {
	x, err := h.Host.Accept(transport.Connect(ctx, transport.Peer{}), frame)
	return pooledExchange{x}, err
}

type pooledExchange struct{ transport.Exchange }

func (x pooledExchange) Serve(ctx context.Context, out transport.Outbound) error {
	var over atomic.Bool
	defer over.Store(true)
	return x.Exchange.Serve(ctx, transport.OutboundFunc(func(ctx context.Context, frame transport.Frame) error {
		if over.Load() {
			frame.JSON = []byte(`{"jsonrpc":"2.0","method":"stray"}`)
		}
		return out.Send(ctx, frame)
	}))
}

// hasty derives its connection from the context of Serve.
type hasty chan transport.Conn

func (h hasty) Serve(ctx context.Context, host transport.Host) error {
	conn := inmem.Dial(ctx, host)
	h <- conn
	<-ctx.Done()
	return conn.Close()
}

func TestHastyCarrier(t *testing.T) {
	t.Parallel()
	if os.Getenv(asBroken) != "hasty" {
		t.Skip("it fails: see TestFailuresTellTheRule")
	}
	transporttest.Stop(t, func(testing.TB) (transport.Transport, func(context.Context) (transport.Conn, error)) {
		carrier := make(hasty, 1)
		return carrier, func(context.Context) (transport.Conn, error) { return <-carrier, nil }
	})
}

// brokenCarriers are carriers that break one rule each.
var brokenCarriers = map[string]transporttest.Open{
	"overtaken": func(t testing.TB, host transport.Host) transport.Conn {
		t.Helper()
		return &overtaken{Conn: inmem.Dial(t.Context(), host)}
	},
	"impatient": func(t testing.TB, host transport.Host) transport.Conn {
		t.Helper()
		return inmem.Dial(t.Context(), wrapped{host, impatient})
	},
	"deaf": func(t testing.TB, host transport.Host) transport.Conn {
		t.Helper()
		return inmem.Dial(t.Context(), wrapped{host, deaf})
	},
	"pooled": func(t testing.TB, host transport.Host) transport.Conn {
		t.Helper()
		return inmem.Dial(t.Context(), pooled{host})
	},
}

func TestBrokenCarrier(t *testing.T) {
	t.Parallel()
	open := brokenCarriers[os.Getenv(asBroken)]
	if open == nil {
		t.Skip("it fails: see TestFailuresTellTheRule")
	}
	transporttest.Suite(t, open)
}

// A carrier that breaks a rule is told which.
func TestFailuresTellTheRule(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ carrier, test, fault, rule string }{
		{"overtaken", "TestBrokenCarrier/NotesBeforeResult", "came in place 0", "What an exchange sends arrives complete, in its order, and before its result."},
		{"impatient", "TestBrokenCarrier/FinalAfterTheEnd", "a final frame: context canceled", "A final frame is sent even if the context of Send has ended."},
		{"deaf", "TestBrokenCarrier/NoteAfterTheEnd", "want the answer alone", "A frame that is not final is not sent if the context of Send has ended: Send returns an error."},
		{"pooled", "TestBrokenCarrier/Unsolicited", "want the frame that belongs to no exchange", "What the host sends outside of an exchange arrives, also after the exchange that opened the session."},
		{"hasty", "TestHastyCarrier/GraceIsOver", "was cancelled after", "When the context of Serve ends, calls are cancelled after the grace period of the host, with a cause, and not before."},
	} {
		t.Run(tt.carrier, func(t *testing.T) {
			t.Parallel()
			suite, test, _ := strings.Cut(tt.test, "/")
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+suite+"$/^(Echo|"+test+")$")
			cmd.Env = append(os.Environ(), asBroken+"="+tt.carrier)
			out, err := cmd.CombinedOutput()
			if err == nil {
				t.Fatalf("a carrier that is broken passes:\n%s", out)
			}
			for _, want := range []string{"--- FAIL: " + tt.test, tt.fault, "transporttest: the rule: " + tt.rule} {
				if !strings.Contains(string(out), want) {
					t.Errorf("no %q in\n%s", want, out)
				}
			}
			if strings.Contains(string(out), "TestBrokenCarrier/Echo") {
				t.Errorf("the output names a rule that the carrier follows:\n%s", out)
			}
		})
	}
}
