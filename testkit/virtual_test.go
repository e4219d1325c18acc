package testkit_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/middleware"
	"github.com/kagami-mcp/kagami/testkit"
)

// TestVirtual: on each carrier without a socket an hour takes no time, and what is
// bounded by time is bounded to the moment.
func TestVirtual(t *testing.T) {
	t.Parallel()
	app := func() *framework.App {
		return framework.New("kit", "1").Add(
			framework.Tool("now", func(context.Context, struct{}) (string, error) { return "now", nil },
				framework.With(middleware.RateLimit(middleware.Rate{Events: 1, Per: time.Minute}))),
			framework.Tool("nap", func(ctx context.Context, _ struct{}) (string, error) {
				<-ctx.Done()
				return "", ctx.Err()
			}, framework.With(middleware.Timeout(time.Hour))),
		)
	}
	var names []string
	began := time.Now()
	testkit.Matrix(t, app, func(t *testing.T, s *testkit.Session) {
		names = append(names, t.Name()[len("TestVirtual/"):])
		s.CallRaw("now", "").OK()
		s.CallRaw("now", "").IsError()
		s.Advance(time.Minute)
		s.CallRaw("now", "").OK()
		began := time.Now()
		s.CallRaw("nap", "").IsError().Mentions("longer than 1h")
		if took := time.Since(began); took < time.Hour || took > time.Hour+time.Second {
			t.Errorf("the hour took %v", took)
		}
	}, testkit.Virtual(), testkit.Timeout(2*time.Hour))
	for _, want := range []string{"2024-11-05/inmem", "2025-11-25/stdio", "2026-07-28/fiber"} {
		if !slices.Contains(names, want) {
			t.Errorf("no %s", want)
		}
	}
	if len(names) != 15 {
		t.Errorf("%q", names)
	}
	t.Logf("%d hours in %v", len(names), time.Since(began))
}

func TestAdvanceFails(t *testing.T) {
	t.Parallel()
	mustFail{func(t testing.TB) { testkit.New(t, newHandles().app()).Advance(time.Hour) }, []string{"Advance(1h0m0s) outside of a bubble"}}.once(t)
}
