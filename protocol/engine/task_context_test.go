package engine_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/kagami-mcp/kagami/framework/store/memory"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/engine"
)

// TestQuestionEndsTaskContext: in a task, as in rounds, a question ends the handler's context, so that
// other goroutines of the handler stop.
func TestQuestionEndsTaskContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ran := false
		e := engine.New(engine.Config{
			Info: protocol.Implementation{Name: "s", Version: "1"}, Tasks: memory.New().Tasks(),
			Catalog: tasked{catalog{"film": func(ctx context.Context, c *engine.Call) (protocol.Result, error) {
				if ctx.Err() != nil || c.Task() == "" {
					t.Errorf("before the question: %v, task %q", ctx.Err(), c.Task())
				}
				_, err := want(ctx, c, "name", "Name?")
				if !errors.Is(err, engine.ErrPending) || !errors.Is(context.Cause(ctx), engine.ErrPending) {
					t.Errorf("after the question: %v, and the context ended with %v", err, context.Cause(ctx))
				}
				ran = true
				return nil, err
			}}},
		})
		defer func() { _ = e.Shutdown(t.Context()) }()
		p := connect(t, e)
		p.initialize("2025-11-25", `{"elicitation":{}}`)
		shows(t, p.ask(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"film","arguments":{},"task":{}}}`), `"working"`)
		synctest.Wait()
		if !ran {
			t.Error("the handler did not run")
		}
		shows(t, p.ask(`{"jsonrpc":"2.0","id":2,"method":"tasks/list"}`), `"input_required"`)
		p.close()
	})
}
