package framework

import (
	"context"
	"iter"
	"time"

	"github.com/kagami-mcp/kagami/transport"
)

// Number is any real number type.
type Number interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~float32 | ~float64
}

// Progress reports to the client how far the call is. A total that is 0, NaN or infinite means
// unknown. If the client did not ask for progress, and outside a handler, Progress does nothing. It
// does not send a report whose done is NaN, infinite, or not higher than before
// (basic/utilities/progress).
func Progress[N Number](ctx context.Context, done, total N, message string) {
	h := callCtxFrom(ctx)
	if h == nil || h.call == nil || !h.call.WantsProgress() {
		return
	}
	var all *float64
	if total != 0 {
		all = new(float64(total))
	}
	h.call.Progress(ctx, float64(done), all, message)
}

// trackInterval is the minimum time between two reports of Track.
const trackInterval = 100 * time.Millisecond

// Track iterates over items and reports progress, at most ten times a second and after the last
// item. It stops early if ctx ends, so check ctx.Err() after the loop.
func Track[T any](ctx context.Context, items []T, label string) iter.Seq2[int, T] {
	return func(yield func(int, T) bool) {
		var reported time.Time
		for i, item := range items {
			if ctx.Err() != nil || !yield(i, item) {
				return
			}
			done := i + 1
			if now := time.Now(); done == len(items) || now.Sub(reported) >= trackInterval {
				reported = now
				Progress(ctx, done, len(items), label)
			}
		}
	}
}

// ReleaseStream lets a client of 2025-11-25 poll for the answer instead of keeping its stream open.
// For other clients it does nothing. The call continues in both cases. Messages that it sends from
// then on are stored until the client asks for them.
func ReleaseStream(ctx context.Context) {
	if r := transport.RequestFrom(ctx); r != nil && r.Stream != nil {
		r.Stream.Release()
	}
}
