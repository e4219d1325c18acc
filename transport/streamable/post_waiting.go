package streamable

import (
	"context"
	"sync"
	"time"
)

// waiter is a request that waits for what to respond.
type waiter struct {
	wake       chan struct{} // has room for one: who wakes does not wait
	late       time.Duration // when its patience is over, since began of waiting
	prev, next *waiter
	queued     bool
}

// rouse wakes the waiter, unless somebody has.
func (w *waiter) rouse() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// wait is until somebody wakes the waiter, or ctx ends.
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

// waiting wakes those who have waited for some time. All wait equally long, so that
// the first who came is the first to be woken, and one timer is enough: a request that
// is answered soon, as most are, sets none.
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

// add makes a waiter, who is woken at the latest when it has waited for long enough.
func (p *waiting) add() *waiter {
	w, ok := p.spare.Get().(*waiter)
	if !ok {
		w = &waiter{wake: make(chan struct{}, 1)}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	w.late = time.Since(p.began) + p.limit
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

// set starts the timer. Under mu.
func (p *waiting) set(after time.Duration) {
	if p.timer == nil {
		p.timer = time.AfterFunc(after, p.look)
		return
	}
	p.timer.Reset(after)
}

// remove takes a waiter out, whom nobody else can wake any more.
func (p *waiting) remove(w *waiter) {
	p.mu.Lock()
	p.unlink(w)
	p.mu.Unlock()
	select {
	case <-w.wake:
	default:
	}
	p.spare.Put(w)
}

// unlink is remove from the queue. Under mu.
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

// look wakes those who have waited long enough, and comes back for the next.
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
