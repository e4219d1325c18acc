package memory

import (
	"container/heap"
	"container/list"
	"context"
	"time"
)

// taskQueue has all working tasks: those that wait for a worker and those leased to one.
// They are in one heap, ordered by due. A task can be taken when its due time has come.
//
// Calls of Take that found no task wait in a list. Only the first of them has a timer. Each caller
// that leaves the list wakes the next one. The owner's mutex (tasks.mu) guards the queue.
//
// A Take that finds a task at once passes those that wait. The first waiter was woken for that task,
// finds it leased, and waits with a timer for the end of the lease. So there is always a waiter that
// has looked since the last change of the first entry, or has an element in its wake. A change that
// only makes the first entry later (lend, renew, leave) wakes no waiter: the timer fires too early, and
// the waiter sets it again.
type taskQueue struct {
	entries heapOf[*queueEntry]
	waiters list.List // elements are *waiter
	last    uint64    // last number that next returned
}

// queueEntry is a task's entry in the queue. It exists as long as the task is working. enter adds it
// without a lease. lend leases it to a worker and moves its due time to the end of the lease.
// giveBack ends the lease, and leave removes the entry. tasks.mu guards all of it.
type queueEntry struct {
	task   *taskEntry
	due    time.Time // it can be taken after this time: its arrival, or the end of its lease
	number uint64    // order of entries with the same due time
	lease  uint64    // number of the lease; 0 if it was never taken, or was given back
	index  int       // index in taskQueue.entries + 1; 0 if not in the queue
}

func (t *queueEntry) before(other *queueEntry) bool {
	if t.due.Equal(other.due) {
		return t.number < other.number
	}
	return t.due.Before(other.due)
}

func (t *queueEntry) moved(index int) { t.index = index + 1 }

// first returns the entry that can be taken first, now or later. If the queue is empty, it returns
// nil.
func (l *taskQueue) first() *queueEntry {
	if len(l.entries) == 0 {
		return nil
	}
	return l.entries[0]
}

// next returns a number that it has not returned before.
func (l *taskQueue) next() uint64 {
	l.last++
	return l.last
}

// enter adds a task to the queue, unless it is already there.
func (l *taskQueue) enter(h *taskEntry, now time.Time) {
	if h.queued.index > 0 {
		return
	}
	h.queued = queueEntry{task: h, due: now, number: l.next()}
	heap.Push(&l.entries, &h.queued)
	l.rouse()
}

// leave removes a task from the queue, which also ends its lease.
func (l *taskQueue) leave(h *taskEntry) {
	if h.queued.index > 0 {
		heap.Remove(&l.entries, h.queued.index-1)
		h.queued = queueEntry{}
	}
}

// lend leases the task under a number that no other lease has.
func (l *taskQueue) lend(t *queueEntry, until time.Time) {
	t.lease = l.next()
	t.number = t.lease
	l.renew(t, until)
}

func (l *taskQueue) renew(t *queueEntry, until time.Time) {
	t.due = until
	heap.Fix(&l.entries, t.index-1)
}

// giveBack ends the lease as if the task had never been taken.
func (l *taskQueue) giveBack(t *queueEntry, now time.Time) {
	t.lease, t.number = 0, l.next()
	l.renew(t, now)
	l.rouse()
}

// waiter is a call of Take that has not found a task.
type waiter struct {
	wake    chan struct{} // has an element if it must check the queue again
	element *list.Element // element of taskQueue.waiters; nil if not in it
}

// wait adds w to the end of the list, unless it is already there, and returns how long it may
// sleep. Only the first waiter needs to know when the first lease ends. For the others, and if the
// queue is empty, wait returns 0: they sleep until they are woken.
func (l *taskQueue) wait(w *waiter, first *queueEntry, now time.Time) time.Duration {
	if w.element == nil {
		w.element = l.waiters.PushBack(w)
	}
	if first == nil || l.waiters.Front() != w.element {
		return 0
	}
	return first.due.Sub(now)
}

// quit removes w and wakes the next waiter, which may now be the first and need the timer.
func (l *taskQueue) quit(w *waiter) {
	if w.element != nil {
		l.waiters.Remove(w.element)
		w.element = nil
		l.rouse()
	}
}

// rouse wakes the waiter that has waited longest.
func (l *taskQueue) rouse() {
	first := l.waiters.Front()
	if first == nil {
		return
	}
	select {
	case first.Value.(*waiter).wake <- struct{}{}:
	default:
	}
}

// sleep waits until w is woken or most has passed; if most is 0, there is no time limit. If ctx
// ends first, sleep returns its error.
func (w *waiter) sleep(ctx context.Context, most time.Duration) error {
	var due <-chan time.Time
	if most > 0 {
		timer := time.NewTimer(most)
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-w.wake:
	case <-due:
	}
	return nil
}
