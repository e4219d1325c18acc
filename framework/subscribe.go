package framework

import (
	"context"

	"github.com/kagami-mcp/kagami/protocol/engine"
)

// subscribing returns a function that calls allow, the function given to MaySubscribe, with a
// handler's context. It converts errors of allow as errors of a handler are converted.
func (b *componentHandler) subscribing(allow func(ctx context.Context, uri string) error) func(context.Context, *engine.Call, string) error {
	return func(ctx context.Context, c *engine.Call, uri string) error {
		h := &callCtx{Context: ctx, server: b.server, call: c, component: b}
		h.seen = Call{Method: methodName(c), Name: b.info.Name, ID: c.ID(), Component: b.info}
		_, err := guarded(func() (struct{}, error) { return struct{}{}, allow(h, uri) })
		if err != nil {
			_, err = b.refusePlain(h, c, err)
		}
		return err
	}
}
