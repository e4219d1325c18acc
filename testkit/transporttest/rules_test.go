package transporttest_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"strings"
	"sync"
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

// patient is a connection with a Close that waits for the exchanges and does not cancel them.
type patient struct {
	transport.Conn
	running *sync.WaitGroup
}

func (p patient) Close() error {
	p.running.Wait()
	return p.Conn.Close()
}

type patientHost struct {
	transport.Host
	running *sync.WaitGroup
}

func (h patientHost) Accept(ctx context.Context, frame []byte) (transport.Exchange, error) {
	x, err := h.Host.Accept(ctx, frame)
	h.running.Add(1)
	return patientExchange{x, h.running}, err
}

type patientExchange struct {
	transport.Exchange
	running *sync.WaitGroup
}

func (x patientExchange) Serve(ctx context.Context, out transport.Outbound) error {
	defer x.running.Done()
	return x.Exchange.Serve(ctx, out)
}

// uncaused is a host behind a carrier that cancels without a cause.
type uncaused struct{ transport.Host }

func (h uncaused) Accept(ctx context.Context, frame []byte) (transport.Exchange, error) {
	x, err := h.Host.Accept(ctx, frame)
	return uncausedExchange{x}, err
}

type uncausedExchange struct{ transport.Exchange }

func (x uncausedExchange) Serve(ctx context.Context, out transport.Outbound) error {
	plain, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	return x.Exchange.Serve(plain, out)
}

// joint serves several clients, but calls transport.Connect only once. Frames that belong to no
// exchange go to its first client.
type joint chan chan transport.Conn

func (j joint) Serve(ctx context.Context, host transport.Host) error {
	var first atomic.Pointer[transport.Outbound]
	all := transport.Connect(ctx, transport.Peer{Out: transport.OutboundFunc(func(ctx context.Context, frame transport.Frame) error {
		return (*first.Load()).Send(ctx, frame)
	})})
	for n := 0; ; n++ {
		keep := &first
		if n > 0 {
			keep = new(atomic.Pointer[transport.Outbound])
		}
		select {
		case client := <-j:
			client <- inmem.Dial(ctx, jointHost{host, all, keep})
		case <-ctx.Done():
			return nil
		}
	}
}

type jointHost struct {
	transport.Host
	all  context.Context
	keep *atomic.Pointer[transport.Outbound]
}

func (h jointHost) Accept(_ context.Context, frame []byte) (transport.Exchange, error) {
	x, err := h.Host.Accept(h.all, frame)
	return wrappedExchange{x, func(out transport.Outbound) transport.Outbound {
		h.keep.Store(&out)
		return out
	}}, err
}

func TestJointCarrier(t *testing.T) {
	t.Parallel()
	if os.Getenv(asBroken) != "joint" {
		t.Skip("it fails: see TestFailuresTellTheRule")
	}
	transporttest.HurryUp()
	transporttest.Connections(t, func(testing.TB) (transport.Transport, func(context.Context) (transport.Conn, error)) {
		carrier := make(joint)
		return carrier, func(context.Context) (transport.Conn, error) {
			client := make(chan transport.Conn, 1)
			carrier <- client
			return <-client, nil
		}
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
	"patient": func(t testing.TB, host transport.Host) transport.Conn {
		t.Helper()
		running := new(sync.WaitGroup)
		return patient{inmem.Dial(t.Context(), patientHost{host, running}), running}
	},
	"uncaused": func(t testing.TB, host transport.Host) transport.Conn {
		t.Helper()
		return inmem.Dial(t.Context(), uncaused{host})
	},
}

func TestBrokenCarrier(t *testing.T) {
	t.Parallel()
	open := brokenCarriers[os.Getenv(asBroken)]
	if open == nil {
		t.Skip("it fails: see TestFailuresTellTheRule")
	}
	transporttest.HurryUp()
	transporttest.Suite(t, open)
}

// TestFailuresTellTheRule checks that the failure of a carrier contains the rule that it breaks.
func TestFailuresTellTheRule(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ carrier, test, fault, rule string }{
		{"overtaken", "TestBrokenCarrier/NotesBeforeResult", "came in place 0", "What an exchange sends arrives complete, in its order, and before its result."},
		{"impatient", "TestBrokenCarrier/FinalAfterTheEnd", "a final frame: context canceled", "A final frame is sent even if the context of Send has ended."},
		{"deaf", "TestBrokenCarrier/NoteAfterTheEnd", "want the answer alone", "A frame that is not final is not sent if the context of Send has ended: Send returns an error."},
		{"pooled", "TestBrokenCarrier/Unsolicited", "want the frame that belongs to no exchange", "What the host sends outside of an exchange arrives, also after the exchange that opened the session."},
		{"patient", "TestBrokenCarrier/CloseCancelsExchanges", "waited in vain for Close to return", "Close cancels the exchanges that run, with a cause."},
		{"uncaused", "TestBrokenCarrier/CloseCancelsExchanges", "without a cause", "Close cancels the exchanges that run, with a cause."},
		{"joint", "TestJointCarrier/OwnConnection", "two connections have the same Connection", "Each connection of a carrier has a Connection of its own."},
		{"joint", "TestJointCarrier/OwnFrames", "for another connection", "A connection gets its own frames only, in exchanges and outside of them."},
		{"joint", "TestJointCarrier/EndsAlone", "waited in vain for Connection.OnClose", "The end of a connection ends nothing of the other connections."},
		{"hasty", "TestHastyCarrier/GraceIsOver", "was cancelled after", "When the context of Serve ends, calls are cancelled after the grace period of the host, with a cause, and not before."},
	} {
		t.Run(tt.carrier+"/"+tt.test, func(t *testing.T) {
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
