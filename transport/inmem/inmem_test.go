package inmem_test

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/kagami-mcp/kagami/testkit/transporttest"
	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/inmem"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestSuite(t *testing.T) {
	t.Parallel()
	transporttest.Suite(t, func(t testing.TB, host transport.Host) transport.Conn {
		return inmem.Dial(t.Context(), host)
	})
}

// hostFunc is a host whose exchanges are one function.
type hostFunc func(ctx context.Context, frame []byte, out transport.Outbound) error

func (h hostFunc) Accept(_ context.Context, frame []byte) (transport.Exchange, error) {
	return exchange{h, frame}, nil
}

type exchange struct {
	serve hostFunc
	frame []byte
}

func (x exchange) Serve(ctx context.Context, out transport.Outbound) error {
	return x.serve(ctx, x.frame, out)
}

func echo(ctx context.Context, frame []byte, out transport.Outbound) error {
	return out.Send(ctx, transport.Frame{JSON: frame})
}

func TestPeer(t *testing.T) {
	t.Parallel()
	alice := &transport.Principal{Subject: "alice"}
	conn := inmem.Dial(transport.WithPrincipal(t.Context(), alice), hostFunc(
		func(ctx context.Context, frame []byte, out transport.Outbound) error {
			c := transport.ConnectionFrom(ctx)
			if c.Carrier != "memory" || c.Out == nil || transport.PrincipalFrom(ctx) != alice {
				t.Errorf("Connection %+v, principal %+v", c, transport.PrincipalFrom(ctx))
			}
			return out.Send(ctx, transport.Frame{JSON: frame})
		}))
	defer func() { _ = conn.Close() }()
	if err := conn.Write(t.Context(), []byte(`{}`)); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Read(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestEndOfContext: the end of Dial's context is the end of the connection, also
// for those who never call Close.
func TestEndOfContext(t *testing.T) {
	t.Parallel()
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	causes := make(chan error, 1)
	conn := inmem.Dial(ctx, hostFunc(func(ctx context.Context, _ []byte, _ transport.Outbound) error {
		<-ctx.Done()
		causes <- context.Cause(ctx)
		return nil
	}))
	if err := conn.Write(t.Context(), []byte(`{}`)); err != nil {
		t.Fatal(err)
	}
	cancel(why)
	if got := <-causes; !errors.Is(got, why) {
		t.Errorf("the exchange was cancelled because of %v, want %v", got, why)
	}
	if _, err := conn.Read(t.Context()); !errors.Is(err, io.EOF) {
		t.Errorf("Read after the end: %v, want io.EOF", err)
	}
	if err := conn.Write(t.Context(), []byte(`{}`)); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("Write after the end: %v, want io.ErrClosedPipe", err)
	}
}

// TestDrained: what was sent before the end can be read after it.
func TestDrained(t *testing.T) {
	t.Parallel()
	conn := inmem.Dial(t.Context(), hostFunc(echo))
	sent := []string{`{"n":1}`, `{"n":2}`}
	for _, frame := range sent {
		if err := conn.Write(t.Context(), []byte(frame)); err != nil {
			t.Fatal(err)
		}
		got, err := conn.Read(t.Context())
		if err != nil || string(got) != frame {
			t.Fatalf("Read: %s, %v", got, err)
		}
	}
	late := make(chan struct{})
	conn = inmem.Dial(t.Context(), hostFunc(func(ctx context.Context, frame []byte, out transport.Outbound) error {
		defer close(late)
		return out.Send(ctx, transport.Frame{JSON: frame})
	}))
	if err := conn.Write(t.Context(), []byte(sent[0])); err != nil {
		t.Fatal(err)
	}
	<-late
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := conn.Read(t.Context()); err != nil || string(got) != sent[0] {
		t.Errorf("Read after Close: %s, %v, want the frame that was sent", got, err)
	}
	if _, err := conn.Read(t.Context()); !errors.Is(err, io.EOF) {
		t.Errorf("Read of a drained connection: %v, want io.EOF", err)
	}
}

// TestBackpressure runs in a bubble, where a test can see that all goroutines wait.
func TestBackpressure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const frames = 3000
		var sent atomic.Int64
		conn := inmem.Dial(t.Context(), hostFunc(
			func(ctx context.Context, frame []byte, out transport.Outbound) error {
				for range frames {
					if err := out.Send(ctx, transport.Frame{JSON: frame}); err != nil {
						return err
					}
					sent.Add(1)
				}
				return nil
			}))
		if err := conn.Write(t.Context(), []byte(`{}`)); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if n := sent.Load(); n != 1024 {
			t.Errorf("%d frames were sent while the client did not read, want 1024", n)
		}
		if _, err := conn.Read(t.Context()); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if n := sent.Load(); n != 1025 {
			t.Errorf("%d frames were sent after one was read, want 1025", n)
		}
		if err := conn.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

// TestBubble: a slow exchange costs no real time.
func TestBubble(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		conn := inmem.Dial(t.Context(), hostFunc(
			func(ctx context.Context, frame []byte, out transport.Outbound) error {
				time.Sleep(time.Hour)
				return out.Send(ctx, transport.Frame{JSON: frame})
			}))
		defer func() { _ = conn.Close() }()
		start := time.Now()
		if err := conn.Write(t.Context(), []byte(`{}`)); err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Read(t.Context()); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(start); d != time.Hour {
			t.Errorf("took %v", d)
		}
		impatient, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := conn.Read(impatient); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Read: %v", err)
		}
	})
}

func TestRefusedWrites(t *testing.T) {
	t.Parallel()
	conn := inmem.Dial(t.Context(), hostFunc(echo))
	defer func() { _ = conn.Close() }()
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := conn.Write(over, []byte(`{}`)); !errors.Is(err, context.Canceled) {
		t.Errorf("Write with a context that has ended: %v", err)
	}
}

func BenchmarkRoundTrip(b *testing.B) {
	conn := inmem.Dial(b.Context(), hostFunc(echo))
	defer func() { _ = conn.Close() }()
	frame := []byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	b.ReportAllocs()
	for b.Loop() {
		if err := conn.Write(b.Context(), frame); err != nil {
			b.Fatal(err)
		}
		if _, err := conn.Read(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

// constant answers every frame with the same one, and allocates nothing.
type constant struct{ frame []byte }

func (c *constant) Accept(context.Context, []byte) (transport.Exchange, error) { return c, nil }

func (c *constant) Serve(ctx context.Context, out transport.Outbound) error {
	return out.Send(ctx, transport.Frame{JSON: c.frame})
}

// TestAllocations: a frame costs one, and its answer one: both are given away. Not
// parallel: it counts what is allocated.
func TestAllocations(t *testing.T) {
	frame := []byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	conn := inmem.Dial(t.Context(), &constant{frame})
	defer func() { _ = conn.Close() }()
	got := testing.AllocsPerRun(1000, func() {
		if err := conn.Write(t.Context(), frame); err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Read(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
	if got > 2 {
		t.Errorf("%v allocations a round trip, documented are 2", got)
	}
}
