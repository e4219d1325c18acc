package middleware

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kagami-mcp/kagami/framework"
)

// timeoutError is the cause of a context that Timeout ended, and the error that the caller
// receives.
type timeoutError struct {
	kind  string
	limit time.Duration
}

// Error returns a sentence for the model.
func (e *timeoutError) Error() string {
	return fmt.Sprintf("The %s took longer than %s and was stopped.", e.kind, e.limit)
}

// Is reports whether target is context.DeadlineExceeded.
func (e *timeoutError) Is(target error) bool { return target == context.DeadlineExceeded }

// Timeout limits the duration of every call. The context of all later steps and the handler ends
// after d. An error that results from this is replaced by an error with the limit.
//
// Timeout applies to one execution. If the handler asks the client live, the time that the user
// takes counts. If it asks in rounds, each round has the whole time. Time spent waiting in
// Concurrency counts if Timeout was given first.
//
// If a handler ignores its context, it continues to run. A result that it returns after all is the
// answer. Phase: limit.
func Timeout(d time.Duration) framework.Middleware {
	if d <= 0 {
		return broken("Timeout: the duration must be positive")
	}
	return framework.Middleware{Name: "timeout", Phase: framework.PhaseLimit, Wrap: func(next framework.Handler) framework.Handler {
		return func(ctx context.Context, call *framework.Call) (*framework.Result, error) {
			over := &timeoutError{kind: cmp.Or(call.Component.Kind, "list"), limit: d}
			limited, cancel := context.WithTimeoutCause(ctx, d, over)
			defer cancel()
			result, err := next(limited, call)
			if ours, _ := context.Cause(limited).(*timeoutError); err == nil || ours != over || !stopped(ctx, err) { //nolint:errorlint // the very one: an inner Timeout has its own
				return result, err
			}
			told := framework.UserErrorf("%w", over)
			if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
				return nil, told
			}
			return nil, framework.Because(told, err) // the log needs what the caller does not see
		}
	}}
}

// stopped reports whether the error may result from the end of the context. An error that a handler
// means to show to its caller does not count and is passed on unchanged.
func stopped(ctx context.Context, err error) bool {
	outcome := framework.OutcomeOf(ctx, nil, err)
	retried := outcome == framework.OutcomePending && !errors.Is(err, framework.ErrPending) // by a task
	return outcome == framework.OutcomeFailed || retried
}
