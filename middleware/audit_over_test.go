package middleware_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/store/memory"
	"github.com/kagami-mcp/kagami/middleware"
)

// TestTaskOfAStoppedProcessIsOneCall: a run that Shutdown interrupts has no line, because the next
// process runs the task again.
func TestTaskOfAStoppedProcessIsOneCall(t *testing.T) {
	t.Parallel()
	for name, fails := range map[string]func(ctx context.Context) error{
		"a context's error": func(ctx context.Context) error { return ctx.Err() },
		"a user's error":    func(context.Context) error { return framework.UserErrorf("no") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b, store, runs := &book{}, memory.New(), 0
				process := func() *framework.Server {
					s := build(t, quiet(framework.WithStore(store)).Use(middleware.Audit(b)).Add(doing(func(ctx context.Context) error {
						if runs++; runs > 1 {
							return nil
						}
						<-ctx.Done()
						return fails(ctx)
					}, framework.Task(framework.TaskOptional))))
					if err := s.Start(t.Context()); err != nil {
						t.Fatal(err)
					}
					return s
				}
				first := process()
				id := tasking(t.Context(), t, first, "tools/call", `"name":"t","arguments":{},`).Result.TaskID
				time.Sleep(time.Second)
				over, cancel := context.WithCancel(t.Context())
				cancel()
				_ = first.Shutdown(over) // returns the error of over
				second := process()
				time.Sleep(time.Minute)
				if got := tasking(t.Context(), t, second, "tasks/get", fmt.Sprintf(`"taskId":%q,`, id)); got.Result.Status != "completed" || runs != 2 {
					t.Errorf("after %d runs: %s", runs, got.raw)
				}
				if got := b.take(t); len(got) != 1 || got[0]["outcome"] != "ok" {
					t.Errorf("wrote %v", got)
				}
			})
		})
	}
}

// TestStoppedTaskWithoutStore: without a store the task of a stopped process is gone, and its call
// is over, also if it has retries left.
func TestStoppedTaskWithoutStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &book{}
		s := build(t, quiet().Use(middleware.Audit(b)).Add(doing(func(ctx context.Context) error {
			<-ctx.Done()
			return errors.New("EOF")
		}, framework.Task(framework.TaskOptional, framework.Retry(5)))))
		tasking(t.Context(), t, s, "tools/call", `"name":"t","arguments":{},`)
		synctest.Wait()
		over, cancel := context.WithCancel(t.Context())
		cancel()
		_ = s.Shutdown(over) // returns the error of over
		synctest.Wait()
		if got := b.take(t); len(got) != 1 || got[0]["outcome"] != "failed" {
			t.Errorf("wrote %v", got)
		}
	})
}

// A call that has asked too often is over, and is audited, logged and counted as failed.
func TestAuditOfTooManyRounds(t *testing.T) {
	t.Parallel()
	core, logs := observer.New(zap.ErrorLevel)
	b, measured := &book{}, &meters{}
	s := build(t, framework.New("test", "1", framework.WithLogger(zap.New(core))).Use(middleware.Audit(b), middleware.MetricsWith(measured)).Add(asking(1000)))
	got, rounds := call(t.Context(), t, s, `{}`), 1
	for ; len(got.Result.Requests) > 0 && rounds < 100; rounds++ {
		got = again(t.Context(), t, s, got, true)
	}
	if lines := b.take(t); rounds != 33 || len(lines) != 1 || lines[0]["outcome"] != "failed" || logs.Len() != 1 || len(measured.kept) != 1 {
		t.Errorf("%d rounds, the last %s\naudited %v\nlogged %v\nmeasured %v", rounds, got.raw, lines, logs.All(), measured.kept)
	}
}

// A round that the store cannot claim is answered with an error, so the call is over.
func TestAuditWhileTheStoreIsAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, store := &book{}, &slow{Store: memory.New().Claims()}
		s := build(t, quiet(framework.WithStore(counts{store})).Use(middleware.Audit(b)).Add(asking(1)))
		asked := call(t.Context(), t, s, `{}`)
		store.stuck.Store(true)
		got := again(t.Context(), t, s, asked, true)
		if lines := b.take(t); got.Error == nil || len(lines) != 1 || lines[0]["outcome"] != "failed" {
			t.Errorf("answered %s, audited %v", got.raw, lines)
		}
	})
}

// careless is a step that ignores the error of next in the first round, and panics.
var careless = framework.Middleware{Name: "careless", Wrap: func(next framework.Handler) framework.Handler {
	return func(ctx context.Context, call *framework.Call) (*framework.Result, error) {
		result, err := next(ctx, call)
		if call.Round == 0 {
			_ = result.Body
		}
		return result, err
	}
}}

// A step that panics while a question is pending does not end the call.
func TestPanicsWhilePending(t *testing.T) {
	t.Parallel()
	app, logs := watched()
	b, measured := &book{}, &meters{}
	s := build(t, app.Use(middleware.Audit(b), middleware.MetricsWith(measured), middleware.Logging(), careless).Add(asking(1)))
	got := again(t.Context(), t, s, call(t.Context(), t, s, `{}`), true)
	if lines := b.take(t); got.text() != "done" || len(lines) != 1 || lines[0]["outcome"] != "ok" {
		t.Errorf("answered %s, audited %v", got.raw, lines)
	}
	if entries := logs.FilterMessage("call").All(); len(entries) != 1 || len(measured.kept) != 1 {
		t.Errorf("logged %v, measured %v", entries, measured.kept)
	}
}
