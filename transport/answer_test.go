package transport_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/transport"
)

type (
	wordKey  struct{}
	otherKey struct{}
)

func TestMarksOfAnAnswer(t *testing.T) {
	t.Parallel()
	over := errors.New("over")
	ctx, cancel := context.WithCancelCause(context.WithValue(t.Context(), wordKey{}, "word"))
	marked := transport.RetryAfter(transport.Challenged(ctx, "Bearer"), time.Minute)
	cancel(over)
	if _, final := transport.FinalFrom(marked); final || !errors.Is(context.Cause(marked), over) || marked.Err() == nil {
		t.Error("a mark has hidden that the call is over")
	}
	for name, ctx := range map[string]context.Context{
		"itself":  transport.Final(marked, 503),
		"derived": context.WithValue(transport.Final(marked, 503), otherKey{}, 1),
	} {
		if status, final := transport.FinalFrom(ctx); status != 503 || !final {
			t.Errorf("%s: status %d, final %v", name, status, final)
		}
		if got := transport.ChallengeFrom(ctx); got != "Bearer" {
			t.Errorf("%s: challenge %q", name, got)
		}
		if got := transport.RetryAfterFrom(ctx); got != time.Minute {
			t.Errorf("%s: retry after %v", name, got)
		}
		if ctx.Value(wordKey{}) != "word" {
			t.Errorf("%s: the values of the call are gone", name)
		}
		if ctx.Err() != nil || ctx.Done() != nil || context.Cause(ctx) != nil {
			t.Errorf("%s: the answer ends with the call", name)
		}
		derived, cancel := context.WithTimeout(ctx, time.Hour)
		if derived.Err() != nil {
			t.Errorf("%s: what derives from it has ended with the call: %v", name, context.Cause(derived))
		}
		cancel()
	}
}

// TestMarksAddUp: a mark leaves those that were made before, in whatever context between.
func TestMarksAddUp(t *testing.T) {
	t.Parallel()
	between := func(ctx context.Context) context.Context { return context.WithValue(ctx, otherKey{}, 1) }
	ctx := between(transport.RetryAfter(t.Context(), time.Minute))
	ctx = between(transport.Final(ctx, 503))
	ctx = transport.Challenged(ctx, "Bearer")
	if status, final := transport.FinalFrom(ctx); status != 503 || !final {
		t.Errorf("status %d, final %v", status, final)
	}
	if got := transport.RetryAfterFrom(ctx); got != time.Minute {
		t.Errorf("retry after %v", got)
	}
	if got := transport.ChallengeFrom(ctx); got != "Bearer" {
		t.Errorf("challenge %q", got)
	}
	if ctx.Value(otherKey{}) != 1 {
		t.Error("the values of the contexts between are gone")
	}
}

func TestNoMarks(t *testing.T) {
	t.Parallel()
	if status, final := transport.FinalFrom(t.Context()); status != 0 || final {
		t.Errorf("status %d, final %v", status, final)
	}
	if transport.ChallengeFrom(t.Context()) != "" || transport.RetryAfterFrom(t.Context()) != 0 {
		t.Error("marks that nobody made")
	}
}
