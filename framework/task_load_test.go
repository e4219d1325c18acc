package framework_test

import (
	"context"
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/store/memory"
	"github.com/kagami-mcp/kagami/protocol/task"
)

// TestTasksThatWaitCostLittle: no goroutine each, and less than 3 KB.
func TestTasksThatWaitCostLittle(t *testing.T) {
	const tasks = 2000
	s := build(t, quiet().Add(framework.Tool("ask", func(ctx context.Context, _ struct{}) (string, error) {
		answer, err := framework.Elicit[name](ctx, "Who?")
		return answer.Name, err
	}, framework.Describe("d"), framework.Task(framework.TaskOptional))))
	p := dialTasks(t, s)
	p.task("ask", `{}`)
	goroutines, before := runtime.NumGoroutine(), heap()
	var last string
	for range tasks {
		last = p.task("ask", `{}`)
	}
	for deadline := time.Now().Add(2 * time.Minute); p.get(last).Status != "input_required" || runtime.NumGoroutine() > goroutines; {
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines for %d waiting tasks, the last is %s", runtime.NumGoroutine(), tasks, p.get(last).Status)
		}
		runtime.Gosched()
	}
	clear(p.answers)
	each := (int64(heap()) - int64(before)) / tasks
	t.Logf("%d bytes each, %d goroutines more", each, runtime.NumGoroutine()-goroutines)
	if each > 3<<10 && !raceEnabled {
		t.Errorf("a waiting task takes %d bytes", each)
	}
}

// TestTasksThatAreOverCostOne: a stream that names many tasks with large results, each many
// times, tells of each once, and holds one of them at a time.
func TestTasksThatAreOverCostOne(t *testing.T) {
	const tasks, size = 16, 256 << 10
	s := build(t, quiet().Add(framework.Tool("large", func(context.Context, struct{}) (string, error) {
		return strings.Repeat("x", size), nil
	}, framework.Describe("d"), framework.Task(framework.TaskOptional))))
	p := dialTasks(t, s)
	ids := make([]string, tasks)
	for i := range ids {
		ids[i] = strconv.Quote(p.task("large", `{}`))
		for p.get(strings.Trim(ids[i], `"`)).Status != "completed" {
			runtime.Gosched()
		}
	}
	clear(p.answers)
	told := make(chan string)
	before := heap()
	p.watch(told)
	over := make(chan struct{})
	go func() {
		defer close(over)
		p.frame(`{"jsonrpc":"2.0","id":"l","method":"subscriptions/listen","params":` +
			p.params("subscriptions/listen", `{"notifications":{"taskIds":[`+strings.Join(slices.Repeat(ids, 64), ",")+`]}}`) + `}`)
	}()
	<-told // the acknowledgement; now it waits until a worker takes the first task
	if more := int64(heap()) - int64(before); more > tasks*size/2 && !raceEnabled {
		t.Errorf("it holds %d KiB", more>>10)
	}
	for range tasks {
		if method := <-told; method != "notifications/tasks" {
			t.Errorf("told of %s", method)
		}
	}
	p.watch(nil)
	p.frame(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"l"}}`)
	<-over
	if n := len(p.notifications("notifications/tasks")); n != tasks {
		t.Errorf("%d are told of", n)
	}
}

// TestTaskListsReadFew: a page of tasks is read in parts, because each brings its result,
// and has the next one where there is more, and only there.
func TestTaskListsReadFew(t *testing.T) {
	t.Parallel()
	for tasks, want := range map[int]int{9: 1, 10: 1, 100: 1, 101: 2, 201: 3} {
		store := listing{memory.New(), new(atomic.Int64)}
		p := dial(t, build(t, jobApp().UseStore(store)), core)
		for range tasks {
			p.start("job", `{}`, `{}`)
		}
		if ids, pages := p.pages(); len(ids) != tasks || pages != want || len(slices.Compact(slices.Sorted(slices.Values(ids)))) != tasks {
			t.Errorf("of %d tasks %d are on %d pages", tasks, len(ids), pages)
		}
		if n := store.most.Load(); n > 10 {
			t.Errorf("%d records were read at once", n)
		}
	}
}

// listing counts the records that it hands out at once.
type listing struct {
	*memory.Store
	most *atomic.Int64
}

func (s listing) Tasks() task.Store { return listingTasks{s.Store.Tasks(), s.most} }

type listingTasks struct {
	task.Store
	most *atomic.Int64
}

func (s listingTasks) List(ctx context.Context, owner, after string, limit int) ([]task.Record, error) {
	records, err := s.Store.List(ctx, owner, after, limit)
	s.most.Store(max(s.most.Load(), int64(len(records))))
	return records, err
}

// heap is what is in use. Garbage that is not collected yet, and pools, only add to it:
// the least of a few looks counts.
func heap() uint64 {
	least := uint64(math.MaxUint64)
	for range 5 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		least = min(least, m.HeapAlloc)
	}
	return least
}

// TestTaskAnswersRace: of answers and a cancellation at the same time each question
// gets one answer at most, and the handler runs again once or not at all.
func TestTaskAnswersRace(t *testing.T) {
	t.Parallel()
	var runs atomic.Int32
	s := build(t, quiet().Add(framework.Tool("ask", func(ctx context.Context, _ struct{}) (string, error) {
		runs.Add(1)
		answer, err := framework.Elicit[name](ctx, "Who?")
		return answer.Name, err
	}, framework.Describe("d"), framework.Task(framework.TaskOptional))))
	p := dialTasks(t, s)
	for range 200 {
		id := p.task("ask", `{}`)
		for p.get(id).Status != "input_required" {
			runtime.Gosched()
		}
		runs.Store(0)
		var racing sync.WaitGroup
		for range 3 {
			racing.Go(func() { dialTasks(t, s).answer(id, `{"q1":`+accepted+`}`).ok() })
		}
		racing.Go(func() { dialTasks(t, s).byID("tasks/cancel", id).ok() })
		racing.Wait()
		for status := p.get(id).Status; status == "working"; status = p.get(id).Status {
			runtime.Gosched()
		}
		if status := p.get(id).Status; status == "input_required" || runs.Load() > 1 || status == "completed" && runs.Load() != 1 {
			t.Fatalf("it is %s after %d runs", status, runs.Load())
		}
	}
}
