package engine_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/engine"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
	"github.com/kagami-mcp/kagami/transport"
)

func TestShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		wait := func(ctx context.Context, _ *engine.Call) (protocol.Result, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		e := newEngine(t, catalog{"wait": wait})
		p := &peer{t: t, e: e, frames: make(chan string, 100)}
		p.ctx = transport.Connect(ctx, transport.Peer{Out: p})
		p.initialize("2025-11-25", `{}`)
		p.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"wait"}}`)
		grace, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		if err := e.Shutdown(grace); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("shutdown: %v", err)
		}
		shows(t, p.next(), `"id":1`, `shutting down`)
		if _, err := e.Accept(p.ctx, []byte(`{"jsonrpc":"2.0","id":2,"method":"ping"}`)); !errors.Is(err, engine.ErrShutdown) {
			t.Fatalf("accept after shutdown: %v", err)
		}
		if left := e.Unfinished(); len(left) != 0 {
			t.Errorf("a refused request is in flight: %q", left)
		}
	})
}

// TestShutdownGivesUp says when, and only when, a handler runs on after it was cancelled.
func TestShutdownGivesUp(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		takes     time.Duration // of the handler, which ignores its context
		after     time.Duration // Shutdown returns
		abandoned bool
	}{
		"in time":             {500 * time.Millisecond, 500 * time.Millisecond, false},
		"after cancelling":    {2 * time.Second, 2 * time.Second, false},
		"longer than any one": {time.Hour, 3 * time.Second, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx := context.Background()
				e := newEngine(t, catalog{"deaf": func(context.Context, *engine.Call) (protocol.Result, error) {
					time.Sleep(tt.takes)
					return &protocol.CallToolResult{}, nil
				}})
				p := &peer{t: t, e: e, frames: make(chan string, 100)}
				p.ctx = transport.Connect(ctx, transport.Peer{Out: p})
				p.initialize("2025-11-25", `{}`)
				p.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"deaf"}}`)
				grace, cancel := context.WithTimeout(ctx, time.Second)
				defer cancel()
				began := time.Now()
				_ = e.Shutdown(grace) // it says whether calls were cancelled
				if d := time.Since(began); d != tt.after {
					t.Errorf("Shutdown took %s, want %s", d, tt.after)
				}
				select {
				case <-e.Abandoned():
					if !tt.abandoned {
						t.Error("it gave up a call that ended")
					}
				default:
					if tt.abandoned {
						t.Error("it does not say that a call does not end")
					}
				}
				p.patience = 2 * time.Hour // of the bubble
				p.next()                   // the handler has ended
			})
		})
	}
}

// TestShutdownWithoutCarriers: Shutdown does not wait for a cancelled call if no carrier is left. It
// waits for a call that was not cancelled, because it may come from an endpoint of its own.
func TestShutdownWithoutCarriers(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		carried bool          // a carrier is left
		stays   time.Duration // of a call of a client that stays
		after   time.Duration // Shutdown returns
	}{
		"no other call": {after: 0},
		"another call":  {stays: 5 * time.Second, after: 5 * time.Second},
		"a long call":   {stays: time.Hour, after: 12 * time.Second},
		"a carrier":     {carried: true, after: 12 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				deaf := func(d time.Duration) func(context.Context, *engine.Call) (protocol.Result, error) {
					return func(context.Context, *engine.Call) (protocol.Result, error) { time.Sleep(d); return text("x"), nil }
				}
				e := newEngine(t, catalog{"gone": deaf(2 * time.Hour), "stays": deaf(tt.stays)})
				clients, leave := context.WithCancel(context.Background())
				begin := func(ctx context.Context, tool string) {
					p := &peer{t: t, e: e, frames: make(chan string, 100)}
					p.ctx = transport.Connect(ctx, transport.Peer{Out: p})
					p.initialize("2025-11-25", `{}`)
					p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q}}`, tool))
				}
				begin(clients, "gone")
				begin(context.Background(), "stays")
				synctest.Wait()
				leave()
				if !tt.carried {
					e.CarriersEnded()
				}
				grace, cancel := context.WithTimeout(context.Background(), 10*time.Second)
				defer cancel()
				began := time.Now()
				_ = e.Shutdown(grace) // it says whether calls were cancelled
				if d := time.Since(began); d.Round(time.Second/2) != tt.after {
					t.Errorf("Shutdown took %s, want %s", d, tt.after)
				}
				select {
				case <-e.Abandoned():
				default:
					t.Error("it does not say that a call does not end")
				}
				time.Sleep(3 * time.Hour) // the handlers end
			})
		})
	}
}

// TestShutdownTakesAnswers: a call that ends while the server stops may need the client's answer, in
// a batch or not. A batch with a request is refused.
func TestShutdownTakesAnswers(t *testing.T) {
	t.Parallel()
	for _, frame := range []string{`{"jsonrpc":"2.0","id":%s,"result":{}}`, `[{"jsonrpc":"2.0","id":%s,"result":{}}]`} {
		t.Run(frame, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				e := newEngine(t, catalog{"ask": func(ctx context.Context, c *engine.Call) (protocol.Result, error) {
					_, err := ask(ctx, c, &protocol.PingParams{}, nil)
					return text("answered"), err
				}})
				p := &peer{t: t, e: e, frames: make(chan string, 100)}
				p.ctx = transport.Connect(context.Background(), transport.Peer{Out: p})
				p.initialize("2025-03-26", `{}`)
				question := p.ask(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask"}}`)
				stopped := make(chan error)
				go func() { stopped <- e.Shutdown(context.Background()) }()
				synctest.Wait()
				if _, err := e.Accept(p.ctx, []byte(`[{"jsonrpc":"2.0","id":2,"method":"ping"}]`)); !errors.Is(err, engine.ErrShutdown) {
					t.Errorf("a request: %v", err)
				}
				id, _ := jsontext.Member([]byte(question), "id")
				p.send(fmt.Sprintf(frame, id))
				shows(t, p.next(), `"id":1`, `answered`)
				if err := <-stopped; err != nil {
					t.Error(err)
				}
			})
		})
	}
}
