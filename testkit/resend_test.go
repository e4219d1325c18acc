package testkit_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/testkit"
)

// TestResendsGoThroughTheChain: a round that is sent again gets the recorded outcome,
// but not past a step that has begun to refuse.
func TestResendsGoThroughTheChain(t *testing.T) {
	t.Parallel()
	var runs, steps atomic.Int32
	var deny atomic.Bool
	gate := framework.Middleware{Name: "gate", Phase: framework.PhaseAuth, Wrap: func(next framework.Handler) framework.Handler {
		return func(ctx context.Context, call *framework.Call) (*framework.Result, error) {
			steps.Add(1)
			if deny.Load() {
				return nil, framework.UserErrorf("denied")
			}
			return next(ctx, call)
		}
	}}
	ask := func(ctx context.Context, _ struct{}) (string, error) {
		name, err := framework.Elicit[string](ctx, "Name?")
		if err == nil {
			runs.Add(1)
		} else if !errors.Is(err, framework.ErrPending) {
			t.Error(err)
		}
		return "Hello " + name, err
	}
	app := framework.New("a", "1").Use(gate).Add(framework.Tool("ask", ask, framework.Describe("Asks.")))
	s := testkit.New(t, app)
	r := s.Rounds("ask", `{}`).Answer("Ada")
	r.Result().OK().Mentions("Hello Ada")
	before := steps.Load()
	r.Resend().Result().OK().Mentions("Hello Ada")
	if runs.Load() != 1 || steps.Load() != before+1 {
		t.Errorf("the handler ran %d times to its end, the gate %d times more", runs.Load(), steps.Load()-before)
	}
	deny.Store(true)
	r.Resend().Result().IsError().Mentions("denied")
}
