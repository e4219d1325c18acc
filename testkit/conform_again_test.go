package testkit_test

import (
	"context"
	"testing"

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
