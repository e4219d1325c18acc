package transport

import (
	"context"
	"time"
)

type retryKey struct{}

// RetryAfter marks the context of the Send of an answer that refuses for now: the client
// shall wait as long.
func RetryAfter(ctx context.Context, after time.Duration) context.Context {
	return context.WithValue(ctx, retryKey{}, after)
}

// RetryAfterFrom is the mark of RetryAfter, or 0. Carriers over HTTP make it the field
// Retry-After, where the answer is the whole response.
func RetryAfterFrom(ctx context.Context) time.Duration {
	after, _ := ctx.Value(retryKey{}).(time.Duration)
	return after
}
