package streamable

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// waiter is a request that waits until its response is decided.
type waiter struct {
	in         *queue          // for good
	wake       chan struct{}   // 1-buffered
	direct     *postedExchange // is served by the goroutine of the request, which does not wait; nil: it waits for wake
	late       time.Duration   // when it has waited long enough, since waiting.began
	prev, next *waiter         // in the queue
	queued     bool            // it is in the queue now
}

// rouse wakes the waiter. It never blocks. Further calls have no effect.
func (w *waiter) rouse() {
	if w.direct != nil {
		go w.direct.overdue()
		return
	}
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// wait returns when the waiter is woken or ctx ends.
func (w *waiter) wait(ctx context.Context) {
	done := ctx.Done()
	if done == nil {
		<-w.wake
		return
	}
	select {
	case <-w.wake:
	case <-done:
	}
}

// waiting wakes waiters that have waited for limit. It is asked for each request, so it has many
// queues with a lock each. A waiter is always in the same one, which other processors seldom use: the
// pool gives a processor what it has put back itself.
type waiting struct {
	limit time.Duration
	began time.Time

	spare  sync.Pool // of waiters
	queues [16]queue
	next   atomic.Uint32 // whose turn it is to get a new waiter
}

// queue is ordered by time, because all waiters have the same limit. So one timer serves all; most
// requests are answered before it has to be set.
type queue struct {
	of *waiting

	mu          sync.Mutex // guards the fields below, and the places of waiters
	first, last *waiter
	timer       *time.Timer
	running     bool

	_ [16]byte // padding: one cache line per queue
}

func newWaiting(limit time.Duration) *waiting {
	p := &waiting{limit: limit, began: time.Now()}
	for i := range p.queues {
		p.queues[i].of = p
	}
	return p
}

// add takes a waiter from the pool and queues it. It is woken after limit at the latest. direct is
// nil if the request waits.
func (p *waiting) add(direct *postedExchange) *waiter {
	w, ok := p.spare.Get().(*waiter)
	if !ok {
		w = &waiter{wake: make(chan struct{}, 1), in: &p.queues[p.next.Add(1)%uint32(len(p.queues))]}
	}
	w.direct = direct
	w.in.add(w)
	return w
}

// remove puts a waiter back into the pool. The caller must have made sure that nobody can wake it
// any more.
func (p *waiting) remove(w *waiter) {
	w.in.remove(w)
	w.direct = nil
	select {
	case <-w.wake:
	default:
	}
	p.spare.Put(w)
}

func (q *queue) add(w *waiter) {
	q.mu.Lock()
	defer q.mu.Unlock()
	w.late = time.Since(q.of.began) + q.of.limit
	w.prev, w.next, w.queued = q.last, nil, true
	if q.last == nil {
		q.first = w
	} else {
		q.last.next = w
	}
	q.last = w
	if !q.running {
		q.running = true
		q.set(q.of.limit)
	}
}

// set starts the timer. The caller holds mu.
func (q *queue) set(after time.Duration) {
	if q.timer == nil {
		q.timer = time.AfterFunc(after, q.look)
		return
	}
	q.timer.Reset(after)
}

func (q *queue) remove(w *waiter) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.unlink(w)
}

// unlink removes a waiter from the queue, if it is there. The caller holds mu.
func (q *queue) unlink(w *waiter) {
	if !w.queued {
		return
	}
	if w.prev == nil {
		q.first = w.next
	} else {
		w.prev.next = w.next
	}
	if w.next == nil {
		q.last = w.prev
	} else {
		w.next.prev = w.prev
	}
	w.prev, w.next, w.queued = nil, nil, false
}

// look is called by the timer. It wakes the waiters that have waited long enough, and sets the
// timer for the next one.
func (q *queue) look() {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := time.Since(q.of.began)
	for q.first != nil && q.first.late <= now {
		w := q.first
		q.unlink(w)
		w.rouse()
	}
	if q.running = q.first != nil; q.running {
		q.set(q.first.late - now)
	}
}
