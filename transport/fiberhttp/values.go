package fiberhttp

import (
	"context"
	"sync"

	"github.com/valyala/fasthttp"
)

// borrowed is a context that derives from fasthttp's own (fiber.Ctx.Context), as tracers make it.
// fasthttp reuses its context for the requests of other clients while calls may still run. After
// the request, Value therefore returns only values that were looked up during the request.
type borrowed struct {
	context.Context //nolint:containedctx // it is a context itself

	mu    sync.Mutex // held during a look-up, so that end waits for it; guards the fields below
	over  bool
	found map[any]any // values that were looked up
}

// borrow returns a context that may be used after the request of rc, and a function that must be
// called at the end of the request.
func borrow(ctx context.Context, rc *fasthttp.RequestCtx) (lasting context.Context, end func()) {
	if ctx == context.Background() || !derives(ctx, rc) { //nolint:forbidigo // Fiber's default, unless the program sets another
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

// Value returns a value that was found before. During the request it also looks for new ones.
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
