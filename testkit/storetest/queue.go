package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/task"
)

// QueueStore is a store of tasks that is also a queue. [Queue] tests it.
type QueueStore interface {
	task.Store
	task.Queue
}

// Queue runs the suite for a QueueStore, in parallel, by the real clock. open returns an empty
// store with the given lifetime of leases each time, and registers its cleanup with t.Cleanup. a
// and b are two nodes that share the store; they may be the same value.
//
// The lifetime is an hour if no lease may expire in the test. Otherwise it is between some tenths
// of a second and some seconds. A store must notice within 30 more seconds that a lease has
// expired.
func Queue(t *testing.T, open func(t testing.TB, life time.Duration) (a, b QueueStore)) {
	t.Helper()
	tests := []struct {
		name, rule string
		run        func(t *testing.T, a, b line)
	}{
		{"Take", "A task that is created as working is queued, and Take gives it to one worker, with a token of its own.", queueTake},
		{"CreateOfWhatDoesNotWork", "A task that is not working is not queued.", queueIdle},
		{"CreateOfWhatExists", "A Create that fails queues nothing, and ends no lease.", queueExists},
		{"Answered", "An Update that turns a task to working queues it in the same step.", queueAnswered},
		{"Conflict", "An Update that is refused changes nothing in the queue.", queueConflict},
		{"Progress", "A working task is queued once, or leased, whatever else changes.", queueProgress},
		{"InOrder", "Tasks that have waited longest come first, approximately.", queueOrder},
		{"EndedInLine", "A task that is no longer working is not handed out.", queueEnded},
		{"ExpiredInLine", "A task that expires in the queue is not handed out, and does not hold up those behind it.", queueExpired},
		{"CreatedAnew", "A task has nothing to do with another one that had its id.", queueAnew},
		{"TakeWaits", "Take waits for a task: a new one, one that is working again, or one that is released.", queueWaits},
		{"ManyWait", "Each waiting Take gets one task when there are enough, and one that stops waiting costs no other its task.", queueManyWait},
		{"TakeEnds", "Take ends with its context, at once.", queueTakeEnds},
		{"Renew", "Its holder can renew a lease.", queueRenew},
		{"RenewOfWhatEnded", "Renewing the lease of a task that is no longer working is ErrLost.", queueRenewEnded},
		{"NoLease", "A lease that the queue never gave is lost.", queueNoLease},
		{"Release", "A task that is released while it is working is queued at once, as if no worker had taken it.", queueRelease},
		{"ReleaseOfWhatEnded", "The queue forgets a task that is released when it is no longer working.", queueReleaseEnded},
		{"ReleasedTwice", "A lease that is released is lost, and releasing it again does nothing.", queueReleaseTwice},
		{"AnsweredBeforeRelease", "A task that is working again before its worker has released it is queued once, and the old lease is lost.", queueAnsweredFirst},
		{"AskedAgain", "A task is queued once after any number of turns before a release.", queueAskedAgain},
		{"RaceOfTakes", "Each task is given to exactly one of all who wait.", queueRace},
		{"RaceOfReleases", "At any time a task belongs to one worker.", queueReleaseRace},
		{"RaceOfTakesThatEnd", "A Take that stops waiting takes no task with it.", queueEndRace},
		{"RaceOfCancellations", "After a cancellation no worker is given the task.", queueCancelRace},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			told(t, tt.rule)
			a, b := open(t, long)
			tt.run(t, lineOf(t, a, long), lineOf(t, b, long))
		})
	}
	for _, tt := range lapses() {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			told(t, tt.rule)
			lapse(t, open, tt.try)
		})
	}
}

// line is a store that fails the test if an operation returns an error that the interfaces do not
// allow. Its methods may be called in any goroutine, except the methods that end the test.
type line struct {
	tasks
	queue task.Queue
	life  time.Duration
}

func lineOf(t testing.TB, s QueueStore, life time.Duration) line {
	return line{tasks{t, s, &clock{}, time.Now}, s, life}
}

// briefly is how long a test waits for an event that must not happen.
const briefly = 50 * time.Millisecond

// tryTake takes a task within the time. It returns false if there is none.
func (l line) tryTake(within time.Duration) (task.Lease, bool) {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(l.t.Context(), within)
	defer cancel()
	lease, err := l.await(ctx)
	switch {
	case err == nil:
		l.check(lease)
	case ctx.Err() == nil || !errors.Is(err, ctx.Err()):
		l.t.Errorf("Take: %v, want the error of its context", err)
	}
	return lease, err == nil
}

// await calls Take with heeded, so that a Take that ignores ctx does not block the test.
func (l line) await(ctx context.Context) (task.Lease, error) {
	l.t.Helper()
	return heeded(ctx, l.t, "Take", func() (task.Lease, error) { return l.queue.Take(ctx) })
}

func (l line) check(lease task.Lease) {
	l.t.Helper()
	if lease.Task == "" || lease.Token == "" || lease.Life != l.life {
		l.t.Errorf("Take: a lease of %v of %s, token %s; the life was to be %v", lease.Life, brief(lease.Task), brief(lease.Token), l.life)
	}
}

// take takes a task. If there is none, it ends the test.
func (l line) take() task.Lease {
	l.t.Helper()
	lease, ok := l.tryTake(late)
	if !ok {
		l.t.Fatalf("Take: nothing within %v", late)
	}
	return lease
}

// first takes a task. Its lease must not have Again set.
func (l line) first(id string) task.Lease {
	l.t.Helper()
	lease := l.take()
	if lease.Task != id || lease.Again {
		l.t.Errorf("Take: %s, again %v; want %s for the first time", brief(lease.Task), lease.Again, brief(id))
	}
	return lease
}

// nothing checks that the queue is empty. It adds a task, which must then come first.
func (l line) nothing() {
	l.t.Helper()
	if lease, ok := l.tryTake(briefly); ok {
		l.t.Errorf("Take: %s, again %v; want nothing", brief(lease.Task), lease.Again)
		return
	}
	l.fill("x", "sentinel")
	l.finish(l.first("sentinel"))
	l.remove("sentinel")
}

func (l line) renew(lease task.Lease) {
	l.t.Helper()
	if err := l.queue.Renew(l.t.Context(), lease); err != nil {
		l.t.Errorf("Renew(%s): %v", brief(lease.Task), err)
	}
}

// lost checks that the lease cannot be renewed.
func (l line) lost(lease task.Lease) {
	l.t.Helper()
	if err := l.queue.Renew(l.t.Context(), lease); !errors.Is(err, task.ErrLost) {
		l.t.Errorf("Renew(%s): %v, want ErrLost", brief(lease.Task), err)
	}
}

func (l line) release(lease task.Lease) {
	l.t.Helper()
	if err := l.queue.Release(l.t.Context(), lease); err != nil {
		l.t.Errorf("Release(%s): %v", brief(lease.Task), err)
	}
}

// turn updates the status of a task.
func (l line) turn(id string, to protocol.TaskStatus) {
	l.t.Helper()
	l.change(id, func(r *task.Record) { r.Status = to })
}

// finish completes a task and releases its lease, as a worker does.
func (l line) finish(lease task.Lease) {
	l.t.Helper()
	l.turn(lease.Task, protocol.TaskCompleted)
	l.release(lease)
}

// of returns a record with the status.
func (l line) of(id string, status protocol.TaskStatus) task.Record {
	r := l.record(id, "x")
	r.Status = status
	return r
}

func queueTake(t *testing.T, a, b line) {
	b.nothing()
	var tokens []string
	for i, id := range names() {
		a.fill("x", id)
		lease := b.first(id)
		if slices.Contains(tokens, lease.Token) {
			t.Errorf("token %d was there before", i)
		}
		tokens = append(tokens, lease.Token)
		if r, ok := b.get(id); !ok || r.Version != 1 || string(r.Call) != "call of "+id {
			t.Errorf("%s is of version %d, call %q", brief(id), r.Version, r.Call)
		}
	}
	a.nothing()
	b.nothing()
	a.wantCount("x", len(tokens))
}

func queueIdle(_ *testing.T, a, b line) {
	idle := []protocol.TaskStatus{protocol.TaskInputRequired, protocol.TaskCompleted, protocol.TaskFailed, protocol.TaskCancelled}
	for _, status := range idle {
		a.create(a.of(string(status), status))
	}
	b.nothing()
	for _, status := range idle { // Update does not put them into the queue either
		a.change(string(status), func(r *task.Record) { r.Message = "m" })
	}
	b.nothing()
}

func queueExists(t *testing.T, a, b line) {
	a.fill("x", "a")
	for _, s := range []line{a, b} {
		if err := s.store.Create(t.Context(), s.record("a", "x")); !errors.Is(err, task.ErrExists) {
			t.Errorf("the second Create: %v", err)
		}
	}
	lease := b.first("a")
	a.nothing()
	if err := a.store.Create(t.Context(), a.record("a", "x")); !errors.Is(err, task.ErrExists) {
		t.Errorf("the third Create: %v", err)
	}
	a.nothing()
	b.renew(lease)
}

func queueAnswered(t *testing.T, a, b line) {
	a.create(a.of("a", protocol.TaskInputRequired))
	b.nothing()
	for round := range 3 {
		a.turn("a", protocol.TaskWorking)
		lease := b.first("a")
		a.nothing()
		b.turn("a", protocol.TaskInputRequired)
		b.release(lease)
		b.nothing()
		if r, _ := a.get("a"); r.Status != protocol.TaskInputRequired {
			t.Errorf("round %d: it is %s", round, r.Status)
		}
	}
}

// queueConflict: a refused Update does not change the queue.
func queueConflict(t *testing.T, a, b line) {
	a.create(a.of("a", protocol.TaskInputRequired))
	a.fill("x", "b")
	for _, stale := range []task.Record{a.of("a", protocol.TaskWorking), a.of("b", protocol.TaskCancelled)} {
		stale.Version = 7
		if err := b.store.Update(t.Context(), stale); !errors.Is(err, task.ErrConflict) {
			t.Errorf("Update of version 7: %v", err)
		}
	}
	b.renew(b.first("b"))
	a.nothing()
}

// queueProgress: a working task is queued once, or leased, regardless of other changes.
func queueProgress(_ *testing.T, a, b line) {
	progress := func(s line) {
		s.change("a", func(r *task.Record) { r.Message, r.Journal = "half of it", append(r.Journal, '.') })
		s.change("a", func(r *task.Record) { r.Runs++ })
	}
	a.fill("x", "a")
	progress(a)
	lease := b.first("a")
	b.nothing()
	progress(b)
	progress(a)
	b.nothing()
	b.renew(lease)
	b.release(lease)
	progress(a)
	b.renew(b.first("a"))
	a.nothing()
}

// queueOrder: tasks come approximately in order.
func queueOrder(t *testing.T, a, b line) {
	const many = 100
	for i := range many {
		a.fill("x", fmt.Sprint(i))
	}
	for i := range many {
		var number int
		lease := b.take()
		if _, err := fmt.Sscan(lease.Task, &number); err != nil || lease.Again {
			t.Fatalf("Take: %q, again %v", lease.Task, lease.Again)
		}
		if number < i-many/2 || number > i+many/2 {
			t.Errorf("task %d came as number %d", number, i)
		}
		b.finish(lease)
	}
	b.nothing()
}

// queueEnded: a task that is not working any more is not handed out.
func queueEnded(t *testing.T, a, b line) {
	a.fill("x", "cancelled", "failed", "asks", "deleted", "moved")
	a.turn("cancelled", protocol.TaskCancelled)
	b.turn("failed", protocol.TaskFailed)
	b.turn("asks", protocol.TaskInputRequired)
	a.remove("deleted")
	a.turn("moved", protocol.TaskInputRequired)
	b.turn("moved", protocol.TaskWorking)
	a.fill("x", "stays")
	got := []string{b.take().Task, b.take().Task}
	if slices.Sort(got); !slices.Equal(got, []string{"moved", "stays"}) {
		t.Errorf("taken were %q", got)
	}
	b.nothing()
}

func queueExpired(t *testing.T, a, b line) {
	mortal := func(id string, ttl time.Duration) error {
		for i := range 20 {
			a.create(a.mortal(fmt.Sprint(id, ", ", i), ttl))
		}
		a.create(a.mortal(id, ttl))
		return a.there(id)
	}
	a.ends(a.clock.young(t, mortal))
	b.nothing()
	m := a.clock.young(t, mortal)
	a.fill("x", "stays")
	a.clock.pass(m.life + early) // the store may not have noticed yet that they expired
	b.first("stays")
	b.nothing()
	a.ends(m)
}

// queueAnew: a task is independent of an earlier task with the same ID.
func queueAnew(_ *testing.T, a, b line) {
	a.fill("x", "a")
	a.remove("a")
	a.fill("x", "a")
	old := b.first("a")
	b.nothing()
	a.remove("a")
	b.lost(old)
	a.fill("x", "a")
	b.lost(old)
	b.release(old)
	lease := b.first("a")
	b.release(old)
	b.nothing()
	b.renew(lease)
}

func queueWaits(t *testing.T, a, b line) {
	a.create(a.of("asks", protocol.TaskInputRequired))
	for _, step := range []struct {
		id   string
		what func()
	}{
		{"a", func() { a.fill("x", "a") }},
		{"asks", func() { a.turn("asks", protocol.TaskWorking) }},
		{"b", func() { b.fill("x", "b") }},
	} {
		taken := b.takes(late)
		time.Sleep(briefly) // Take waits
		select {
		case lease := <-taken:
			t.Fatalf("Take: %q, before %s", lease.Task, step.id)
		default:
		}
		step.what()
		if lease := <-taken; lease.Task != step.id || lease.Again {
			t.Errorf("Take: %q, again %v; want %s", lease.Task, lease.Again, step.id)
		}
	}
	held := a.begin("c")
	taken := b.takes(late)
	time.Sleep(briefly)
	a.release(held)
	if lease := <-taken; lease.Task != "c" || lease.Again {
		t.Errorf("Take: %q, again %v; want c, which was released", lease.Task, lease.Again)
	}
}

// begin creates a task and takes it.
func (l line) begin(id string) task.Lease {
	l.t.Helper()
	l.fill("x", id)
	return l.first(id)
}

// takes calls tryTake in the background. If there is no task, it sends an empty lease.
func (l line) takes(within time.Duration) <-chan task.Lease {
	taken := make(chan task.Lease, 1)
	go func() {
		lease, _ := l.tryTake(within)
		taken <- lease
	}()
	return taken
}

// queueManyWait: if there are enough tasks, each waiting Take gets one. A Take that stops waiting
// does not take a task away from another.
func queueManyWait(t *testing.T, a, b line) {
	const waiting = 20
	var taken, gone []<-chan task.Lease
	for i := range 2 * waiting {
		l := []line{a, b}[i%2]
		if i%4 < 2 {
			taken = append(taken, l.takes(late))
		} else {
			gone = append(gone, l.takes(briefly))
		}
	}
	for _, one := range gone { // there is no task yet
		if lease := <-one; lease.Task != "" {
			t.Errorf("Take: %q, before there is any", lease.Task)
		}
	}
	seen := map[string]bool{}
	for i := range waiting {
		a.fill("x", fmt.Sprint(i))
	}
	for _, one := range taken {
		lease := <-one
		if lease.Task == "" || lease.Again || seen[lease.Task] {
			t.Errorf("Take: %q, again %v; it was taken before: %v", lease.Task, lease.Again, seen[lease.Task])
		}
		seen[lease.Task] = true
	}
	b.nothing()
}

func queueTakeEnds(t *testing.T, a, b line) {
	ctx, cancel := context.WithCancel(t.Context())
	const waiting = 8
	errs := make(chan error, waiting)
	for range waiting {
		go func() {
			_, err := b.await(ctx)
			errs <- err
		}()
	}
	time.Sleep(briefly)
	cancel()
	for range waiting {
		if err := <-errs; !errors.Is(err, context.Canceled) {
			t.Errorf("Take: %v, want the error of its context", err)
		}
	}
	a.fill("x", "a") // the Takes that ended take nothing
	b.first("a")
	a.fill("x", "b")
	if lease, err := b.await(ctx); err == nil || lease.Task != "" {
		t.Errorf("Take with a context that has ended: %q, %v", lease.Task, err)
	}
	b.first("b")
	b.nothing()
}
