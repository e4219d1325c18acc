package storetest

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/task"
)

// lapseTest is a test with leases that expire. If try returns errSlow, it is called again with a
// longer lifetime.
type lapseTest struct {
	name, rule string
	try        func(a, b line) error
}

func lapses() []lapseTest {
	return []lapseTest{
		{"LeaseRunsOut", "When a lease expires, another worker gets the task, with Again set; the first worker has lost it.", lapseOnce},
		{"RenewKeeps", "As long as a worker renews in time, no other worker is given its task.", lapseRenewed},
		{"ReleaseAfterAgain", "A task that expired once and is then released is handed out without Again.", lapseReleased},
		{"EndedLeaseRunsOut", "When the lease of a task that is no longer working expires, nothing happens.", lapseEnded},
		{"OldLeaseRunsOut", "The lease of an earlier turn does not affect the next.", lapseOld},
		{"ManyRunOut", "Each of many tasks that a dead worker has left is given to one worker.", lapseMany},
		{"ManyWaitForLeases", "Workers that already wait get the tasks whose leases expire, each one of them.", lapseAwaited},
	}
}

// errSlow means that the test has taken longer than the lifetime of a lease, so that a lease may
// correctly have expired.
var errSlow = errors.New("too slow")

// lapse calls try with increasing lifetimes.
func lapse(t *testing.T, open func(t testing.TB, life time.Duration) (a, b QueueStore), try func(a, b line) error) {
	t.Helper()
	for _, life := range []time.Duration{400 * time.Millisecond, 1600 * time.Millisecond, 6400 * time.Millisecond} {
		a, b := open(t, life)
		err := try(lineOf(t, a, life), lineOf(t, b, life))
		if err == nil {
			return
		}
		if !errors.Is(err, errSlow) {
			t.Fatal(err)
		}
	}
	t.Fatal("a few operations take longer than the longest of the lives")
}

// inTime returns errSlow if more time has passed than the lifetime of a lease, and err otherwise.
func (l line) inTime(since time.Time, err error) error {
	if time.Since(since) >= l.life-early {
		return errSlow
	}
	return err
}

// second takes a task again after its lease has expired. began is when the lease began or was last
// renewed.
func (l line) second(id string, began time.Time) (task.Lease, error) {
	l.t.Helper()
	lease, ok := l.tryTake(l.life + late)
	age := time.Since(began)
	switch {
	case !ok:
		return lease, fmt.Errorf("%s belongs to no worker %v after a lease of %v", id, age, l.life)
	case lease.Task != id || !lease.Again:
		return lease, fmt.Errorf("taken is %s, again %v; want %s again", lease.Task, lease.Again, id)
	case age < l.life-early:
		return lease, fmt.Errorf("%s is given away after %v, the lease was for %v", id, age, l.life)
	}
	return lease, nil
}

func lapseOnce(a, b line) error {
	began := time.Now()
	old := a.begin("a")
	lease, err := b.second("a", began)
	if err != nil {
		return err
	}
	began = time.Now()
	a.lost(old)
	a.release(old)
	if err := b.inTime(began, b.queue.Renew(b.t.Context(), lease)); err != nil {
		return err
	}
	b.finish(lease)
	a.lost(old)
	a.lost(lease)
	b.nothing()
	return nil
}

// lapseRenewed: while a worker renews its lease in time, no other worker gets the task.
func lapseRenewed(a, b line) error {
	began := time.Now()
	lease := a.begin("a")
	if err := a.inTime(began, nil); err != nil {
		return err
	}
	renewed := began // earliest time of the last renewal
	taken := b.takes(3*a.life + a.life + late)
	for end := began.Add(3 * a.life); time.Now().Before(end); {
		time.Sleep(a.life / 5)
		before := renewed
		renewed = time.Now()
		err := a.queue.Renew(a.t.Context(), lease)
		if slow := a.inTime(before, nil); slow != nil {
			<-taken // ends, because the lease is not renewed any more
			return slow
		}
		if err != nil {
			return fmt.Errorf("renewing in time: %w", err)
		}
		select {
		case other := <-taken:
			return fmt.Errorf("%q is given away, again %v, though it is renewed", other.Task, other.Again)
		default:
		}
	}
	other := <-taken
	if age := time.Since(renewed); other.Task != "a" || !other.Again || age < a.life-early {
		return fmt.Errorf("taken is %q, again %v, after %v", other.Task, other.Again, age)
	}
	a.lost(lease)
	return nil
}

// lapseReleased: if a worker releases a task that it got after an expired lease, the task counts as
// not taken.
func lapseReleased(a, b line) error {
	began := time.Now()
	a.begin("a")
	lease, err := b.second("a", began)
	if err != nil {
		return err
	}
	began = time.Now()
	b.release(lease)
	next, ok := a.tryTake(late)
	if !ok || next.Task != "a" || next.Again {
		return a.inTime(began, fmt.Errorf("after a release: %q, again %v", next.Task, next.Again))
	}
	a.finish(next)
	b.nothing()
	return nil
}

// lapseEnded: if a task is not working any more, the end of its lease has no effect.
func lapseEnded(a, b line) error {
	began := time.Now()
	for _, status := range []protocol.TaskStatus{protocol.TaskInputRequired, protocol.TaskCompleted, protocol.TaskCancelled} {
		a.begin(string(status))
		a.turn(string(status), status)
	}
	a.begin("deleted")
	a.remove("deleted")
	if err := a.inTime(began, nil); err != nil {
		return err
	}
	if lease, ok := b.tryTake(2 * b.life); ok {
		return fmt.Errorf("taken is %s, again %v", lease.Task, lease.Again)
	}
	b.nothing()
	return nil
}

// lapseOld: the lease of an earlier turn expires while the task is queued for the next turn, and
// while the next turn has its own lease.
func lapseOld(a, b line) error {
	began := time.Now()
	old := a.begin("a")
	a.turn("a", protocol.TaskInputRequired)
	a.turn("a", protocol.TaskWorking)
	if err := a.inTime(began, nil); err != nil {
		return err
	}
	time.Sleep(a.life + a.life/2)
	began = time.Now()
	lease := b.first("a")
	if other, ok := b.tryTake(b.life / 4); ok {
		return b.inTime(began, fmt.Errorf("taken is %s, again %v, which is leased", other.Task, other.Again))
	}
	a.lost(old)
	if err := b.inTime(began, b.queue.Renew(b.t.Context(), lease)); err != nil {
		return err
	}
	b.finish(lease)
	b.nothing()
	return nil
}

// lapseMany: each task that a dead worker has left is given to one worker, among other tasks that
// were never taken.
func lapseMany(a, b line) error {
	const many = 20
	began := time.Now()
	for i := range many {
		a.fill("x", fmt.Sprint("left ", i))
		a.tryTake(late)
	}
	if err := a.inTime(began, nil); err != nil {
		return err
	}
	time.Sleep(a.life)
	for i := range many {
		a.fill("x", fmt.Sprint("new ", i))
	}
	began = time.Now() // before every lease below
	var (
		taken sync.Map   // by id
		mu    sync.Mutex // guards fault
		fault error      // errSlow if a lease may rightly have expired by then
	)
	work(a.t, a, b, 2*many, func(l line, lease task.Lease) bool {
		_, before := taken.LoadOrStore(lease.Task, true)
		if left := strings.HasPrefix(lease.Task, "left"); before || lease.Again != left {
			err := l.inTime(began, fmt.Errorf("taken is %s, again %v, taken before: %v", lease.Task, lease.Again, before))
			mu.Lock()
			if fault == nil || !errors.Is(err, errSlow) {
				fault = err
			}
			mu.Unlock()
		}
		l.until(lease.Task, task.Event{Kind: task.Complete, Result: []byte("{}")})
		l.release(lease)
		return !before
	})
	if fault == nil {
		a.nothing()
	}
	return fault
}

// lapseAwaited: Takes that already wait get the expired tasks, each one task.
func lapseAwaited(a, b line) error {
	const many = 10
	began := time.Now()
	for i := range many {
		a.fill("x", fmt.Sprint(i))
		a.tryTake(late)
	}
	var taken []<-chan task.Lease
	for i := range many {
		l := []line{a, b}[i%2]
		l.takes(l.life / 4) // ends before there is a task
		taken = append(taken, l.takes(l.life+late))
	}
	if err := a.inTime(began, nil); err != nil {
		return err
	}
	time.Sleep(time.Until(began.Add(a.life))) // from now on the leases expire
	began = time.Now()
	seen := map[string]bool{}
	for _, one := range taken {
		lease := <-one
		if lease.Task == "" || !lease.Again || seen[lease.Task] {
			return a.inTime(began, fmt.Errorf("taken is %q, again %v, taken before: %v", lease.Task, lease.Again, seen[lease.Task]))
		}
		a.turn(lease.Task, protocol.TaskCompleted)
		seen[lease.Task] = true
	}
	return nil
}
