package testkit_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/testkit"
)

// A step that calls a handler again, as one does that tries once more, breaks no rule
// but where the handler speaks.
func TestConformanceOfARetry(t *testing.T) {
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
		testkit.Conformance(t, newHandles().app().Use(again), revision)
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
