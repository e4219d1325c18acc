package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/task"
)

// Numbers of workers at each of the two nodes, and of tasks for all workers.
const (
	workers = 6
	jobs    = 150
)

// work runs workers that take tasks and call do, until do has returned true enough times.
func work(t testing.TB, a, b line, enough int, do func(l line, lease task.Lease) (done bool)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*late)
	defer cancel()
	var (
		all  sync.WaitGroup
		done atomic.Int64
	)
	for i := range 2 * workers {
		l := a
		if i%2 == 1 {
			l = b
		}
		all.Go(func() {
			l.each(ctx, func(lease task.Lease) {
				if do(l, lease) && done.Add(1) == int64(enough) {
					cancel()
				}
			})
		})
	}
	all.Wait()
	if n := done.Load(); n < int64(enough) {
		t.Errorf("%d of %d are done", n, enough)
	}
}

// each takes tasks and calls do with their leases, until ctx ends.
func (l line) each(ctx context.Context, do func(lease task.Lease)) {
	l.t.Helper()
	for {
		lease, err := l.await(ctx)
		if err != nil {
			if ctx.Err() == nil {
				l.t.Errorf("Take: %v", err)
			}
			return
		}
		do(lease)
	}
}

// queueRace: each task is given to exactly one waiting Take.
func queueRace(t *testing.T, a, b line) {
	var (
		creators sync.WaitGroup
		takes    sync.Map // taken tasks by ID
	)
	for i, l := range []line{a, b} {
		creators.Go(func() {
			for n := range jobs {
				l.fill("x", fmt.Sprint(i, " made ", n))
			}
		})
	}
	work(t, a, b, 2*jobs, func(l line, lease task.Lease) bool {
		if _, before := takes.LoadOrStore(lease.Task, true); before || lease.Again {
			t.Errorf("Take: %s, again %v; it was taken before: %v", lease.Task, lease.Again, before)
			return false
		}
		l.renew(lease)
		l.finish(lease)
		return true
	})
	creators.Wait()
	a.wantCount("x", 0)
	a.nothing()
	b.nothing()
}

// queueReleaseRace: at any time, only one worker has a task.
func queueReleaseRace(t *testing.T, a, b line) {
	const few, each = 5, 20
	var held, turns [few]atomic.Int64
	for i := range few {
		a.fill("x", fmt.Sprint(i))
	}
	work(t, a, b, few, func(l line, lease task.Lease) bool {
		var i int
		if _, err := fmt.Sscan(lease.Task, &i); err != nil || i >= few || lease.Again {
			t.Errorf("Take: %q, again %v", lease.Task, lease.Again)
			return false
		}
		if n := held[i].Add(1); n != 1 {
			t.Errorf("%d have task %d", n, i)
		}
		done := turns[i].Add(1) == each
		if done {
			l.turn(lease.Task, protocol.TaskCompleted)
		}
		held[i].Add(-1)
		l.release(lease)
		return done
	})
	a.nothing()
}

// queueEndRace: a Take that stops waiting takes no task.
func queueEndRace(t *testing.T, a, b line) {
	var (
		all   sync.WaitGroup
		mu    sync.Mutex // guards taken
		taken = map[string]int{}
		over  = make(chan struct{})
	)
	take := func(l line, within time.Duration) bool {
		ctx, cancel := context.WithTimeout(t.Context(), within)
		defer cancel()
		lease, err := l.await(ctx)
		if err != nil {
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Take: %v", err)
			}
			return false
		}
		mu.Lock()
		taken[lease.Task]++
		mu.Unlock()
		l.finish(lease)
		return true
	}
	for i := range 2 * workers {
		l := []line{a, b}[i%2]
		all.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-over:
					return
				default:
					take(l, time.Duration(1+(n*7+i)%20)*100*time.Microsecond)
				}
			}
		})
	}
	for i := range jobs {
		a.fill("x", fmt.Sprint(i))
		time.Sleep(100 * time.Microsecond)
	}
	close(over)
	all.Wait()
	for a.count("x") > 0 {
		if !take(b, late) {
			t.Fatalf("of %d tasks %d are gone", jobs, a.count("x"))
		}
	}
	for id, n := range taken {
		if n != 1 {
			t.Errorf("%s was taken %d times", id, n)
		}
	}
	a.nothing()
}

// queueCancelRace: after a cancellation has returned, no worker gets the task.
func queueCancelRace(_ *testing.T, a, b line) {
	var (
		cancelled sync.Map // by ID, set after the cancellation
		all       sync.WaitGroup
	)
	for i := range jobs {
		a.fill("x", fmt.Sprint(i))
	}
	for _, l := range []line{a, b} {
		all.Go(func() {
			for i := range jobs {
				id := fmt.Sprint(jobs - 1 - i)
				if l.until(id, task.Event{Kind: task.Cancel}) == protocol.TaskCancelled {
					cancelled.Store(id, true)
				}
			}
		})
	}
	for range 4 {
		all.Go(func() {
			for b.takesNone(&cancelled) {
			}
		})
	}
	all.Wait()
	a.wantCount("x", 0)
	a.nothing()
}

// takesNone takes a task and checks that it was not cancelled before the call. If there is no task,
// it returns false.
func (l line) takesNone(cancelled *sync.Map) bool {
	l.t.Helper()
	before := map[any]bool{}
	cancelled.Range(func(id, _ any) bool {
		before[id] = true
		return true
	})
	lease, ok := l.tryTake(briefly)
	if !ok {
		return false
	}
	if before[lease.Task] {
		l.t.Errorf("Take: %s, which was cancelled", lease.Task)
	}
	l.until(lease.Task, task.Event{Kind: task.Complete, Result: []byte("{}")})
	l.release(lease)
	return true
}
