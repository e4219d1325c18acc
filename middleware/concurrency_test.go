package middleware_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/store/memory"
	"github.com/kagami-mcp/kagami/middleware"
	"github.com/kagami-mcp/kagami/protocol"
)

func TestConcurrency(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var order []string
		now, most := 0, 0
		s := build(t, quiet().Use(middleware.Concurrency(2, 3)).Add(
			framework.Tool("t", func(_ context.Context, in struct {
				Name string `json:"name"`
			},
			) (string, error) {
				mu.Lock()
				order = append(order, in.Name)
				now++
				most = max(most, now)
				mu.Unlock()
				time.Sleep(time.Second)
				mu.Lock()
				now--
				mu.Unlock()
				return "done", nil
			})))
		var all sync.WaitGroup
		for _, name := range []string{"a", "b", "c", "d", "e"} {
			all.Go(func() {
				if got := call(t.Context(), t, s, `{"name":"`+name+`"}`); got.text() != "done" {
					t.Errorf("%s: %s", name, got.raw)
				}
			})
			synctest.Wait()
		}
		got := call(t.Context(), t, s, `{"name":"f"}`)
		if got.code() != protocol.CodeTooMany || string(got.Error.Data) != `{"retryAfterMs":1000}` {
			t.Errorf("the sixth: %s", got.raw)
		}
		all.Wait()
		slices.Sort(order[:2])
		slices.Sort(order[2:4]) // two places are free at the same moment
		if want := []string{"a", "b", "c", "d", "e"}; !slices.Equal(order, want) || most != 2 {
			t.Errorf("ran %v, %d at once; want %v, 2 at once", order, most, want)
		}
		if got := call(t.Context(), t, s, `{"name":"g"}`); got.text() != "done" {
			t.Errorf("afterwards: %s", got.raw)
		}
	})
}

// TestConcurrencyOfTasks: a task beyond the limit waits, and does not fail.
func TestConcurrencyOfTasks(t *testing.T) {
	t.Parallel()
	for _, queue := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var opts []framework.AppOption
			if queue {
				opts = append(opts, framework.WithStore(memory.New()))
			}
			sleep := func(context.Context) error { time.Sleep(time.Second); return nil }
			s := build(t, quiet(opts...).Use(middleware.Concurrency(1, 0)).Add(doing(sleep, framework.Task(framework.TaskOptional, framework.Retry(0)))))
			if err := s.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			var ids []string
			for range 5 {
				ids = append(ids, tasking(t.Context(), t, s, "tools/call", `"name":"t","arguments":{},`).Result.TaskID)
			}
			time.Sleep(time.Minute)
			for _, id := range ids {
				if got := tasking(t.Context(), t, s, "tasks/get", fmt.Sprintf(`"taskId":%q,`, id)); got.Result.Status != "completed" {
					t.Errorf("with queue %v: %s", queue, got.raw)
				}
			}
		})
	}
}

// Who is not there any more when its turn comes leaves its place to the next one.
func TestConcurrencyGivesUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hold := make(chan struct{})
		run := alone(middleware.Concurrency(1, 2), func(ctx context.Context, c *framework.Call) (*framework.Result, error) {
			<-hold
			return answering("x")(ctx, c)
		})
		first, gone, last := make(chan error, 1), make(chan error, 1), make(chan error, 1)
		start := func(ctx context.Context, done chan<- error) {
			go func() { _, err := run(ctx); done <- err }()
			synctest.Wait()
		}
		ctx, cancel := context.WithCancel(t.Context())
		start(t.Context(), first)
		start(ctx, gone)
		start(t.Context(), last)
		if _, err := run(t.Context()); framework.OutcomeOf(t.Context(), nil, err) != framework.OutcomeLimited {
			t.Errorf("the queue is full, and the error is %v", err)
		}
		cancel()
		if err := <-gone; !errors.Is(err, context.Canceled) {
			t.Errorf("the one that gave up: %v", err)
		}
		close(hold)
		if err := errors.Join(<-first, <-last); err != nil {
			t.Error(err)
		}
		if _, err := run(t.Context()); err != nil {
			t.Errorf("a place was lost: %v", err)
		}
	})
}

// TestConcurrencyLosesNoPlace: if a waiting call is cancelled while it receives a place, the next
// call gets the place.
func TestConcurrencyLosesNoPlace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for range 2000 {
			ctx, cancel := context.WithCancel(t.Context())
			hold, ended := make(chan struct{}), make(chan error, 3)
			run := alone(middleware.Concurrency(1, 2), func(context.Context, *framework.Call) (*framework.Result, error) {
				<-hold
				cancel() // and then the place is free
				return answering("x")(t.Context(), nil)
			})
			for _, of := range []context.Context{t.Context(), ctx, t.Context()} {
				go func() { _, err := run(of); ended <- err }()
				synctest.Wait()
			}
			close(hold)
			synctest.Wait()
			if len(ended) != 3 {
				t.Fatalf("%d of 3 calls have ended: the place is lost", len(ended))
			}
		}
	})
}

// A cancellation and a turn at the same moment lose no place.
func TestConcurrencyRaces(t *testing.T) {
	t.Parallel()
	run := alone(middleware.Concurrency(2, 1000), func(ctx context.Context, c *framework.Call) (*framework.Result, error) {
		if meet, ok := ctx.Value(meetKey{}).(chan struct{}); ok {
			select {
			case meet <- struct{}{}:
			case <-meet:
			}
		}
		return answering("x")(ctx, c)
	})
	var all sync.WaitGroup
	for i := range 500 {
		all.Go(func() {
			ctx, cancel := context.WithCancel(context.Background())
			if i%2 == 0 {
				go cancel()
			}
			_, _ = run(ctx)
			cancel()
		})
	}
	all.Wait()
	// Both places are there: two calls meet.
	meet := make(chan struct{})
	for range 2 {
		all.Go(func() {
			ctx := context.WithValue(context.Background(), meetKey{}, meet)
			if _, err := run(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

type meetKey struct{}

// A step further in that panics gives its place back.
func TestConcurrencyPanics(t *testing.T) {
	t.Parallel()
	boom := true
	run := alone(middleware.Concurrency(1, 0), func(ctx context.Context, c *framework.Call) (*framework.Result, error) {
		if boom {
			panic("boom")
		}
		return answering("x")(ctx, c)
	})
	func() {
		defer func() { _ = recover() }()
		_, _ = run(t.Context())
	}()
	boom = false
	if _, err := run(t.Context()); err != nil {
		t.Errorf("the place is lost: %v", err)
	}
}

// toolCaller is a model that calls the tool "inner" once.
type toolCaller struct{}

func (toolCaller) Generate(_ context.Context, req *framework.ModelRequest) (framework.Generation, error) {
	if len(req.Messages) > 1 {
		return framework.Generation{Content: framework.Content{framework.Text("done")}, StopReason: "endTurn"}, nil
	}
	return framework.Generation{
		Content:    framework.Content{protocol.ToolUse{ID: "1", Name: "inner", Input: json.RawMessage(`{}`)}},
		StopReason: "toolUse",
	}, nil
}

// A call within a call does not wait for the place that the outer one has.
func TestConcurrencyWithin(t *testing.T) {
	t.Parallel()
	ran := false
	inner := framework.Tool("inner", func(context.Context, struct{}) (string, error) { ran = true; return "x", nil })
	s := build(t, quiet(framework.WithModel(toolCaller{})).Use(middleware.Concurrency(1, 10)).Add(inner, doing(func(ctx context.Context) error {
		_, err := framework.Generate(ctx, "go", framework.WithTools(inner))
		return err
	})))
	if got := call(t.Context(), t, s, `{}`); got.text() != "done" || !ran {
		t.Errorf("answered %s, inner ran: %v", got.raw, ran)
	}
}
