package fiberhttp

import (
	"context"
	"sync"

	"github.com/valyala/fasthttp"
)

// borrowed is a context that derives from fasthttp's own (fiber.Ctx.Context), as tracers make it.
// fasthttp uses that one again for the requests of other clients, while calls may still run. So
// after the request only those values are found that were looked for before.
type borrowed struct {
	context.Context //nolint:containedctx // it is a context itself

	mu    sync.Mutex // held during a look-up, for which end waits; guards all below
	over  bool
	found map[any]any // by key
}

// borrow returns ctx for use beyond the request of rc, and a function to be called at the end of
// that request.
func borrow(ctx context.Context, rc *fasthttp.RequestCtx) (lasting context.Context, end func()) {
	if ctx == context.Background() || !derives(ctx, rc) { //nolint:forbidigo // what Fiber has unless the program sets another
		return ctx, func() {}
	}
	b := &borrowed{Context: ctx, found: make(map[any]any)}
	return b, b.end
}

type markKey struct{}

// derives reports whether ctx has the values of rc.
func derives(ctx context.Context, rc *fasthttp.RequestCtx) bool {
	rc.SetUserValue(markKey{}, rc)
	defer rc.RemoveUserValue(markKey{})
	return ctx.Value(markKey{}) == rc
}

// Value returns what was found before or, during the request, what there is.
func (b *borrowed) Value(key any) any {
	b.mu.Lock()
	defer b.mu.Unlock()
	value, known := b.found[key]
	if !known && !b.over {
		value = b.Context.Value(key)
		b.found[key] = value
	}
	return value
}

func (b *borrowed) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.over = true
}
