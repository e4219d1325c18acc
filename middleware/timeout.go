package middleware

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kagami-mcp/kagami/framework"
)

// timeoutError is the cause of a context that Timeout ended, and what the caller is told.
type timeoutError struct {
	kind  string
	limit time.Duration
}

// Error is meant for the model.
func (e *timeoutError) Error() string {
	return fmt.Sprintf("The %s took longer than %s and was stopped.", e.kind, e.limit)
}

// Is makes it a context.DeadlineExceeded for errors.Is.
func (e *timeoutError) Is(target error) bool { return target == context.DeadlineExceeded }

// Timeout limits every call: the context of everything further in ends after d, and an
// error that results from it tells the caller so. It bounds one execution: if the client is
// asked live, the time the user takes counts; in rounds each round has the whole time. Time
// spent waiting in Concurrency counts if Timeout was given first.
//
// A handler that does not heed its context goes on, and if it returns a result after all,
// that is the answer. Phase: limit.
func Timeout(d time.Duration) framework.Middleware {
	if d <= 0 {
		return broken("Timeout: the duration must be positive")
	}
	return framework.Middleware{Name: "timeout", Phase: framework.PhaseLimit, Wrap: func(next framework.Handler) framework.Handler {
		return func(ctx context.Context, call *framework.Call) (*framework.Result, error) {
			over := &timeoutError{kind: noun(call), limit: d}
			limited, cancel := context.WithTimeoutCause(ctx, d, over)
			defer cancel()
			result, err := next(limited, call)
			if ours, _ := context.Cause(limited).(*timeoutError); err == nil || ours != over || !stopped(ctx, err) { //nolint:errorlint // the very one: an inner Timeout has its own
				return result, err
			}
			return nil, framework.UserErrorf("%w", over)
		}
	}}
}

// stopped says whether the error may be a result of the end of the context. An error that a
// handler means to tell its caller is passed on as it is.
func stopped(ctx context.Context, err error) bool {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return true
	}
	return framework.OutcomeOf(ctx, nil, err) == framework.OutcomeFailed
}

// noun is what kind of component was called.
func noun(call *framework.Call) string {
	if call.Component.Kind == "" {
		return "list"
	}
	return call.Component.Kind
}
