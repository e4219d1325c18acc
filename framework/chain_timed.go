package framework

import (
	"context"
	"time"

	"github.com/kagami-mcp/kagami/framework/internal/effectlog"
)

// timed runs a step of a chain. If the inspector page has made the call, timed reports how long the
// step took, with all steps further in. It is called only while a page exists in this process.
func timed(ctx context.Context, call *Call, name string, at int, run Handler) (*Result, error) {
	mark, h := "", callCtxFrom(ctx)
	if h != nil && h.call != nil {
		mark = h.pageMark()
	}
	if mark == "" {
		return run(ctx, call)
	}
	began := time.Now()
	result, err := run(ctx, call)
	effectlog.Tell(effectlog.Effect{Mark: mark, Round: h.call.Round, Key: name, How: effectlog.Step, At: at, Took: time.Since(began)})
	return result, err
}
