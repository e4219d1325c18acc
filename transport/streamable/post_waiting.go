package streamable

import (
	"context"
	"sync"
	"time"
)

// waiter is a request that waits until its response is decided.
type waiter struct {
	wake       chan struct{}   // 1-buffered
	direct     *postedExchange // is served by the goroutine of the request, which does not wait; nil: it waits for wake
	late       time.Duration   // when it has waited long enough, since waiting.began
	prev, next *waiter         // in the queue of waiting
	queued     bool            // is in the queue
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

// waiting wakes waiters that have waited for limit. Because all have the same limit, the queue is
// ordered by time and one timer serves all; most requests are answered before it has to be set.
type waiting struct {
	limit time.Duration
	began time.Time

	spare sync.Pool // of waiters

	mu          sync.Mutex // guards the fields below, and the places of waiters
	first, last *waiter
	timer       *time.Timer
	running     bool
}

func newWaiting(limit time.Duration) *waiting {
	return &waiting{limit: limit, began: time.Now()}
}

// add takes a waiter from the pool and queues it. It is woken after limit at the latest. direct is
// nil if the request waits.
func (p *waiting) add(direct *postedExchange) *waiter {
	w, ok := p.spare.Get().(*waiter)
	if !ok {
		w = &waiter{wake: make(chan struct{}, 1)}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	w.direct, w.late = direct, time.Since(p.began)+p.limit
	w.prev, w.next, w.queued = p.last, nil, true
	if p.last == nil {
		p.first = w
	} else {
		p.last.next = w
	}
	p.last = w
	if !p.running {
		p.running = true
		p.set(p.limit)
	}
	return w
}

// set starts the timer. The caller holds mu.
func (p *waiting) set(after time.Duration) {
	if p.timer == nil {
		p.timer = time.AfterFunc(after, p.look)
		return
	}
	p.timer.Reset(after)
}

// remove puts a waiter back into the pool. The caller must have made sure that nobody can wake it
// any more.
func (p *waiting) remove(w *waiter) {
	p.mu.Lock()
	p.unlink(w)
	p.mu.Unlock()
	w.direct = nil
	select {
	case <-w.wake:
	default:
	}
	p.spare.Put(w)
}

// unlink removes a waiter from the queue, if it is there. The caller holds mu.
func (p *waiting) unlink(w *waiter) {
	if !w.queued {
		return
	}
	if w.prev == nil {
		p.first = w.next
	} else {
		w.prev.next = w.next
	}
	if w.next == nil {
		p.last = w.prev
	} else {
		w.next.prev = w.prev
	}
	w.prev, w.next, w.queued = nil, nil, false
}

// look is called by the timer. It wakes the waiters that have waited long enough, and sets the
// timer for the next one.
func (p *waiting) look() {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Since(p.began)
	for p.first != nil && p.first.late <= now {
		w := p.first
		p.unlink(w)
		w.rouse()
	}
	if p.running = p.first != nil; p.running {
		p.set(p.first.late - now)
	}
}
