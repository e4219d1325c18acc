package middleware_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/middleware"
)

// wait is a handler that heeds its context.
func wait(d time.Duration) func(context.Context) error {
	return func(ctx context.Context) error {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
			return nil
		case <-ctx.Done():
			return fmt.Errorf("reading the database: %w", ctx.Err())
		}
	}
}

func TestTimeout(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		fn   func(context.Context) error
		want string
	}{
		"in time":               {wait(time.Second), "done"},
		"too late":              {wait(time.Hour), "The tool took longer than 5s and was stopped."},
		"its own error in time": {func(context.Context) error { return framework.UserErrorf("no") }, "no"},
		"its own error, late": {func(ctx context.Context) error {
			<-ctx.Done()
			return framework.UserErrorf("the archive is slow today")
		}, "the archive is slow today"},
		"its own error with the cause, late": {func(ctx context.Context) error {
			<-ctx.Done()
			return framework.UserErrorf("the archive is slow today: %w", ctx.Err())
		}, "the archive is slow today: context deadline exceeded"},
		"an error of no meaning, late": {func(ctx context.Context) error {
			<-ctx.Done()
			return errors.New("EOF")
		}, "The tool took longer than 5s and was stopped."},
		"does not heed it": {func(context.Context) error {
			time.Sleep(10 * time.Second)
			return nil
		}, "done"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := build(t, quiet().Use(middleware.Timeout(5*time.Second)).Add(doing(tt.fn)))
				if got := call(t.Context(), t, s, `{}`); got.text() != tt.want {
					t.Errorf("answered %s, want %q", got.raw, tt.want)
				}
			})
		})
	}
}

// Each round has the whole time, and a question is no timeout.
func TestTimeoutInRounds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := build(t, quiet().Use(middleware.Timeout(5*time.Second)).Add(doing(func(ctx context.Context) error {
			time.Sleep(4 * time.Second)
			_, err := framework.Elicit[confirm](ctx, "Sure?")
			return err
		})))
		asked := call(t.Context(), t, s, `{}`)
		time.Sleep(time.Minute)
		if got := again(t.Context(), t, s, asked, true); got.text() != "done" {
			t.Errorf("answered %s", got.raw)
		}
	})
}

func TestTimeoutOfALongerOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		app := quiet().Use(middleware.Timeout(5 * time.Second)).Add(doing(wait(time.Hour), framework.With(middleware.Timeout(time.Second))))
		got := call(t.Context(), t, build(t, app), `{}`)
		if !strings.Contains(got.text(), "longer than 1s") {
			t.Errorf("answered %s, want the time of the inner one", got.raw)
		}
	})
}

// TestTimeoutInTask: a task that reached the limit fails with that error, also if it has retries
// left.
func TestTimeoutInTask(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		runs := 0
		s := build(t, quiet().Use(middleware.Timeout(5*time.Second)).Add(doing(func(ctx context.Context) error {
			runs++
			<-ctx.Done()
			return errors.New("EOF")
		}, framework.Task(framework.TaskOptional, framework.Retry(1)))))
		if got := shake(t, s).task(t); got.text() != "The tool took longer than 5s and was stopped." || runs != 1 {
			t.Errorf("answered %s after %d runs", got.raw, runs)
		}
	})
}

func TestTimeoutAlone(t *testing.T) {
	t.Parallel()
	run := alone(middleware.Timeout(time.Nanosecond), func(ctx context.Context, _ *framework.Call) (*framework.Result, error) {
		<-ctx.Done()
		return nil, framework.ErrPending
	})
	if _, err := run(t.Context()); !errors.Is(err, framework.ErrPending) {
		t.Errorf("the error is %v: a question is no timeout", err)
	}
	run = alone(middleware.Timeout(time.Nanosecond), func(ctx context.Context, _ *framework.Call) (*framework.Result, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	_, err := run(t.Context())
	if got := framework.OutcomeOf(t.Context(), nil, err); got != framework.OutcomeTimeout || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the outcome of %v is %s", err, got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := run(ctx); !errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the error of a cancelled call is %v", err)
	}
}
