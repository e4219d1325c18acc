package framework_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
)

// TestTaskOverItsLimits: a task whose record cannot hold how it ended fails, once. It
// neither works for ever nor, in line again, runs for ever.
func TestTaskOverItsLimits(t *testing.T) {
	t.Parallel()
	large := func(n int) string { return strings.Repeat("x", n) }
	effect := func(ctx context.Context) error {
		_, err := framework.Once(ctx, "e", func(context.Context) (string, error) { return large(5 << 20), nil })
		return err
	}
	var unheard atomic.Bool
	t.Cleanup(func() {
		if unheard.Load() {
			t.Error("a handler was not told that what it did cannot be kept")
		}
	})
	for name, c := range map[string]struct {
		end     func(ctx context.Context) (string, error)
		message string
	}{
		"result": {func(context.Context) (string, error) { return large(5 << 20), nil }, "the result is too large to be kept"},
		"error": {func(context.Context) (string, error) {
			return "", protocol.Faultf(protocol.FaultInvalidParams, "%s", large(100<<10))
		}, "the error is too large to be kept"},
		"journal": {func(ctx context.Context) (string, error) {
			if effect(ctx) == nil {
				unheard.Store(true)
			}
			return "done", nil
		}, "internal error"},
		"journal of a retry": {func(ctx context.Context) (string, error) {
			return "", errors.Join(effect(ctx), errors.New("secret"))
		}, "internal error"},
		"journal of a question": {func(ctx context.Context) (string, error) {
			if err := effect(ctx); err != nil {
				return "", err
			}
			who, err := framework.Elicit[name](ctx, "Who?")
			return who.Name, err
		}, "internal error"},
	} {
		add := func(app *framework.App, runs *atomic.Int32) *framework.App {
			return app.Add(framework.Tool("ends", func(ctx context.Context, _ struct{}) (string, error) {
				if runs.Add(1) > 5 { // so that the test ends
					<-ctx.Done()
					return "", ctx.Err()
				}
				return c.end(ctx)
			}, framework.Describe("d"), framework.Task(framework.TaskOptional, framework.Retry(2))))
		}
		for where, server := range map[string]func(t *testing.T, runs *atomic.Int32) *framework.Server{
			"in memory": func(t *testing.T, runs *atomic.Int32) *framework.Server { return build(t, add(quiet(), runs)) },
			"in line": func(t *testing.T, runs *atomic.Int32) *framework.Server {
				return nodes(t, 2, func(app *framework.App, _ int) { add(app, runs) })[1]
			},
		} {
			t.Run(name+"/"+where, func(t *testing.T) {
				t.Parallel()
				bubble(t, func(t *testing.T) {
					var runs atomic.Int32
					p := dialTasks(t, server(t, &runs))
					id := p.task("ends", `{}`)
					time.Sleep(time.Minute)
					synctest.Wait()
					if got := p.get(id); got.Status != "failed" || got.Error == nil || got.Error.Message != c.message || runs.Load() != 1 {
						t.Errorf("%s, %+v, after %d runs", got.Status, got.Error, runs.Load())
					}
				})
			})
		}
	}
}

// TestTasksPerCaller: a task more than so many is refused, until one is over; others have
// their own, and sessions of one principal the same.
func TestTasksPerCaller(t *testing.T) {
	bubble(t, func(t *testing.T) {
		gate := make(chan struct{})
		app := quiet(framework.WithTasksPerCaller(2)).Add(framework.Tool("job", func(context.Context, struct{}) (string, error) { <-gate; return "done", nil },
			framework.Describe("d"), framework.Task(framework.TaskOptional)))
		s := build(t, app)
		alice := as(&framework.Principal{Issuer: "i", Subject: "alice"})
		one, two, bob := dial(t, s, core, alice), dial(t, s, core, alice), dial(t, s, core, as(&framework.Principal{Issuer: "i", Subject: "bob"}))
		one.start("job", `{}`, `{}`)
		two.start("job", `{}`, `{}`)
		for _, p := range []*peer{one, two} {
			if got := p.call("tools/call", `{"name":"job","arguments":{},"task":{}}`).code(-32603).Error.Message; !strings.Contains(got, "at most 2") {
				t.Errorf("refused by %q", got)
			}
		}
		bob.start("job", `{}`, `{}`)
		close(gate)
		synctest.Wait()
		one.start("job", `{}`, `{}`)
	})
	if _, err := quiet(framework.WithTasksPerCaller(0)).Build(); err == nil || !strings.Contains(err.Error(), "WithTasksPerCaller") {
		t.Errorf("0 per caller: %v", err)
	}
}

// TestPageOfTasks: tasks/list has pages of the size that WithPageSize says, as all lists have. Another
// app refuses the cursor, even if it has the same secret.
func TestPageOfTasks(t *testing.T) {
	bubble(t, func(t *testing.T) {
		open := func(name string) *peer {
			p := dial(t, build(t, framework.New(name, "1", framework.WithLogger(zap.NewNop()), framework.WithPageSize(2), framework.WithStateSecrets([]byte("a secret that both have"))).
				Add(framework.Tool("job", working, framework.Describe("d"), framework.Task(framework.TaskOptional)))), core, as(&framework.Principal{Subject: "ann"}))
			for range 3 {
				p.start("job", `{}`, `{}`)
			}
			return p
		}
		p := open("one")
		first := p.call("tasks/list", `{}`)
		next, _ := first.field("nextCursor").(string)
		second := p.call("tasks/list", fmt.Sprintf(`{"cursor":%q}`, next))
		for i, page := range []any{first.field("tasks"), second.field("tasks")} {
			if tasks, _ := page.([]any); len(tasks) != 2-i {
				t.Errorf("page %d has %v", i+1, page)
			}
		}
		open("two").call("tasks/list", fmt.Sprintf(`{"cursor":%q}`, next)).code(-32602)
	})
}

// TestOnePageOfTasks checks that a page of the largest size has all tasks.
func TestOnePageOfTasks(t *testing.T) {
	bubble(t, func(t *testing.T) {
		app := framework.New("one", "1", framework.WithLogger(zap.NewNop()), framework.WithPageSize(math.MaxInt))
		p := dial(t, build(t, app.Add(framework.Tool("job", working, framework.Describe("d"), framework.Task(framework.TaskOptional)))), core, as(&framework.Principal{Subject: "ann"}))
		for range 3 {
			p.start("job", `{}`, `{}`)
		}
		if tasks, _ := p.call("tasks/list", `{}`).field("tasks").([]any); len(tasks) != 3 {
			t.Errorf("the page has %v", tasks)
		}
	})
}

// TestTaskAnswersOverTheLimit: a client that answers with more than a task keeps gets the reason, and may
// answer with less.
func TestTaskAnswersOverTheLimit(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := dialTasks(t, build(t, quiet().Add(framework.Tool("ask", func(ctx context.Context, _ struct{}) (string, error) {
			who, err := framework.Elicit[name](ctx, "Who?")
			return who.Name, err
		}, framework.Describe("d"), framework.Task(framework.TaskOptional)))))
		id := p.task("ask", `{}`)
		synctest.Wait()
		large := fmt.Sprintf(`{"q1":{"action":"accept","content":{"name":%q}}}`, strings.Repeat("x", 5<<20))
		if got := p.answer(id, large).code(-32602).Error.Message; !strings.Contains(got, "too large") {
			t.Errorf("refused by %q", got)
		}
		p.answer(id, `{"q1":`+accepted+`}`).ok()
		synctest.Wait()
		if got := p.get(id); got.Status != "completed" {
			t.Errorf("%+v", got)
		}
	})
}

// TestLargeResultOfATaskIsLogged: the steps of the call saw it succeed, so nothing else says why it failed.
func TestLargeResultOfATaskIsLogged(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		entries, logs := observer.New(zapcore.ErrorLevel)
		p := dialTasks(t, build(t, framework.New("test", "1.0.0", framework.WithLogger(zap.New(entries))).Add(
			framework.Tool("film", func(context.Context, struct{}) (string, error) { return strings.Repeat("x", 5<<20), nil },
				framework.Describe("d"), framework.Task(framework.TaskOptional)))))
		id := p.task("film", `{}`)
		time.Sleep(time.Minute)
		if got := p.get(id); got.Status != "failed" {
			t.Errorf("%+v", got)
		}
		if logs.Len() != 1 || !strings.Contains(fmt.Sprint(logs.All()[0].ContextMap()["error"]), "too large to be kept") {
			t.Errorf("logged %v", logs.All())
		}
	})
}
