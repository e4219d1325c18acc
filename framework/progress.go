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

// Progress reports to the client how far the call is. A total of 0 means unknown, and so
// does one that is NaN or infinite. It does nothing if the client did not ask for progress,
// and outside a handler. A report that does not increase done is not sent, as the
// specification forbids it (basic/utilities/progress); nor is one whose done is NaN or
// infinite.
func Progress[N Number](ctx context.Context, done, total N, message string) {
	h := handlingFrom(ctx)
	if h == nil || h.call == nil || !h.call.WantsProgress() {
		return
	}
	var all *float64
	if total != 0 {
		all = new(float64(total))
	}
	h.call.Progress(ctx, float64(done), all, message)
}

// trackInterval is how often Track reports at most.
const trackInterval = 100 * time.Millisecond

// Track iterates over items and reports progress, at most ten times a second and at the
// last item. It stops early when ctx ends; check ctx.Err() after the loop.
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

// ReleaseStream lets a client of 2025-11-25 poll for the answer instead of holding its
// stream open. Elsewhere it does nothing. The call goes on either way; what it sends from
// now on is kept until the client asks for it.
func ReleaseStream(ctx context.Context) {
	if r := transport.RequestFrom(ctx); r != nil && r.Stream != nil {
		r.Stream.Release()
	}
}
