package middleware_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/store/memory"
	"github.com/kagami-mcp/kagami/middleware"
	"github.com/kagami-mcp/kagami/protocol/claim"
	"github.com/kagami-mcp/kagami/transport"
)

// slow is a store far away: each operation takes a while, and counts. While it is stuck it
// takes longer, and fails.
type slow struct {
	claim.Store
	takes time.Duration
	asked atomic.Int32
	stuck atomic.Bool
}

func (s *slow) wait(ctx context.Context) error {
	s.asked.Add(1)
	takes, stuck := s.takes, s.stuck.Load()
	if stuck {
		takes = 1500 * time.Millisecond
	}
	timer := time.NewTimer(takes)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
	}
	if stuck {
		return errors.New("i/o timeout")
	}
	return nil
}

func (s *slow) Claim(ctx context.Context, key string, value []byte, life time.Duration) ([]byte, bool, error) {
	if err := s.wait(ctx); err != nil {
		return nil, false, err
	}
	return s.Store.Claim(ctx, key, value, life)
}

func (s *slow) Swap(ctx context.Context, key string, old, value []byte, life time.Duration) (bool, error) {
	if err := s.wait(ctx); err != nil {
		return false, err
	}
	return s.Store.Swap(ctx, key, old, value, life)
}

// Calls of one caller at the same time cost the store no more than one after the other, those
// that are refused together no more than one, and none is let through because too many
// others were.
func TestRateLimitHurry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const calls, room = 300, 200
		store := &slow{Store: memory.New().Claims(), takes: time.Millisecond}
		s := build(t, quiet().Use(middleware.RateLimit(middleware.Rate{Events: room, Per: time.Hour, Store: store})).Add(doing(nothing)))
		var all sync.WaitGroup
		var allowed atomic.Int32
		for i := range calls + 1 {
			who := "hasty"
			if i == calls {
				who = "another"
			}
			all.Go(func() {
				if got := call(as(t.Context(), who), t, s, `{}`); who == "hasty" && got.Error == nil {
					allowed.Add(1)
				} else if who == "another" && got.Error != nil {
					t.Errorf("another caller: %s", got.raw)
				}
			})
		}
		all.Wait()
		if n := store.asked.Load(); allowed.Load() != room || n > 2*room+2 {
			t.Errorf("%d of %d calls were let through, want %d; the store was asked %d times", allowed.Load(), calls, room, n)
		}
	})
}

// While the store does not answer, one call a second asks it, and no other call waits for it. When it
// is back, it counts again.
func TestRateLimitStoreStuck(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &slow{Store: memory.New().Claims(), takes: time.Millisecond}
		app, logs := watched()
		s := build(t, app.Use(middleware.RateLimit(middleware.Rate{Events: 1000, Per: time.Hour, Store: store})).Add(doing(nothing)))
		store.stuck.Store(true)
		begun, calls, waited := time.Now(), 0, 0
		for ; time.Since(begun) < time.Minute; calls++ {
			before := time.Now()
			if got := call(as(t.Context(), strconv.Itoa(calls)), t, s, `{}`); got.Error != nil {
				t.Fatalf("refused: %s", got.raw)
			}
			if time.Since(before) > 0 {
				waited++
			}
			time.Sleep(10 * time.Millisecond)
		}
		if n := int(store.asked.Load()); n != waited || n < 20 || n > 60 || calls < 1000 {
			t.Errorf("in a minute the store was asked %d times, and %d of %d calls waited", n, waited, calls)
		}
		if n := logs.Len(); n != 1 || !strings.Contains(logs.All()[0].Message, "counts alone") {
			t.Errorf("logged %v", logs.All())
		}
		store.stuck.Store(false)
		time.Sleep(time.Second)
		store.asked.Store(0)
		for range 10 {
			call(as(t.Context(), "x"), t, s, `{}`)
		}
		if n := store.asked.Load(); n != 19 {
			t.Errorf("when it is back it was asked %d times for 10 calls, want 19", n)
		}
	})
}

// Who gives up says nothing of the store.
func TestRateLimitGivenUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &slow{Store: memory.New().Claims(), takes: time.Second}
		app, logs := watched()
		s := build(t, app.Use(middleware.RateLimit(middleware.Rate{Events: 1000, Per: time.Hour, Store: store})).Add(doing(nothing)))
		var all sync.WaitGroup
		for range 5 {
			all.Go(func() {
				ctx, cancel := context.WithTimeout(as(t.Context(), "x"), 100*time.Millisecond)
				defer cancel()
				if x, err := s.Accept(ctx, []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`)); err == nil {
					_ = x.Serve(ctx, transport.OutboundFunc(func(context.Context, transport.Frame) error { return nil }))
				}
			})
		}
		all.Wait()
		store.asked.Store(0)
		if got := call(as(t.Context(), "y"), t, s, `{}`); got.Error != nil || store.asked.Load() != 1 || logs.Len() != 0 {
			t.Errorf("after calls that were given up: %s, the store was asked %d times, the log has %v", got.raw, store.asked.Load(), logs.All())
		}
	})
}

// heedful fails where its context is over, as stores on a network do.
type heedful struct {
	claim.Store
	over atomic.Int32
}

func (h *heedful) Claim(ctx context.Context, key string, value []byte, life time.Duration) ([]byte, bool, error) {
	if ctx.Err() != nil {
		h.over.Add(1)
		return nil, false, ctx.Err()
	}
	return h.Store.Claim(ctx, key, value, life)
}

// A call that waits for an answer may go on as a task, on another node: that it was counted
// is in the store, though the question has ended the call's context.
func TestRateLimitPendingCallIsShared(t *testing.T) {
	t.Parallel()
	store := &heedful{Store: memory.New().Claims()}
	s := build(t, quiet().Use(middleware.RateLimit(middleware.Rate{Events: 5, Per: time.Hour, Store: store})).Add(asking(1)))
	if got := again(t.Context(), t, s, call(t.Context(), t, s, `{}`), true); got.text() != "done" {
		t.Fatalf("answered %s", got.raw)
	}
	if n := store.over.Load(); n > 0 {
		t.Errorf("the store was asked %d times on a context that was over", n)
	}
}

// TestRateLimitStoreStuckForOneCaller: while the store does not answer, the calls of one caller do not wait for the
// call that tries it.
func TestRateLimitStoreStuckForOneCaller(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &slow{Store: memory.New().Claims(), takes: time.Millisecond}
		s := build(t, quiet().Use(middleware.RateLimit(middleware.Rate{Events: 100_000, Per: time.Hour, Store: store})).Add(doing(nothing)))
		store.stuck.Store(true)
		call(as(t.Context(), "x"), t, s, `{}`) // it finds out
		var all sync.WaitGroup
		var waited atomic.Int32
		for begun := time.Now(); time.Since(begun) < 20*time.Second; time.Sleep(10 * time.Millisecond) {
			all.Go(func() {
				before := time.Now()
				if got := call(as(t.Context(), "x"), t, s, `{}`); got.Error != nil {
					t.Errorf("refused: %s", got.raw)
				}
				if time.Since(before) > 0 {
					waited.Add(1)
				}
			})
		}
		all.Wait()
		if n := store.asked.Load(); waited.Load() >= n {
			t.Errorf("%d calls waited, and the store was asked %d times", waited.Load(), n)
		}
	})
}

// TestRateLimitStoreStuckForHasty: calls with a limit below the time that the store takes to fail
// find out, too, that it does not answer.
func TestRateLimitStoreStuckForHasty(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &slow{Store: memory.New().Claims(), takes: time.Millisecond}
		s := build(t, quiet().Use(middleware.RateLimit(middleware.Rate{Events: 100_000, Per: time.Hour, Store: store})).
			Add(doing(func(ctx context.Context) error { return ctx.Err() }, framework.Timeout(100*time.Millisecond))))
		store.stuck.Store(true)
		calls, failed := 0, 0
		for begun := time.Now(); time.Since(begun) < 10*time.Second; calls++ {
			if got := call(as(t.Context(), strconv.Itoa(calls)), t, s, `{}`); got.text() != "done" {
				failed++
			}
			time.Sleep(10 * time.Millisecond)
		}
		if n := int(store.asked.Load()); n > 20 || failed > n || calls < 200 {
			t.Errorf("%d of %d calls failed, and the store was asked %d times", failed, calls, n)
		}
	})
}
