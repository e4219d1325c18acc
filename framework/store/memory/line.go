package memory

import (
	"container/heap"
	"container/list"
	"context"
	"time"
)

// line is the queue of tasks that are working, those waiting for a worker as well as those
// leased to one. They are in one heap, ordered by due: a task can be taken when that time has
// come. Calls of Take that found nothing wait in a list. Only the first of them has a timer,
// and whoever leaves the list wakes the next one.
type line struct {
	turns   heapOf[*turn]
	waiters list.List // of *waiter
	last    uint64    // the last number given out
}

// turn is a task's place in the line. It lasts as long as the task is working.
type turn struct {
	task   *heldTask
	due    time.Time // when it can be taken: when it came, or when its lease runs out
	number uint64    // the order of turns with the same due
	lease  uint64    // 0: it was never taken, or was given back
	place  int       // index in line.turns + 1; 0: it is not working
}

func (t *turn) before(other *turn) bool {
	if t.due.Equal(other.due) {
		return t.number < other.number
	}
	return t.due.Before(other.due)
}

func (t *turn) moved(place int) { t.place = place + 1 }

// first is the turn that can be taken first, now or later; nil if there is none.
func (l *line) first() *turn {
	if len(l.turns) == 0 {
		return nil
	}
	return l.turns[0]
}

// next is a number that was not given out before.
func (l *line) next() uint64 {
	l.last++
	return l.last
}

// enter puts a task into the line, unless it is there already.
func (l *line) enter(h *heldTask, now time.Time) {
	if h.turn.place > 0 {
		return
	}
	h.turn = turn{task: h, due: now, number: l.next()}
	heap.Push(&l.turns, &h.turn)
	l.rouse()
}

// leave takes a task out of the line. Its lease ends with that.
func (l *line) leave(h *heldTask) {
	if h.turn.place > 0 {
		heap.Remove(&l.turns, h.turn.place-1)
		h.turn = turn{}
	}
}

// lend leases the task under a number that no other lease has.
func (l *line) lend(t *turn, until time.Time) {
	t.lease = l.next()
	t.number = t.lease
	l.renew(t, until)
}

func (l *line) renew(t *turn, until time.Time) {
	t.due = until
	heap.Fix(&l.turns, t.place-1)
}

// giveBack ends the lease as if the task had never been taken.
func (l *line) giveBack(t *turn, now time.Time) {
	t.lease, t.number = 0, l.next()
	l.renew(t, now)
	l.rouse()
}

// waiter is a call of Take that has found nothing.
type waiter struct {
	wake  chan struct{} // has an element if it must look again
	place *list.Element // in line.waiters
}

// wait puts w at the end of the list, if it is not in it, and says how long it may sleep. Only
// the first waiter must know when the first lease runs out.
func (l *line) wait(w *waiter, first *turn, now time.Time) time.Duration {
	if w.place == nil {
		w.place = l.waiters.PushBack(w)
	}
	if first == nil || l.waiters.Front() != w.place {
		return 0
	}
	return first.due.Sub(now)
}

// quit removes w and wakes the next one, which may be the first now and need the timer.
func (l *line) quit(w *waiter) {
	if w.place != nil {
		l.waiters.Remove(w.place)
		w.place = nil
		l.rouse()
	}
}

// rouse wakes the waiter that has waited longest.
func (l *line) rouse() {
	first := l.waiters.Front()
	if first == nil {
		return
	}
	select {
	case first.Value.(*waiter).wake <- struct{}{}:
	default:
	}
}

// sleep returns when w is woken, when most has passed (0: never), or when ctx ends.
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
