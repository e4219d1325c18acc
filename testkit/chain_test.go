package testkit_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/middleware"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/testkit"
	"github.com/kagami-mcp/kagami/transport"
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

// TestChainMeetsAsAppsDo: what a step meets, and how often, is for the server to say.
func TestChainMeetsAsAppsDo(t *testing.T) {
	t.Parallel()
	var met []string
	note := func(what string) { met = append(met, what) }
	every := framework.Middleware{Name: "every", Wrap: func(next framework.Handler) framework.Handler {
		return func(ctx context.Context, call *framework.Call) (*framework.Result, error) {
			note("every " + call.Name)
			return next(ctx, call)
		}
	}}
	once := every
	once.Wrap = func(next framework.Handler) framework.Handler {
		return func(ctx context.Context, call *framework.Call) (*framework.Result, error) {
			note("once")
			return next(ctx, call)
		}
	}
	chain := testkit.Chain(
		framework.OnToolCall("tool", func(ctx context.Context, call *framework.Call, next framework.Next[*protocol.CallToolResult]) (*protocol.CallToolResult, error) {
			note("tool")
			return next(ctx, call)
		}),
		framework.OnRead("read", func(ctx context.Context, call *framework.Call, next framework.Next[*protocol.ReadResourceResult]) (*protocol.ReadResourceResult, error) {
			note("read")
			return next(ctx, call)
		}),
		framework.OnPrompt("prompt", func(ctx context.Context, call *framework.Call, next framework.Next[*protocol.GetPromptResult]) (*protocol.GetPromptResult, error) {
			note("prompt")
			return next(ctx, call)
		}),
		framework.OnList("list", func(ctx context.Context, call *framework.Call, next framework.Next[[]framework.ComponentInfo]) ([]framework.ComponentInfo, error) {
			note("list")
			return next(ctx, call)
		}),
		framework.OncePerCall(once), every,
	)
	for method, want := range map[string]string{
		protocol.MethodCallTool:     "tool once every x",
		protocol.MethodReadResource: "read once every x",
		protocol.MethodGetPrompt:    "prompt once every x",
		protocol.MethodListPrompts:  "list once every x",
		"example.com/reindex":       "once every x",
	} {
		met = nil
		if _, err := chain.Call(t.Context(), &framework.Call{Method: method, Name: "x"}); err != nil || strings.Join(met, " ") != want {
			t.Errorf("%s: %v through %q, want %s", method, err, met, want)
		}
	}
	met = nil
	chain.OnElicit("really?", true).End(func(ctx context.Context, call *framework.Call) (*framework.Result, error) {
		note("end")
		yes, err := framework.Elicit[bool](ctx, "really?")
		if err == nil && (!yes || call.Round != 1) {
			t.Errorf("%t in round %d", yes, call.Round)
		}
		return &framework.Result{Body: &protocol.CallToolResult{}}, err
	})
	_, err := chain.Call(t.Context(), &framework.Call{Name: "x"})
	if got := strings.Join(met, " "); err != nil || got != "tool once every x end tool every x end" {
		t.Errorf("%v through %q", err, got)
	}
}

// TestChainHandsOn: what the caller says of a call is what the steps see.
func TestChainHandsOn(t *testing.T) {
	t.Parallel()
	type valueKey struct{}
	want := framework.Call{
		Method: protocol.MethodCallTool, Name: "any name at all", Arguments: []byte(`[no JSON`), ID: "7", Round: 3,
		Component: framework.ComponentInfo{Kind: "tool", Name: "x", Group: "g", Scopes: []string{"admin"}},
	}
	ctx := transport.WithPrincipal(context.WithValue(t.Context(), valueKey{}, "here"), &framework.Principal{Subject: "ann"})
	chain := testkit.Chain().End(func(ctx context.Context, call *framework.Call) (*framework.Result, error) {
		if !reflect.DeepEqual(*call, want) || ctx.Value(valueKey{}) != "here" || framework.Caller(ctx).Principal.Subject != "ann" {
			t.Errorf("%+v of %+v", *call, framework.Caller(ctx))
		}
		return &framework.Result{}, nil
	})
	given := want
	if _, err := chain.Call(ctx, &given); err != nil {
		t.Error(err)
	}
	chain.End(func(_ context.Context, call *framework.Call) (*framework.Result, error) {
		if c := call.Component; call.ID == "" || call.Round != 0 || c.Kind != "tool" || c.Name != "y" {
			t.Errorf("%+v", *call)
		}
		return &framework.Result{}, nil
	})
	if _, err := chain.Call(t.Context(), &framework.Call{Name: "y"}); err != nil {
		t.Error(err)
	}
}

// TestChainFails: what is wrong with a call is in its error.
func TestChainFails(t *testing.T) {
	t.Parallel()
	asks := func(ctx context.Context, _ *framework.Call) (*framework.Result, error) {
		_, err := framework.Elicit[bool](ctx, "really?")
		return nil, err
	}
	panics := func(context.Context, *framework.Call) (*framework.Result, error) { panic("out of tea") }
	if _, err := testkit.Chain().End(asks).Call(t.Context(), nil); !errors.Is(err, framework.ErrUnsupported) {
		t.Errorf("nobody can be asked: %v", err)
	}
	for want, chain := range map[string]*testkit.Chained{
		"scripted: \"age\"":       testkit.Chain().End(asks).OnElicit("age", 1),
		"does not pass the form":  testkit.Chain().End(asks).OnElicit("really?", "perhaps"),
		"out of tea":              testkit.Chain().End(panics),
		"its function is nil":     testkit.Chain(framework.Middleware{Name: "none"}),
		"neither a result nor an": testkit.Chain().End(func(context.Context, *framework.Call) (*framework.Result, error) { return nil, nil }), //nolint:nilnil // the fault
	} {
		if _, err := chain.Call(t.Context(), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	chain := testkit.Chain().OnElicit("really?", true).End(func(ctx context.Context, _ *framework.Call) (*framework.Result, error) {
		_, err := framework.Elicit[bool](ctx, "really?")
		if errors.Is(err, framework.ErrUnsupported) { // a step may continue if the client cannot be asked
			err = nil
		}
		return &framework.Result{Body: &protocol.CallToolResult{}}, err
	})
	if _, err := chain.Call(t.Context(), nil); err != nil {
		t.Errorf("the first call: %v", err)
	}
	if _, err := chain.Call(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "no OnElicit answers that") {
		t.Errorf("the second call, without an answer: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := testkit.Chain().Call(ended, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// TestChainDoesNotBuild: the fault is where the test made the chain.
func TestChainDoesNotBuild(t *testing.T) {
	t.Parallel()
	_, err := testkit.Chain(framework.Middleware{Name: "none"}).Call(t.Context(), nil)
	if err == nil || !strings.Contains(err.Error(), "testkit.Chain at chain_test.go:") || !strings.Contains(err.Error(), `"none"`) || strings.Contains(err.Error(), "warning") {
		t.Errorf("%v", err)
	}
}

// TestChainAtOnce: calls of one chain do not know of each other.
func TestChainAtOnce(t *testing.T) {
	t.Parallel()
	chain := testkit.Chain().End(func(_ context.Context, call *framework.Call) (*framework.Result, error) {
		return nil, framework.UserErrorf("%s", call.Name)
	})
	var calls sync.WaitGroup
	for i := range 20 {
		calls.Go(func() {
			name := fmt.Sprint("call ", i)
			if _, err := chain.Call(t.Context(), &framework.Call{Name: name}); err == nil || err.Error() != name {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	calls.Wait()
}
