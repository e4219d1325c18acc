package testkit_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/middleware"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/testkit"
)

// TestChain: steps are in the order of their phases, and the end can be anything.
func TestChain(t *testing.T) {
	t.Parallel()
	var met []string
	step := func(name string, phase framework.Phase) framework.Middleware {
		return framework.Middleware{Name: name, Phase: phase, Wrap: func(next framework.Handler) framework.Handler {
			return func(ctx context.Context, call *framework.Call) (*framework.Result, error) {
				met = append(met, name)
				return next(ctx, call)
			}
		}}
	}
	chain := testkit.Chain(step("app", 0), step("limit", framework.PhaseLimit), step("app 2", 0), step("trace", framework.PhaseTrace))
	for method, text := range map[string]func(protocol.Result) string{
		"":                          func(r protocol.Result) string { return r.(*protocol.CallToolResult).Content[0].(protocol.Text).Text },
		protocol.MethodReadResource: func(r protocol.Result) string { return r.(*protocol.ReadResourceResult).Contents[0].Text },
		protocol.MethodGetPrompt: func(r protocol.Result) string {
			return r.(*protocol.GetPromptResult).Messages[0].Content.(protocol.Text).Text
		},
	} {
		met = nil
		got, err := chain.Call(t.Context(), &framework.Call{Method: method, Name: "x"})
		if err != nil || text(got.Body) != "ok" || !slices.Equal(met, []string{"trace", "limit", "app", "app 2"}) {
			t.Errorf("%s: %+v, %v through %q", method, got, err, met)
		}
	}
	if got, err := chain.Call(t.Context(), &framework.Call{Method: protocol.MethodListTools}); err != nil || got.Body != nil {
		t.Errorf("a list: %+v, %v", got, err)
	}
	closed := errors.New("closed")
	chain.End(func(context.Context, *framework.Call) (*framework.Result, error) { return nil, closed })
	if _, err := chain.Call(t.Context(), nil); !errors.Is(err, closed) {
		t.Errorf("%v", err)
	}
	for _, broken := range []*testkit.Chained{testkit.Chain().End(nil), testkit.Chain(framework.Middleware{Name: "none"})} {
		if _, err := broken.Call(t.Context(), nil); err == nil {
			t.Error("what has no function was run")
		}
	}
}

// TestChainOfOurs: a middleware of the framework, alone, in virtual time.
func TestChainOfOurs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		_, err := testkit.Chain(middleware.Timeout(time.Minute)).
			End(func(ctx context.Context, _ *framework.Call) (*framework.Result, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			}).
			Call(t.Context(), &framework.Call{Name: "slow"})
		if err == nil || !strings.Contains(err.Error(), "longer than 1m0s") || time.Since(began) != time.Minute {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
	})
}
