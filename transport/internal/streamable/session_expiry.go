package streamable

import (
	"container/heap"
	"sync"
	"time"
)

// expiryQueue is a priority queue of idle sessions by the time at which they may expire, with one
// timer for all. A session that is used again is not moved in the queue, because then every request
// would need the queue's lock. Instead look looks at it too early, and queues it again.
//
// The callers of add and remove hold session.mu; look and next do not. Between next and
// session.look, the session is in no queue, and its field due keeps release from queuing it twice.
type expiryQueue struct {
	began time.Time

	mu    sync.Mutex // guards the fields below, session.queued and session.at; taken after session.mu
	queue expiryHeap // the first expires next
	timer *time.Timer
}

// expiryHeap implements heap.Interface. Each session contains its index, so that it can be removed.
type expiryHeap []*session

// Len is part of heap.Interface.
func (h expiryHeap) Len() int { return len(h) }

// Less is part of heap.Interface.
func (h expiryHeap) Less(i, j int) bool { return h[i].at < h[j].at }

// Swap is part of heap.Interface.
func (h expiryHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].queued, h[j].queued = int32(i)+1, int32(j)+1 //nolint:gosec // sessions are bounded
}

// Push is part of heap.Interface.
func (h *expiryHeap) Push(x any) {
	s := x.(*session) //nolint:forcetypeassert // add pushes no other type
	*h = append(*h, s)
	s.queued = int32(len(*h)) //nolint:gosec // sessions are bounded
}

// Pop is part of heap.Interface.
func (h *expiryHeap) Pop() any {
	last := len(*h) - 1
	s := (*h)[last]
	s.queued = 0
	(*h)[last] = nil // let the garbage collector have it
	*h = (*h)[:last]
	return s
}

func (d *expiryQueue) now() time.Duration { return time.Since(d.began) }

// add queues a session, which must not be in the queue. The caller holds s.mu.
func (d *expiryQueue) add(s *session, at time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	s.at = at
	heap.Push(&d.queue, s)
	if s.queued == 1 {
		d.wind()
	}
}

// remove removes a session from the queue, if it is there. The caller holds s.mu.
func (d *expiryQueue) remove(s *session) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s.queued > 0 {
		heap.Remove(&d.queue, int(s.queued)-1)
		d.wind()
	}
}

// look is called by the timer. It calls look of each session that is due.
//
// It runs in the timer's goroutine, and holds no lock while it ends a session. wind sets the timer
// again when nothing more is due.
func (d *expiryQueue) look() {
	for s, _ := d.next(d.now()); s != nil; s, _ = d.next(d.now()) {
		s.look()
	}
}

// next removes the session that is due next from the queue and returns it with its time in the
// queue. If none is due at until, it winds the timer and returns nil.
//
// The caller must call session.look or givesWay, which clear due.
func (d *expiryQueue) next(until time.Duration) (s *session, at time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.queue) == 0 || d.queue[0].at > until {
		d.wind()
		return nil, 0
	}
	s = heap.Pop(&d.queue).(*session) //nolint:forcetypeassert // the heap has no other type
	return s, s.at
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
