package framework_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
)

// TestBegan checks that all steps of a call see the same start time, and that each call has its
// own.
func TestBegan(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var began []time.Time
		note := framework.Middleware{Name: "note", Wrap: func(next framework.Handler) framework.Handler {
			return func(ctx context.Context, call *framework.Call) (*framework.Result, error) {
				began = append(began, call.Began())
				time.Sleep(time.Second)
				return next(ctx, call)
			}
		}}
		p := dial(t, build(t, quiet().Use(note, note).Add(framework.Tool("t", none))), protocol.Rev20260728)
		first := time.Now()
		p.tool("t", `{}`).ok()
		second := time.Now()
		p.tool("t", `{}`).ok()
		if len(began) != 4 || began[0] != first || began[1] != first || began[2] != second || began[3] != second {
			t.Errorf("began at %v, want %v and %v", began, first, second)
		}
	})
}
