package streamable

import (
	"context"
	"sync"
	"time"
)

// crew serves exchanges in goroutines that are used again, because their stacks have
// grown: for a new goroutine that costs more than all else that a request does here.
//
// Who has had nothing to do for a while ends, so that an endpoint which nobody uses has
// no goroutines; and so do all when the host begins to stop, after their errands.
type crew struct {
	life    context.Context //nolint:containedctx // the parent of the workers' own
	closing <-chan struct{} // the host begins to stop; nil: it never says so

	mu      sync.Mutex // guards the fields below
	count   int
	empty   chan struct{} // closed when the last has ended
	idle    []*worker     // the last that became idle is the next to work
	spare   int           // so many of them were not needed since the last look
	looking bool          // a look is due
	stopped bool
}

func newCrew(life context.Context, closing <-chan struct{}) *crew {
	return &crew{life: life, closing: closing}
}

// worker is one goroutine.
type worker struct {
	errands chan *errand

	// ctx is that of exchanges which can be cancelled. It is made once and not for each
	// of them, and made anew when one was: cancel is only called while the errand's
	// stream has not ended, under its lock.
	ctx    context.Context //nolint:containedctx // see above
	cancel context.CancelCauseFunc
}

// breather is how long who is not needed stays.
const breather = 250 * time.Millisecond

// take is a worker for one errand.
func (c *crew) take() *worker {
	c.mu.Lock()
	if n := len(c.idle) - 1; n >= 0 {
		w := c.idle[n]
		c.idle[n] = nil
		c.idle = c.idle[:n]
		c.spare = min(c.spare, n)
		c.mu.Unlock()
		return w
	}
	c.join()
	c.mu.Unlock()
	w := &worker{errands: make(chan *errand, 1)}
	w.renew(c.life)
	go w.work(c)
	return w
}

// join counts a worker in. Under mu.
func (c *crew) join() {
	if c.count++; c.count > 1 {
		return
	}
	c.empty = make(chan struct{})
	if c.closing != nil && !c.stopped {
		go c.watch(c.empty)
	}
}

// leave counts a worker out, which takes nothing more.
func (c *crew) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.count--; c.count == 0 {
		close(c.empty)
	}
}

// watch is one goroutine for all, so that they need not wait for closing each.
func (c *crew) watch(empty <-chan struct{}) {
	select {
	case <-c.closing:
		c.stop()
	case <-empty:
	}
}

// renew is not safe for concurrent use with an errand.
func (w *worker) renew(life context.Context) { w.ctx, w.cancel = context.WithCancelCause(life) }

// work ends with the worker, or when a handler ends its goroutine.
func (w *worker) work(c *crew) {
	defer c.leave()
	defer func() { w.cancel(nil) }()
	for errand := range w.errands {
		errand.serve()
		if w.ctx.Err() != nil {
			w.renew(c.life)
		}
		if !c.put(w) {
			return
		}
	}
}

// put makes a worker idle; false: it is not needed any more.
func (c *crew) put(w *worker) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		return false
	}
	c.idle = append(c.idle, w)
	if !c.looking {
		c.looking = true
		time.AfterFunc(breather, c.look)
	}
	return true
}

// look dismisses those who were not needed.
func (c *crew) look() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dismiss(c.spare)
	c.spare = len(c.idle)
	if c.looking = c.spare > 0; c.looking {
		time.AfterFunc(breather, c.look)
	}
}

// dismiss ends those who have been idle for the longest time. Under mu.
func (c *crew) dismiss(n int) {
	for _, w := range c.idle[:n] {
		close(w.errands)
	}
	rest := copy(c.idle, c.idle[n:])
	clear(c.idle[rest:])
	c.idle = c.idle[:rest]
}

// stop dismisses all, at the latest after their errands.
func (c *crew) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped = true
	c.dismiss(len(c.idle))
	c.spare = 0
}
