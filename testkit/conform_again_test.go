package testkit_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/testkit"
)

// A step that calls a handler again, as one does that tries once more, breaks no rule
// but where the handler speaks.
func TestAllRulesOfARetry(t *testing.T) {
	t.Parallel()
	again := framework.Middleware{Name: "again", Wrap: func(next framework.Handler) framework.Handler {
		return func(ctx context.Context, call *framework.Call) (*framework.Result, error) {
			result, err := next(ctx, call)
			if call.Name == "testkit-wait" || call.Name == "testkit-task" || call.Name == "testkit-must" {
				return next(ctx, call)
			}
			return result, err
		}
	}}
	for _, revision := range []string{live, modern} {
		testkit.AllRules(t, newHandles().app().Use(again), revision)
	}
}

// A server that says nothing is found out before a test binary has to end.
func TestConformanceOfAMuteServer(t *testing.T) {
	t.Parallel()
	mute := outgoing(func(string) []string { return nil })
	for _, revision := range []string{live, modern} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			if n := testkit.Tried(t, newHandles().app().UseFrames(mute), revision); n < 40 {
				t.Errorf("%d rules are broken", n)
			}
			if took := time.Since(began); took > 2*time.Minute {
				t.Errorf("it took %v", took)
			}
		})
	}
}

// A step that lets no call through breaks the rules that need one, and is found out at once.
func TestConformanceOfARefusal(t *testing.T) {
	t.Parallel()
	none := framework.Middleware{Name: "none", Wrap: func(framework.Handler) framework.Handler {
		return func(context.Context, *framework.Call) (*framework.Result, error) {
			return nil, framework.UserErrorf("testkit belongs to no tenant")
		}
	}}
	for _, revision := range []string{live, modern} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			if n := testkit.Tried(t, newHandles().app().Use(none), revision); n < 20 {
				t.Errorf("%d rules are broken", n)
			}
			if took := time.Since(began); took > time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
	for _, number := range []string{"call-4", "http-16"} {
		complaint := testkit.Broken(t, newHandles().app().Use(none), modern, number, time.Minute, testkit.Way{})
		if !strings.Contains(complaint, "want the tool to run") || !strings.Contains(complaint, "no tenant") {
			t.Errorf("%s: %s", number, complaint)
		}
	}
}

// Middleware that spoils results breaks the rules about them.
func TestConformanceOfSpoiledResults(t *testing.T) {
	t.Parallel()
	type result = protocol.CallToolResult
	for number, spoil := range map[string]func(*result, error) (*result, error){
		"call-1": func(r *result, err error) (*result, error) { return &result{Content: r.Content, IsError: true}, err },
		"call-2": func(r *result, err error) (*result, error) { return &result{Content: r.Content}, err },
		"call-3": func(*result, error) (*result, error) {
			return &result{Content: framework.Content{framework.Text("fine")}}, nil
		},
	} {
		spoiling := framework.OnToolCall("spoil", func(ctx context.Context, call *framework.Call, next framework.Next[*result]) (*result, error) {
			return spoil(next(ctx, call))
		})
		for _, revision := range []string{live, modern} {
			if testkit.Broken(t, newHandles().app().Use(spoiling), revision, number, time.Minute, testkit.Way{}) == "" {
				t.Errorf("%s at %s is kept", number, revision)
			}
		}
	}
}
