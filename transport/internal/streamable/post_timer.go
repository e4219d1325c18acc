package streamable

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// responseTimer limits the time until the response of one request is decided. Either the request
// waits for wake, or its goroutine serves the exchange, and fire calls overdue.
//
// The goroutine of the request owns it from add to remove. queue.mu guards the links and late. inline
// is set before add queues the timer, and cleared after remove has unlinked it. wake has room for one
// signal, which remove takes out, so that the next owner does not get it.
type responseTimer struct {
	in         *queue          // never changes
	wake       chan struct{}   // 1-buffered
	inline     *postedExchange // exchange that the goroutine of the request serves; nil if it waits for wake
	late       time.Duration   // time when the limit is over, relative to responseTimers.began
	prev, next *responseTimer  // in the queue; nil if the timer is not there
}

// fire ends the wait. It never blocks. Further calls have no effect.
//
// The stream calls it with stream.mu, and look with queue.mu.
func (w *responseTimer) fire() {
	if w.inline != nil {
		go w.inline.overdue()
		return
	}
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// wait returns after fire, or when ctx ends.
func (w *responseTimer) wait(ctx context.Context) {
	select {
	case <-w.wake:
	case <-ctx.Done():
	}
}

// responseTimers fires timers after limit. Each request needs one. A time.Timer for each would wake
// a thread of the runtime whenever it is set (ADR 34). There are many queues, with a lock each. A
// timer always uses the same queue. Other processors seldom use that queue, because the pool gives
// a processor the timers that it has put back itself.
//
// spare is a pool: a timer in it is in no queue and has no signal. next only spreads new timers
// over the queues.
type responseTimers struct {
	limit time.Duration
	began time.Time

	spare  sync.Pool // of *responseTimer
	queues [16]queue
	next   atomic.Uint32 // queue of the next new timer
}

// queue is ordered by time, because all its timers have the same limit. One time.Timer serves them
// all. Most requests are answered before it has to be set.
//
// look holds mu while it fires timers. fire starts a goroutine or sends a signal, and takes no
// lock.
type queue struct {
	of *responseTimers

	mu      sync.Mutex    // guards the fields below, and prev and next of each timer
	ends    responseTimer // sentinel of the ring, between the last timer and the first one
	timer   *time.Timer
	running bool

	_ [48]byte // padding: two cache lines per queue
}

func newResponseTimers(limit time.Duration) *responseTimers {
	p := &responseTimers{limit: limit, began: time.Now()}
	for i := range p.queues {
		q := &p.queues[i]
		q.of, q.ends.late = p, math.MaxInt64
		q.ends.prev, q.ends.next = &q.ends, &q.ends
	}
	return p
}

// add takes a timer from the pool and queues it. It fires after limit at the latest. inline is nil
// if the request waits.
func (p *responseTimers) add(inline *postedExchange) *responseTimer {
	w, ok := p.spare.Get().(*responseTimer)
	if !ok {
		w = &responseTimer{wake: make(chan struct{}, 1), in: &p.queues[p.next.Add(1)%uint32(len(p.queues))]}
	}
	w.inline = inline
	w.in.add(w)
	return w
}

// remove puts a timer back into the pool. After that, look does not fire w. The caller must make sure
// that the stream does not, either; see stream.whole.
func (p *responseTimers) remove(w *responseTimer) {
	w.in.mu.Lock()
	w.unlink()
	w.in.mu.Unlock()
	if w.inline == nil {
		select {
		case <-w.wake:
		default:
		}
	}
	w.inline = nil
	p.spare.Put(w)
}

// add puts w at the end of the queue, and starts the timer if it does not run.
func (q *queue) add(w *responseTimer) {
	q.mu.Lock()
	defer q.mu.Unlock()
	w.late = time.Since(q.of.began) + q.of.limit
	w.prev, w.next = q.ends.prev, &q.ends
	w.prev.next, q.ends.prev = w, w
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

// unlink removes a timer from its queue, if it is there. The caller holds the lock of the queue.
func (w *responseTimer) unlink() {
	if w.next != nil {
		w.prev.next, w.next.prev = w.next, w.prev
		w.prev, w.next = nil, nil
	}
}

// look is called by the time.Timer. It fires the timers whose time is over, and sets the time.Timer
// for the next one.
func (q *queue) look() {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := time.Since(q.of.began)
	for q.ends.next.late <= now { // the time of the sentinel q.ends is never over
		w := q.ends.next
		w.unlink()
		w.fire()
	}
	if q.running = q.ends.next != &q.ends; q.running {
		q.set(q.ends.next.late - now)
	}
}
