package framework_test

import (
	"bytes"
	"context"
	"fmt"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/store/memory"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/task"
)

// versions holds the processes of two versions of a program. They share a store.
type versions struct {
	t     *testing.T
	store *memory.Store
	runs  atomic.Int32
	peer  *peer // client of a process of the new version that has no workers
}

func newVersions(t *testing.T, film func(ctx context.Context) (string, error), opts ...framework.TaskOption) (v *versions, tool framework.Component) {
	t.Helper()
	v = &versions{t: t, store: memory.New()}
	tool = framework.Tool("film", func(ctx context.Context, _ struct{}) (string, error) { v.runs.Add(1); return film(ctx) },
		framework.Describe("d"), framework.Task(framework.TaskOptional, opts...))
	v.peer = dialTasks(t, v.start(0, tool))
	return v, tool
}

// start starts a process. Its version of the program may lack the tool. A process with a free
// worker always waits for tasks, so the processes take a task in turn.
func (v *versions) start(workers int, tools ...framework.Component) *framework.Server {
	v.t.Helper()
	s := build(v.t, quiet(framework.WithStore(v.store), framework.WithTaskWorkers(workers)).Add(tools...))
	if err := s.Start(v.t.Context()); err != nil {
		v.t.Fatal(err)
	}
	return s
}

// dies takes the task like a worker that then dies.
func (v *versions) dies() {
	v.t.Helper()
	queue, ok := reflect.TypeAssert[task.Queue](reflect.ValueOf(v.store.Tasks()))
	if !ok {
		v.t.Fatal("the store has no queue")
	}
	if _, err := queue.Take(v.t.Context()); err != nil {
		v.t.Fatal(err)
	}
}

func (v *versions) shows(id, status string) {
	v.t.Helper()
	if got := v.peer.get(id); got.Status != status {
		v.t.Errorf("it is %s after %d runs, want %s: %+v", got.Status, v.runs.Load(), status, got.Error)
	}
}

func ready(context.Context) (string, error) { return "done", nil }

// TestTaskOfAnotherVersion checks that a process leaves a task to others if it does not have the
// task's tool. If no other process has run the task for five minutes, it fails the task, however
// old the record is.
func TestTaskOfAnotherVersion(t *testing.T) {
	t.Run("no worker was free before", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			v, _ := newVersions(t, ready)
			id := v.peer.task("film", `{}`)
			time.Sleep(6 * time.Minute)
			v.start(2)
			time.Sleep(4 * time.Minute)
			v.shows(id, "working")
			time.Sleep(2 * time.Minute)
			v.shows(id, "failed")
		})
	})
	t.Run("the tool is added late", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			v, tool := newVersions(t, ready)
			id := v.peer.task("film", `{}`)
			time.Sleep(6 * time.Minute)
			s := v.start(2)
			time.Sleep(time.Second)
			if err := s.Add(tool); err != nil {
				t.Fatal(err)
			}
			time.Sleep(5 * time.Second)
			v.shows(id, "completed")
		})
	})
	t.Run("it was handed over", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			v, tool := newVersions(t, func(ctx context.Context) (string, error) {
				select {
				case <-ctx.Done():
					return "", context.Cause(ctx)
				case <-time.After(10 * time.Minute):
					return "done", nil
				}
			})
			first := v.start(2, tool)
			id := v.peer.task("film", `{}`)
			time.Sleep(7 * time.Minute)
			v.start(2)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_ = first.Shutdown(ctx) // the error reports that a handler was cancelled
			time.Sleep(time.Minute)
			v.shows(id, "working")
			v.start(2, tool)
			time.Sleep(11 * time.Minute)
			v.shows(id, "completed")
		})
	})
	t.Run("it is refused for long", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			began := time.Now()
			v, tool := newVersions(t, func(context.Context) (string, error) {
				if time.Since(began) < 20*time.Minute {
					return "", protocol.TooMany(time.Second, "busy")
				}
				return "done", nil
			})
			v.start(2)
			v.start(2, tool)
			id := v.peer.task("film", `{}`)
			time.Sleep(21 * time.Minute)
			v.shows(id, "completed")
		})
	})
}

// TestTaskOfADeadWorkerAtAnotherVersion checks a process that does not have the tool of a task. It
// must not keep the task from processes that have the tool, or hide from them that a worker has
// died.
func TestTaskOfADeadWorkerAtAnotherVersion(t *testing.T) {
	for status, opts := range map[string][]framework.TaskOption{"completed": nil, "failed": {framework.Retry(0)}} {
		bubble(t, func(t *testing.T) {
			v, tool := newVersions(t, ready, opts...)
			id := v.peer.task("film", `{}`)
			v.dies()
			v.start(2)
			time.Sleep(45 * time.Second) // the lease of the dead worker has expired
			v.start(2, tool)
			time.Sleep(5 * time.Second)
			v.shows(id, status)
		})
	}
}

// newerTasks is a store with a task. A newer version of the program has written a part of it.
type newerTasks struct {
	task.Store
	task.Queue
	spoil func(r *task.Record)
}

func (s newerTasks) Get(ctx context.Context, id string) (task.Record, error) {
	r, err := s.Store.Get(ctx, id)
	if err == nil && !r.Terminal() {
		r = r.Clone()
		s.spoil(&r)
	}
	return r, err
}

type newerStore struct {
	*memory.Store
	spoil func(r *task.Record)
}

func (s newerStore) Tasks() task.Store {
	t := s.Store.Tasks()
	return newerTasks{t, t.(task.Queue), s.spoil}
}

// TestTaskOfANewerVersion checks that a process leaves a task that it cannot read to newer
// processes, until the task expires. It reports the task once.
func TestTaskOfANewerVersion(t *testing.T) {
	replaced := func(text []byte, old, by string) []byte { return bytes.Replace(text, []byte(old), []byte(by), 1) }
	for part, spoil := range map[string]func(r *task.Record){
		"journal":    func(r *task.Record) { r.Journal[0]++ },
		"revision":   func(r *task.Record) { r.Call = replaced(r.Call, "2026-07-28", "2036-07-28") },
		"call":       func(r *task.Record) { r.Call = replaced(r.Call, `"tools/call"`, `{"form":2}`) },
		"parameters": func(r *task.Record) { r.Call = replaced(r.Call, `"film"`, `{"form":2}`) },
	} {
		t.Run(part, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				v, tool := newVersions(t, ready)
				id := v.peer.task("film", `{}`)
				entries, logs := observer.New(zapcore.ErrorLevel)
				older := build(t, framework.New("test", "1.0.0", framework.WithLogger(zap.New(entries)),
					framework.WithStore(newerStore{v.store, spoil})).Add(tool))
				if err := older.Start(t.Context()); err != nil {
					t.Fatal(err)
				}
				time.Sleep(20 * time.Minute)
				v.shows(id, "working")
				if text := fmt.Sprint(logs.All()); logs.Len() != 1 || !strings.Contains(text, "is skipped until it expires") {
					t.Errorf("the log has %s", text)
				}
				v.start(2, tool)
				time.Sleep(10 * time.Second)
				synctest.Wait()
				v.shows(id, "completed")
			})
		})
	}
}
