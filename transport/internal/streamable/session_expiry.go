package streamable

import (
	"sync"
	"time"
)

// expiryQueue is a priority queue of idle sessions by the time at which they may expire, with one
// timer for all. A session that is used again is not moved in the queue, because then every request
// would need the queue's lock. Instead look looks at it too early, and queues it again.
//
// The callers of add and remove hold session.mu; look, next and first do not. Between next and
// session.look, the session is in no queue, and its field due keeps release from queuing it twice.
type expiryQueue struct {
	began time.Time

	mu    sync.Mutex // guards the fields below, and session.queued; taken after session.mu
	queue []expiry   // a heap; the first expires next
	timer *time.Timer
}

type expiry struct {
	at time.Duration // since began
	s  *session
}

func (d *expiryQueue) now() time.Duration { return time.Since(d.began) }

// add queues a session, which must not be in the queue. The caller holds s.mu.
func (d *expiryQueue) add(s *session, at time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.queue = append(d.queue, expiry{})
	d.up(len(d.queue)-1, expiry{at, s})
	if d.queue[0].s == s {
		d.wind()
	}
}

// remove removes a session from the queue, if it is there. The caller holds s.mu.
func (d *expiryQueue) remove(s *session) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s.queued > 0 {
		d.cut(int(s.queued) - 1)
		d.wind()
	}
}

// look is called by the timer. It calls look of each session that is due.
//
// It runs in the timer's goroutine, and holds no lock while it ends a session. wind sets the timer
// again when nothing more is due.
func (d *expiryQueue) look() {
	for s := d.next(); s != nil; s = d.next() {
		s.look()
	}
}

// next removes a session that is due from the queue and returns it, or nil if no session is due.
func (d *expiryQueue) next() *session {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.queue) == 0 || d.queue[0].at > d.now() {
		d.wind()
		return nil
	}
	s := d.queue[0].s
	d.cut(0)
	return s
}

// first removes the session that is due next from the queue and returns it with its time in the
// queue, or nil if the queue is empty.
//
// The caller must call givesWay, which clears due.
func (d *expiryQueue) first() (s *session, at time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.queue) == 0 {
		return nil, 0
	}
	one := d.queue[0]
	d.cut(0)
	d.wind()
	return one.s, one.at
}

// wind sets the timer for the first session. The caller holds d.mu.
func (d *expiryQueue) wind() {
	switch {
	case len(d.queue) == 0 && d.timer != nil:
		d.timer.Stop()
	case len(d.queue) == 0:
	case d.timer == nil:
		d.timer = time.AfterFunc(d.queue[0].at-d.now(), d.look)
	default:
		d.timer.Reset(d.queue[0].at - d.now())
	}
}

// cut removes the element at i from the heap. The caller holds d.mu.
func (d *expiryQueue) cut(i int) {
	d.queue[i].s.queued = 0
	end := len(d.queue) - 1
	last := d.queue[end]
	d.queue[end] = expiry{}
	if d.queue = d.queue[:end]; i < end {
		d.up(d.down(i, last), last)
	}
}

// up puts one into the heap at i or, by moving later elements down, nearer to the root.
func (d *expiryQueue) up(i int, one expiry) {
	for i > 0 && one.at < d.queue[(i-1)/2].at {
		d.put(i, d.queue[(i-1)/2])
		i = (i - 1) / 2
	}
	d.put(i, one)
}

// down moves elements that are due before one towards the root, starting at i, and returns the
// index that has become free for it.
func (d *expiryQueue) down(i int, one expiry) int {
	for {
		next := 2*i + 1
		if next+1 < len(d.queue) && d.queue[next+1].at < d.queue[next].at {
			next++
		}
		if next >= len(d.queue) || d.queue[next].at >= one.at {
			return i
		}
		d.put(i, d.queue[next])
		i = next
	}
}

// put stores an element at i. The caller holds d.mu.
func (d *expiryQueue) put(i int, one expiry) {
	d.queue[i] = one
	one.s.queued = int32(i) + 1 //nolint:gosec // sessions are bounded
}
