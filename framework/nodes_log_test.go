package framework_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/store/memory"
	"github.com/kagami-mcp/kagami/protocol/task"
	"github.com/kagami-mcp/kagami/transport"
)

// logging returns a started node that has the tool film, and the node's log.
func logging(t *testing.T, store framework.Store, workers int, film func(ctx context.Context) (string, error), opts ...framework.TaskOption) (*framework.Server, *observer.ObservedLogs) {
	t.Helper()
	core, logs := observer.New(zap.WarnLevel)
	app := quiet(framework.WithStore(store), framework.WithTaskWorkers(workers), framework.WithLogger(zap.New(core)), framework.WithShutdownGrace(time.Second))
	s := build(t, app.Add(framework.Tool("film", func(ctx context.Context, _ struct{}) (string, error) { return film(ctx) },
		framework.Describe("d"), framework.Task(framework.TaskOptional, opts...))))
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s, logs
}

// digestOf returns the digest that the log has in place of a task's ID.
func digestOf(id string) string {
	sum := sha256.Sum256([]byte(id))
	return fmt.Sprintf("%x", sum[:8])
}

// TestLostWorkersAreLogged checks that a task which kills its workers leaves one log entry for each
// of them. The entry has the task's digest and tool.
func TestLostWorkersAreLogged(t *testing.T) {
	for then, opts := range map[string][]framework.TaskOption{
		"and now it runs again": nil,
		"and now it fails":      {framework.Retry(0)},
	} {
		bubble(t, func(t *testing.T) {
			store := memory.Sized(memory.Bounds{LeaseLife: time.Second})
			film := func(context.Context) (string, error) { return "", nil }
			first, _ := logging(t, store, 0, film, opts...)
			id := dialTasks(t, first).task("film", `{}`)
			if _, err := store.Tasks().(task.Queue).Take(t.Context()); err != nil { // by a worker that dies
				t.Fatal(err)
			}
			_, logs := logging(t, store, 1, film, opts...)
			time.Sleep(time.Minute)
			want := `task ` + digestOf(id) + ` of the tool "film" has lost its worker in run 1, ` + then
			if logs.Len() != 1 || !strings.Contains(fmt.Sprint(logs.All()[0].ContextMap()["error"]), want) {
				t.Errorf("logged %v, want %s", logs.All(), want)
			}
		})
	}
}

// TestLostWorkersOfForeignTasks: a process without the tool records the loss of a worker, and does not say what
// becomes of the task, because it does not know how often that may happen.
func TestLostWorkersOfForeignTasks(t *testing.T) {
	bubble(t, func(t *testing.T) {
		store := memory.Sized(memory.Bounds{LeaseLife: time.Second})
		first, _ := logging(t, store, 0, func(context.Context) (string, error) { return "", nil }, framework.Retry(0))
		id := dialTasks(t, first).task("film", `{}`)
		if _, err := store.Tasks().(task.Queue).Take(t.Context()); err != nil { // by a worker that dies
			t.Fatal(err)
		}
		core, logs := observer.New(zap.WarnLevel)
		other := build(t, quiet(framework.WithStore(store), framework.WithTaskWorkers(1), framework.WithLogger(zap.New(core))))
		if err := other.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		want := `task ` + digestOf(id) + ` of the tool "film" has lost its worker in run 1, and now other processes may run it`
		if logs.Len() != 1 || !strings.Contains(fmt.Sprint(logs.All()[0].ContextMap()["error"]), want) {
			t.Errorf("logged %v, want %s", logs.All(), want)
		}
	})
}

// TestLostTasksAreLogged checks the log after the store has lost its data, for example in a
// failover to an empty replica. An expired task is not logged as lost.
func TestLostTasksAreLogged(t *testing.T) {
	for name, ttl := range map[string]time.Duration{"lost": time.Hour, "expired": 2 * time.Second} {
		bubble(t, func(t *testing.T) {
			store, h := memory.New(), &hooks{}
			s, logs := logging(t, hooked{store, h}, 1, func(ctx context.Context) (string, error) {
				<-ctx.Done()
				return "", context.Cause(ctx)
			}, framework.TTL(ttl))
			id := dialTasks(t, s).task("film", `{}`)
			time.Sleep(time.Second)
			synctest.Wait()
			if name == "lost" {
				var missed atomic.Bool
				h.get = func(context.Context, string) error {
					if missed.Swap(true) { // the queue of this store still has the task
						return nil
					}
					return task.ErrNotFound
				}
			}
			if err := store.Changes().Publish(t.Context(), []byte(`{"engine":"lost","node":"another"}`)); err != nil { // the node then reads its tasks
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
			want := 0
			if name == "lost" {
				want = 1
			}
			if logs.Len() != want || want == 1 && !strings.Contains(fmt.Sprint(logs.All()[0].ContextMap()["error"]), "has lost task "+digestOf(id)+` of the tool "film"`) {
				t.Errorf("%s: logged %v", name, logs.All())
			}
		})
	}
}

// TestLateTasksAreNamed checks that the log names a handler that ignores its context when the
// server stops without waiting for it.
func TestLateTasksAreNamed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, logs := logging(t, memory.New(), 1, func(context.Context) (string, error) {
			time.Sleep(time.Minute)
			return "", nil
		})
		var id string
		err := s.Serve(t.Context(), carrier(func(context.Context, transport.Host) error {
			id = dialTasks(t, s).task("film", `{}`)
			synctest.Wait()
			return nil
		}))
		if err != nil {
			t.Error(err)
		}
		want := "[task " + digestOf(id) + " of film]"
		for _, entry := range logs.All() {
			if calls := fmt.Sprint(entry.ContextMap()["calls"]); calls != want {
				t.Errorf("%s: the calls are %s, want %s", entry.Message, calls, want)
			}
		}
		if logs.Len() != 2 {
			t.Errorf("logged %v", logs.All())
		}
		time.Sleep(time.Hour)
	})
}
