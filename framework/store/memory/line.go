package memory

import (
	"container/heap"
	"container/list"
	"context"
	"time"
)

// line has the tasks that are working, those that wait for a worker and those that
// one has, in one heap: by the time since which they wait, or from which on they
// will. Those who wait for a task are in a list, of whom only the first has a timer,
// and each who leaves the list rouses the next.
type line struct {
	turns   heapOf[*turn]
	waiters list.List // of *waiter
	last    uint64    // number given out
}

// turn is of a task from when it works until it does not.
type turn struct {
	task   *heldTask
	due    time.Time // since when it waits, or will
	number uint64    // the order of those that are due at the same time
	lease  uint64    // 0: nobody has it, and nobody has let it run out
	place  int       // in line.turns, from 1; 0: it does not work
}

func (t *turn) before(other *turn) bool {
	if t.due.Equal(other.due) {
		return t.number < other.number
	}
	return t.due.Before(other.due)
}

func (t *turn) moved(place int) { t.place = place + 1 }

// first to be taken, now or later; nil if there is none.
func (l *line) first() *turn {
	if len(l.turns) == 0 {
		return nil
	}
	return l.turns[0]
}

// next number, never given out before.
func (l *line) next() uint64 {
	l.last++
	return l.last
}

// enter does nothing to a task that works already.
func (l *line) enter(h *heldTask, now time.Time) {
	if h.turn.place > 0 {
		return
	}
	h.turn = turn{task: h, due: now, number: l.next()}
	heap.Push(&l.turns, &h.turn)
	l.rouse()
}

// leave ends the turn, and the lease with it.
func (l *line) leave(h *heldTask) {
	if h.turn.place > 0 {
		heap.Remove(&l.turns, h.turn.place-1)
		h.turn = turn{}
	}
}

// lend gives the task away, under a number that is the lease's alone.
func (l *line) lend(t *turn, until time.Time) {
	t.lease = l.next()
	t.number = t.lease
	l.renew(t, until)
}

func (l *line) renew(t *turn, until time.Time) {
	t.due = until
	heap.Fix(&l.turns, t.place-1)
}

// giveBack makes it as if nobody had taken it.
func (l *line) giveBack(t *turn, now time.Time) {
	t.lease, t.number = 0, l.next()
	l.renew(t, now)
	l.rouse()
}

// waiter is a Take that has found nothing.
type waiter struct {
	wake  chan struct{} // has an element if it is to look again
	place *list.Element // in line.waiters
}

// wait puts w where those are that wait, and says for how long. Only the first needs
// to know when the first lease runs out.
func (l *line) wait(w *waiter, first *turn, now time.Time) time.Duration {
	if w.place == nil {
		w.place = l.waiters.PushBack(w)
	}
	if first == nil || l.waiters.Front() != w.place {
		return 0
	}
	return first.due.Sub(now)
}

// quit lets the next one look, who may be the first now.
func (l *line) quit(w *waiter) {
	if w.place != nil {
		l.waiters.Remove(w.place)
		w.place = nil
		l.rouse()
	}
}

// rouse the one that has waited longest.
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

// sleep until it is roused, or for that time if it is not 0.
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
