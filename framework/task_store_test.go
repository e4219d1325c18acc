package framework_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/store/memory"
	"github.com/kagami-mcp/kagami/framework/testhook"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/task"
)

// spoilt is a store in which some tasks cannot be read.
type spoilt struct {
	*memory.Store
	bad *sync.Map // ids
}

type spoiltTasks struct {
	task.Store
	task.Queue
	bad *sync.Map
}

func (s spoilt) Tasks() task.Store {
	t := s.Store.Tasks()
	return spoiltTasks{t, t.(task.Queue), s.bad}
}

func (s spoiltTasks) Get(ctx context.Context, id string) (task.Record, error) {
	if _, bad := s.bad.Load(id); bad {
		return task.Record{}, fmt.Errorf("a test: %w: newer", task.ErrUnreadable)
	}
	return s.Store.Get(ctx, id)
}

func (s spoiltTasks) List(ctx context.Context, owner, after string, limit int) ([]task.Record, error) {
	records, err := s.Store.List(ctx, owner, after, limit)
	for i, r := range records {
		if _, bad := s.bad.Load(r.ID); bad {
			records[i] = task.Record{ID: r.ID, Owner: r.Owner}
		}
	}
	return records, err
}

// TestTasksThatCannotBeRead: they hide none of the others, on whatever page they are, keep
// no worker from the others, and are in the log once, each with a digest of its id and the reason.
func TestTasksThatCannotBeRead(t *testing.T) {
	bubble(t, func(t *testing.T) {
		entries, logs := observer.New(zapcore.ErrorLevel)
		store := spoilt{memory.New(), new(sync.Map)}
		gate := make(chan struct{})
		app := framework.New("test", "1.0.0", framework.WithLogger(zap.New(entries)), framework.WithStore(store), framework.WithTaskWorkers(1), framework.WithPageSize(50))
		app.Add(framework.Tool("job", func(context.Context, struct{}) (string, error) { <-gate; return "done", nil },
			framework.Describe("d"), framework.Task(framework.TaskOptional)))
		s := build(t, app)
		p := dial(t, s, core)
		var good, bad []string
		for i := range 70 {
			id := p.start("job", `{}`, `{}`).TaskID
			if i == 1 || i == 9 || i == 10 || i == 50 || i == 51 || i == 69 {
				store.bad.Store(id, true)
				bad = append(bad, id)
			} else {
				good = append(good, id)
			}
		}
		for range 3 {
			if ids, pages := p.pages(); !slices.Equal(ids, good) || pages != 2 {
				t.Errorf("%d tasks on %d pages, want %d", len(ids), pages, len(good))
			}
		}
		close(gate)
		if err := s.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		for _, id := range good {
			if got := p.get(id); got.Status != "completed" {
				t.Errorf("%+v", got)
			}
		}
		if n := logs.Len(); n != len(bad) {
			t.Errorf("%d entries for %d tasks: %v", n, len(bad), logs.All())
		}
		for i, id := range bad {
			text := fmt.Sprint(logs.All()[i].ContextMap()["error"])
			if sum := sha256.Sum256([]byte(id)); strings.Contains(text, id) || !strings.Contains(text, hex.EncodeToString(sum[:8])) || !strings.Contains(text, "newer") || !strings.Contains(text, fmt.Sprint("(", i+1, " such")) {
				t.Errorf("entry %d: %s", i, text)
			}
		}
	})
}

// errFull is the error of a full store.
var errFull = fmt.Errorf("%w (%w)", memory.ErrFull, task.ErrFull)

// TestTasksOfAFullStore: a worker with an outcome that the store has no room for asks it seldom, says so in
// the log, and has brought it soon after there is room.
func TestTasksOfAFullStore(t *testing.T) {
	for status, film := range map[string]func() (string, error){
		"completed": func() (string, error) { return "done", nil },
		"failed":    func() (string, error) { return "", &protocol.Error{Code: -32042, Message: "as it is"} },
	} {
		t.Run(status, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				entries, logs := observer.New(zapcore.ErrorLevel)
				var tries, runs atomic.Int32
				var room atomic.Bool
				h := &hooks{update: func() error {
					if tries.Add(1); room.Load() {
						return nil
					}
					return errFull
				}}
				app := framework.New("test", "1.0.0", framework.WithLogger(zap.New(entries)), framework.WithStore(hooked{memory.New(), h}))
				app.Add(framework.Tool("film", func(context.Context, struct{}) (string, error) { runs.Add(1); return film() },
					framework.Describe("d"), framework.Task(framework.TaskOptional)))
				p := dialTasks(t, build(t, app))
				id := p.task("film", `{}`)
				time.Sleep(10 * time.Minute)
				if n := tries.Load(); n < 30 || n > 90 {
					t.Errorf("the store was asked %d times in ten minutes", n)
				}
				if n := logs.Len(); n != 1 || !strings.Contains(fmt.Sprint(logs.All()[0].ContextMap()["error"]), "no space") {
					t.Errorf("the log has %v", logs.All())
				}
				room.Store(true)
				time.Sleep(10 * time.Second)
				if got := p.get(id); got.Status != status || runs.Load() != 1 {
					t.Errorf("%+v after %d runs", got, runs.Load())
				}
			})
		})
	}
}

// TestTasksOfAFullStoreAtShutdown: a result that waits for room does not delay Shutdown, and another node
// brings it.
func TestTasksOfAFullStoreAtShutdown(t *testing.T) {
	bubble(t, func(t *testing.T) {
		store, film := memory.New(), func(context.Context) (string, error) { return "done", nil }
		s := filmed(t, store, &hooks{update: func() error { return errFull }}, film)
		id := dialTasks(t, s).task("film", `{}`)
		time.Sleep(5 * time.Second)
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_ = s.Shutdown(ctx) // it says that a task was cancelled
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("Shutdown took %v", took)
		}
		p := dialTasks(t, filmed(t, store, &hooks{}, film))
		synctest.Wait()
		if got := p.get(id); got.Status != "completed" {
			t.Errorf("%+v", got)
		}
	})
}

// TestTasksWithoutRoomFail: a task without room for its question, or for its effects before another run,
// fails after one run.
func TestTasksWithoutRoomFail(t *testing.T) {
	for what, film := range map[string]func(ctx context.Context) (string, error){
		"a question": func(ctx context.Context) (string, error) {
			who, err := framework.Elicit[name](ctx, "Who?")
			return who.Name, err
		},
		"another run": func(context.Context) (string, error) { return "", errors.New("try again") },
	} {
		t.Run(what, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				var runs atomic.Int32
				began := time.Now()
				h := &hooks{update: func() error {
					if time.Since(began) > 20*time.Second {
						return nil
					}
					return errFull
				}}
				p := dialTasks(t, build(t, quiet(framework.WithStore(hooked{memory.New(), h})).Add(
					framework.Tool("film", func(ctx context.Context, _ struct{}) (string, error) { runs.Add(1); return film(ctx) },
						framework.Describe("d"), framework.Task(framework.TaskOptional, framework.Retry(1))))))
				id := p.task("film", `{}`)
				time.Sleep(time.Minute)
				if got := p.get(id); got.Status != "failed" || runs.Load() != 1 {
					t.Errorf("%s after %d runs", got.Status, runs.Load())
				}
			})
		})
	}
}

// walled keeps tasks by the wall clock, which is not the memory's: ten times as long as
// anybody asks for them.
type walled struct{ *memory.Store }

type walledTasks struct {
	task.Store
	task.Queue
}

func (s walled) Tasks() task.Store {
	t := s.Store.Tasks()
	return walledTasks{t, t.(task.Queue)}
}

func (s walledTasks) Create(ctx context.Context, r task.Record) error {
	r.TTL *= 10
	return s.Store.Create(ctx, r)
}

func (s walledTasks) Get(ctx context.Context, id string) (task.Record, error) {
	r, err := s.Store.Get(ctx, id)
	r.TTL /= 10
	return r, err
}

func (s walledTasks) Update(ctx context.Context, r task.Record) error {
	r.TTL *= 10
	return s.Store.Update(ctx, r)
}

// TestTasksClockJumpsBack: a task lives until the clock shows its end. A handler that runs
// meanwhile is not stopped before, nor run again.
func TestTasksClockJumpsBack(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var back atomic.Int64
		var runs atomic.Int32
		entries, logs := observer.New(zapcore.ErrorLevel)
		app := framework.New("test", "1.0.0", framework.WithLogger(zap.New(entries)), framework.WithStore(walled{memory.New()}))
		type filmIn struct {
			Minutes int `json:"minutes"`
		}
		app.Add(framework.Tool("film", func(ctx context.Context, in filmIn) (string, error) {
			runs.Add(1)
			select {
			case <-ctx.Done():
				return "", context.Cause(ctx)
			case <-time.After(time.Duration(in.Minutes) * time.Minute):
				return "done", nil
			}
		}, framework.Describe("d"), framework.Task(framework.TaskOptional, framework.TTL(time.Hour))))
		s, err := app.BuildForTest(&testhook.Hooks{Now: func() time.Time { return time.Now().Add(-time.Duration(back.Load())) }})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Shutdown(context.Background()) })
		p := dialTasks(t, s)
		done, late := p.task("film", `{"minutes":90}`), p.task("film", `{"minutes":1000}`)
		time.Sleep(30 * time.Minute)
		back.Store(int64(time.Hour))
		time.Sleep(65 * time.Minute)
		if got := p.get(done); got.Status != "completed" {
			t.Errorf("after 95 minutes: %+v", got)
		}
		if got := p.get(late); got.Status != "working" {
			t.Errorf("after 95 minutes: %+v", got)
		}
		time.Sleep(30 * time.Minute)
		p.byID("tasks/get", late).code(-32602)
		if n := runs.Load(); n != 2 || logs.Len() != 0 {
			t.Errorf("two tasks ran %d times, the log has %v", n, logs.All())
		}
	})
}

// TestTasksProgressGoesOn: what was reported before a task asked is not reported again by
// the run after it (2025-11-25 basic/utilities/progress: it MUST increase).
func TestTasksProgressGoesOn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		app := framework.New("test", "1.0.0", framework.WithLogger(zap.NewNop()), framework.WithStore(memory.New()))
		app.Add(framework.Tool("film", func(ctx context.Context, _ struct{}) (string, error) {
			for i := range 3 {
				framework.Progress(ctx, float64(i+1), 4, "")
				if _, err := framework.Once(ctx, fmt.Sprint("shot", i), func(context.Context) (int, error) { return i, nil }); err != nil {
					return "", err
				}
			}
			if _, err := framework.Elicit[name](ctx, "Who?"); err != nil {
				return "", err
			}
			framework.Progress(ctx, 4, 4, "")
			return "done", nil
		}, framework.Describe("d"), framework.Task(framework.TaskOptional)))
		p := dial(t, build(t, app), core, withMeta("progressToken", `"tok"`), withCaps(canElicit),
			answering(func(string, json.RawMessage) string { return `"result":` + accepted }))
		id := p.start("film", `{}`, `{}`).TaskID
		p.byID("tasks/result", id).mentions("done")
		synctest.Wait()
		var told []string
		for _, n := range p.notifications("notifications/progress") {
			told = append(told, regexp.MustCompile(`"progress":(\d)`).FindStringSubmatch(string(n))[1])
		}
		if got := strings.Join(told, " "); got != "1 2 3 4" {
			t.Errorf("told %s", got)
		}
	})
}

// TestTasksLeaveRoomForOthers: a caller with large tasks that wait cannot create more of them, and
// other callers can. A running task with more to keep than there is space still ends.
func TestTasksLeaveRoomForOthers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		begin, gate, effects := make(chan struct{}), make(chan struct{}), new(atomic.Int32)
		app := quiet(framework.WithStore(memory.Sized(memory.Bounds{TaskBytes: 128 << 10})), framework.WithTaskWorkers(2))
		app.Add(
			framework.Tool("job", func(_ context.Context, _ struct{ Text string }) (string, error) { <-gate; return "done", nil },
				framework.Describe("d"), framework.Task(framework.TaskOptional)),
			framework.Tool("keep", func(ctx context.Context, _ struct{}) (string, error) {
				<-begin
				return framework.Once(ctx, "it", func(context.Context) (string, error) { effects.Add(1); return strings.Repeat("x", 50_000), nil })
			}, framework.Describe("d"), framework.Task(framework.TaskOptional)))
		s := build(t, app)
		loud, other := dial(t, s, core), dial(t, s, core)
		large := fmt.Sprintf(`{"name":"job","arguments":{"Text":%q},"task":{}}`, strings.Repeat("x", 10_000))
		loud.call("tools/call", large).ok() // has one of the workers
		keeper := loud.start("keep", `{}`, `{}`).TaskID
		var last reply
		made := 0
		for ; made < 100 && last.Error == nil; made++ {
			last = loud.call("tools/call", large)
		}
		if last.code(-32603).mentions("no space", "try again"); made < 4 {
			t.Errorf("after %d tasks", made)
		}
		other.call("tools/call", large).ok()
		close(begin)
		time.Sleep(time.Minute)
		if got := loud.get(keeper).Status; got != "completed" || effects.Load() != 1 {
			t.Errorf("it is %s, after %d effects", got, effects.Load())
		}
		close(gate)
		synctest.Wait()
		loud.call("tools/call", large).ok()
	})
}

// unqueued is a store without a queue: a task runs in the process that took the call.
type unqueued struct{ hooked }

func (s unqueued) Tasks() task.Store { return struct{ task.Store }{s.hooked.Tasks()} }

// TestTaskWithoutQueueWaitsForTheStore: a task that cannot be read when it begins runs when the store is back.
func TestTaskWithoutQueueWaitsForTheStore(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var away atomic.Bool
		h := &hooks{get: func(context.Context, string) error {
			if away.Load() {
				return errors.New("away")
			}
			return nil
		}}
		p := dialTasks(t, build(t, quiet(framework.WithStore(unqueued{hooked{memory.New(), h}})).Add(
			framework.Tool("film", func(context.Context, struct{}) (string, error) { return "done", nil },
				framework.Describe("d"), framework.Task(framework.TaskOptional)))))
		away.Store(true)
		id := p.task("film", `{}`)
		time.Sleep(5 * time.Second)
		away.Store(false)
		time.Sleep(time.Minute)
		if got := p.get(id); got.Status != "completed" {
			t.Errorf("%+v", got)
		}
	})
}
