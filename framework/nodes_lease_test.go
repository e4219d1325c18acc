package framework_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/store/memory"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/task"
)

var errAway = errors.New("the store is away")

// filmed returns a started node that runs film as a task.
func filmed(t *testing.T, store *memory.Store, h *hooks, film func(ctx context.Context) (string, error), steps ...framework.Middleware) *framework.Server {
	t.Helper()
	app := quiet(framework.WithStore(hooked{store, h}), framework.WithTaskWorkers(1)).Use(steps...)
	app.Add(framework.Tool("film", func(ctx context.Context, _ struct{}) (string, error) { return film(ctx) },
		framework.Describe("d"), framework.Task(framework.TaskOptional)))
	s := build(t, app)
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestNodesLateResult: a worker that has lost its lease cannot set the result of the task, before
// or after its successor has finished. If its renewals fail, the handler's context ends. If a
// renewal succeeds wrongly, only the store can refuse the result.
func TestNodesLateResult(t *testing.T) {
	away := &hooks{renew: func(context.Context) error { return errAway }}
	unaware := &hooks{renewed: func() bool { return true }}
	stale := errors.New("stale")
	for _, late := range []time.Duration{3 * time.Second, 20 * time.Second} { // the successor takes 10 s
		lateResult(t, away, late, nil)
		lateResult(t, away, late, stale)
		lateResult(t, unaware, late, nil)
	}
}

// lateResult starts a task on a node with hooks, whose handler ignores its context and ends late, and
// then a second node.
func lateResult(t *testing.T, h *hooks, late time.Duration, fails error) {
	t.Helper()
	const life = time.Second
	bubble(t, func(t *testing.T) {
		store := memory.Sized(memory.Bounds{LeaseLife: life})
		var stopped, ended atomic.Int64 // time.Duration since the handler began
		w := &witness{answer: func(result *framework.Result, err error) (*framework.Result, error) { return result, err }}
		first := filmed(t, store, h, func(ctx context.Context) (string, error) {
			began := time.Now()
			context.AfterFunc(ctx, func() { stopped.Store(int64(time.Since(began))) })
			time.Sleep(late)
			ended.Store(int64(time.Since(began)))
			return "stale", fails
		}, w.step(framework.PhaseTrace))
		p := dialTasks(t, first)
		id := p.task("film", `{}`)
		synctest.Wait()
		filmed(t, store, &hooks{}, func(context.Context) (string, error) {
			time.Sleep(10 * time.Second)
			return "new", nil
		})
		for range 30 {
			time.Sleep(time.Second)
			got := p.get(id)
			if got.Status != "working" && got.Status != "completed" || strings.Contains(string(got.Result), "stale") {
				t.Fatalf("%s: %s", got.Status, got.Result)
			}
		}
		if got := p.get(id); got.Status != "completed" || !strings.Contains(string(got.Result), "new") {
			t.Errorf("%s: %s", got.Status, got.Result)
		}
		if after := time.Duration(stopped.Load()); h.renew != nil && (after < life*2/3 || after > 2*life) {
			t.Errorf("the handler was stopped %v after it began, with a lease of %v", after, life)
		}
		if seen := w.take(); h.renew != nil && (len(seen) != 1 || !strings.HasSuffix(seen[0], " pending")) {
			t.Errorf("the run of the first worker is %q, though the call goes on elsewhere", seen)
		}
		if took := time.Duration(ended.Load()); took < late {
			t.Errorf("the first worker ended after %v: nothing was late", took)
		}
	})
}

// TestNodesLeaseLastsItsLife: renewals that fail for less than a life do not take the task
// from its worker.
func TestNodesLeaseLastsItsLife(t *testing.T) {
	bubble(t, func(t *testing.T) {
		store := memory.Sized(memory.Bounds{LeaseLife: time.Second})
		var renewals atomic.Int32
		first := filmed(t, store, &hooks{renew: func(context.Context) error { renewals.Add(1); return errAway }}, func(ctx context.Context) (string, error) {
			select {
			case <-time.After(900 * time.Millisecond):
				return "by the first", nil
			case <-ctx.Done():
				return "", context.Cause(ctx)
			}
		})
		p := dialTasks(t, first)
		id := p.task("film", `{}`)
		synctest.Wait()
		filmed(t, store, &hooks{}, func(context.Context) (string, error) { return "by the second", nil })
		time.Sleep(10 * time.Second)
		if got := p.get(id); got.Status != "completed" || !strings.Contains(string(got.Result), "by the first") {
			t.Errorf("%s: %s", got.Status, got.Result)
		}
		if n := renewals.Load(); n != 2 {
			t.Errorf("%d renewals failed", n)
		}
	})
}

// TestNodesStaleRelease: an execution of a round that has lost its claim, and then fails,
// leaves the claim of its successor alone: the round does not run for a third time.
func TestNodesStaleRelease(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var cut atomic.Bool // no renewal reaches the store
		h := &hooks{swap: func(key string) error {
			if cut.Load() && strings.HasPrefix(key, "round/") {
				return errAway
			}
			return nil
		}}
		var runs atomic.Int32
		s := build(t, quiet(framework.WithStore(hooked{memory.New(), h})).Add(framework.Tool("ask", func(ctx context.Context, _ struct{}) (string, error) {
			answer, err := framework.Elicit[name](ctx, "Who?")
			if err != nil {
				return "", err
			}
			switch n := runs.Add(1); n {
			case 1:
				time.Sleep(5 * time.Minute)
				return "", protocol.Faultf(protocol.FaultInternal, "too late")
			case 2:
				cut.Store(false)
				time.Sleep(10 * time.Minute)
				fallthrough
			default:
				return fmt.Sprint(answer.Name, n), nil
			}
		}, framework.Describe("d"))))
		p := dial(t, s, protocol.Rev20260728, withCaps(canElicit))
		state := as2[struct{ RequestState string }](t, p.tool("ask", `{}`).ok().Result).RequestState
		params := fmt.Sprintf(`{"name":"ask","arguments":{},"requestState":%q,"inputResponses":{"q1":%s}}`, state, accepted)
		got := make(chan string, 3)
		cut.Store(true)
		for range 3 {
			go func() {
				got <- string(dial(t, s, protocol.Rev20260728, withCaps(canElicit)).call("tools/call", params).Result)
			}()
			time.Sleep(4 * time.Minute) // the first fails in the fifth minute; the third comes in the eighth
		}
		for range 3 {
			if r := <-got; r != "" && !strings.Contains(r, "Ada2") {
				t.Errorf("%s", r)
			}
		}
		if n := runs.Load(); n != 2 {
			t.Errorf("the round ran %d times", n)
		}
	})
}

// TestNodesConflict: what a client does to a task is done although another node changes the
// record between the reading and the writing, and at once.
func TestNodesConflict(t *testing.T) {
	bubble(t, func(t *testing.T) {
		store, h := memory.New(), &hooks{}
		s := filmed(t, store, h, func(ctx context.Context) (string, error) {
			<-ctx.Done()
			return "", ctx.Err()
		})
		p := dialTasks(t, s)
		id := p.task("film", `{}`)
		synctest.Wait()
		conflicts := 0
		h.update = func() error {
			if conflicts++; conflicts > 5 {
				return nil
			}
			r, err := store.Tasks().Get(t.Context(), id)
			if err != nil {
				return err
			}
			r.Message = fmt.Sprint("another node's ", conflicts)
			return store.Tasks().Update(t.Context(), r)
		}
		began := time.Now()
		p.byID("tasks/cancel", id).ok()
		if got := p.get(id); got.Status != "cancelled" || conflicts != 6 || time.Since(began) > 0 {
			t.Errorf("%s after %d conflicts and %v", got.Status, conflicts, time.Since(began))
		}
	})
}

// TestNodesEffectsAreNotNews: what a task keeps without a change of its status is not sent to listeners.
func TestNodesEffectsAreNotNews(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := dialTasks(t, filmed(t, memory.New(), &hooks{}, func(ctx context.Context) (string, error) {
			for i := range 3 {
				time.Sleep(time.Second)
				if _, err := framework.Once(ctx, fmt.Sprint("shot", i), func(context.Context) (int, error) { return i, nil }); err != nil {
					return "", err
				}
			}
			time.Sleep(time.Second)
			return "done", nil
		}))
		id := p.task("film", `{}`)
		synctest.Wait() // until it runs
		defer p.listen(id)()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		var seen []string
		for _, m := range p.notifications("notifications/tasks") {
			seen = append(seen, as2[taskState](t, m).Status)
		}
		if got := strings.Join(seen, " "); got != "completed" {
			t.Errorf("the listener got %q", got)
		}
	})
}

// TestNodesStaleWorkerIsFree: a worker with a result that the store refuses takes the next task.
func TestNodesStaleWorkerIsFree(t *testing.T) {
	bubble(t, func(t *testing.T) {
		store := memory.Sized(memory.Bounds{LeaseLife: time.Second})
		var runs atomic.Int32
		p := dialTasks(t, filmed(t, store, &hooks{renewed: func() bool { return true }}, func(context.Context) (string, error) {
			if runs.Add(1) == 1 {
				time.Sleep(3 * time.Second)
			}
			return "by the first", nil
		}))
		p.task("film", `{}`)
		synctest.Wait()
		filmed(t, store, &hooks{}, func(context.Context) (string, error) { time.Sleep(time.Minute); return "by the second", nil })
		time.Sleep(5 * time.Second)
		next := p.task("film", `{}`)
		time.Sleep(5 * time.Second)
		if got := p.get(next); got.Status != "completed" {
			t.Errorf("%+v", got)
		}
		time.Sleep(time.Minute)
	})
}

// TestNodesStaleHandlerStops: the first write that the store refuses ends the handler of a worker that has
// lost its task, although its renewals succeed.
func TestNodesStaleHandlerStops(t *testing.T) {
	bubble(t, func(t *testing.T) {
		store, stopped := memory.Sized(memory.Bounds{LeaseLife: time.Second}), make(chan error, 1)
		p := dialTasks(t, filmed(t, store, &hooks{renewed: func() bool { return true }}, func(ctx context.Context) (string, error) {
			time.Sleep(3 * time.Second) // the second node takes the task meanwhile
			framework.Progress(ctx, 1, 2, "stale")
			stopped <- ctx.Err()
			return "stale", ctx.Err()
		}))
		id := p.task("film", `{}`)
		synctest.Wait()
		filmed(t, store, &hooks{}, func(context.Context) (string, error) { time.Sleep(10 * time.Second); return "new", nil })
		if err := <-stopped; err == nil {
			t.Error("the handler goes on")
		}
		time.Sleep(20 * time.Second)
		if got := p.get(id); got.Status != "completed" || !strings.Contains(string(got.Result), "new") {
			t.Errorf("%s: %s", got.Status, got.Result)
		}
	})
}

// TestNodesTakeOverIsNotForgotten: a worker that cannot read the task of a dead one does not hand it on as
// if it had never begun.
func TestNodesTakeOverIsNotForgotten(t *testing.T) {
	bubble(t, func(t *testing.T) {
		store, began := memory.Sized(memory.Bounds{LeaseLife: time.Second}), time.Now()
		var runs atomic.Int32
		node := func(h *hooks, workers int) *framework.Server {
			s := build(t, quiet(framework.WithStore(hooked{store, h}), framework.WithTaskWorkers(workers)).Add(
				framework.Tool("film", func(context.Context, struct{}) (string, error) { runs.Add(1); return "", nil },
					framework.Describe("d"), framework.Task(framework.TaskOptional, framework.Retry(0)))))
			if err := s.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			return s
		}
		p := dialTasks(t, node(&hooks{}, 0))
		id := p.task("film", `{}`)
		queue, ok := reflect.TypeAssert[task.Queue](reflect.ValueOf(store.Tasks()))
		if !ok {
			t.Fatal("the store has no queue")
		}
		if _, err := queue.Take(t.Context()); err != nil { // by a worker that dies
			t.Fatal(err)
		}
		node(&hooks{get: func(context.Context, string) error {
			if time.Since(began) < 3*time.Second {
				return errAway
			}
			return nil
		}}, 1)
		time.Sleep(20 * time.Second)
		if got := p.get(id); got.Status != "failed" || runs.Load() != 0 {
			t.Errorf("%s after %d runs", got.Status, runs.Load())
		}
	})
}
