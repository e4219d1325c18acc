package streamable_test

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/internal/streamable"
)

// TestContextIsNotThatOfStrangers: what waits for the end of one exchange does not learn
// of it by a client that leaves another one.
func TestContextIsNotThatOfStrangers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var ended atomic.Int64
		var cause error
		s := newSite(t, &host{plan: modern, handle: func(ctx context.Context, method string, _ func(string) error) (int, string) {
			switch method {
			case "watched":
				context.AfterFunc(ctx, func() { cause = context.Cause(ctx); ended.Add(1) })
			case "waits":
				<-ctx.Done()
			}
			return http.StatusOK, `{"a":1}`
		}}, streamable.Config{})
		defer s.stop()
		s.do(http.MethodPost, "watched")
		synctest.Wait()
		before := ended.Load()
		left := s.carry(s.do(http.MethodPost, "waits"), -1)
		left.cancel()
		left.wait()
		synctest.Wait()
		if before != 1 || ended.Load() != 1 || !errors.Is(cause, context.Canceled) {
			t.Errorf("ended %d times when the exchange had ended, then %d: %v", before, ended.Load(), cause)
		}
	})
}

// TestContextEnds checks that a context ends with what its exchange belongs to. It ends with the
// client only on revisions that demand it. It does not matter whether, or since when, a handler
// waits for the end.
func TestContextEnds(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		plan  transport.Plan
		how   func(s *site, c *connection)
		cause string // empty: it has not ended
	}{
		"client leaves, 2026-07-28": {modern, func(_ *site, c *connection) { c.cancel() }, "streamable: the client closed the stream"},
		"client leaves, 2025-11-25": {resumable, func(_ *site, c *connection) { c.cancel() }, ""},
		"session ends":              {resumable, func(s *site, _ *connection) { s.do(http.MethodDelete, "") }, "streamable: the session has ended"},
	}
	for name, c := range cases {
		for _, waits := range []bool{true, false} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { contextEnds(t, c.plan, c.how, c.cause, waits) })
			})
		}
	}
}

func contextEnds(t *testing.T, plan transport.Plan, how func(*site, *connection), want string, waits bool) {
	t.Helper()
	goOn := make(chan struct{})
	var exchange, derived, outlives context.Context
	s := newSite(t, &host{plan: plan, handle: func(ctx context.Context, _ string, _ func(string) error) (int, string) {
		exchange, outlives = ctx, transport.WithoutRequest(ctx) //nolint:fatcontext // of the only exchange
		if waits {
			var cancel context.CancelFunc
			derived, cancel = context.WithCancel(ctx)
			defer cancel()
		}
		<-goOn
		return http.StatusOK, `{"a":1}`
	}}, streamable.Config{})
	defer s.stop()
	c := s.carry(s.do(http.MethodPost, "x"), -1)
	synctest.Wait()
	if exchange.Err() != nil {
		t.Fatal("it ended by itself")
	}
	how(s, c)
	synctest.Wait()
	if got := context.Cause(exchange); want == "" && got != nil || want != "" && (got == nil || got.Error() != want) {
		t.Errorf("the cause is %v, want %q", got, want)
	}
	if derived != nil && (derived.Err() != nil) != (want != "") {
		t.Errorf("what derives from it: %v", context.Cause(derived))
	}
	close(goOn)
	c.cancel()
	c.wait()
	synctest.Wait()
	select {
	case <-exchange.Done():
	default:
		t.Error("it has not ended with the exchange")
	}
	if !errors.Is(exchange.Err(), context.Canceled) || outlives.Err() != nil || outlives.Done() != nil {
		t.Errorf("in the end: %v, and what outlives it: %v", exchange.Err(), outlives.Err())
	}
	if transport.RequestFrom(exchange) == nil || transport.RequestFrom(outlives) != nil {
		t.Error("the request is known for as long as the exchange's context is, and no longer")
	}
}
