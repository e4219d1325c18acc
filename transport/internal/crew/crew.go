// Package crew keeps goroutines that are used again, because their stacks have grown: for a
// new goroutine that costs more than all else that a carrier does for a request.
//
// Who has had nothing to do for a while ends, so that what nobody uses has no goroutines;
// and so do all when the crew stops, after what they do.
package crew

import (
	"context"
	"sync"
	"time"
)

// Crew serves errands, each in a goroutine. Safe for concurrent use.
type Crew[E any] struct {
	life    context.Context //nolint:containedctx // the parent of the workers' own
	closing <-chan struct{} // the owner begins to stop; nil: it never says so
	serve   func(E)

	mu      sync.Mutex // guards the fields below
	count   int
	empty   chan struct{} // closed when the last has ended
	idle    []*Worker[E]  // the last that became idle is the next to work
	spare   int           // so many of them were not needed since the last look
	looking bool          // a look is due
	stopped bool
}

// New has no goroutine until there is an errand. life is the parent of the contexts of the
// workers; the crew stops when closing is closed, or by Stop. serve does an errand, may end
// its goroutine by runtime.Goexit, and does not panic.
func New[E any](life context.Context, closing <-chan struct{}, serve func(E)) *Crew[E] {
	return &Crew[E]{life: life, closing: closing, serve: serve}
}

// Worker is one goroutine. Who takes it gives it one errand.
type Worker[E any] struct {
	errands chan E
	life    context.Context //nolint:containedctx // see Context
	ctx     context.Context //nolint:containedctx // see Context
	cancel  context.CancelCauseFunc
}

// Context is one for the errand that the worker is about to get, which cancel ends. It is
// made once and not for each of them, and made anew when one was cancelled: cancel may only
// be called while the errand lasts.
func (w *Worker[E]) Context() (ctx context.Context, cancel context.CancelCauseFunc) {
	if w.ctx == nil {
		w.ctx, w.cancel = context.WithCancelCause(w.life)
	}
	return w.ctx, w.cancel
}

// Do makes the worker serve the errand. It is the crew's again.
func (w *Worker[E]) Do(errand E) { w.errands <- errand }

// breather is how long who is not needed stays.
const breather = 250 * time.Millisecond

// Take is a worker for one errand.
func (c *Crew[E]) Take() *Worker[E] {
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
	w := &Worker[E]{errands: make(chan E, 1), life: c.life}
	go w.work(c)
	return w
}

// join counts a worker in. Under mu.
func (c *Crew[E]) join() {
	if c.count++; c.count > 1 {
		return
	}
	c.empty = make(chan struct{})
	if c.closing != nil && !c.stopped {
		go c.watch(c.empty)
	}
}

// leave counts a worker out, which takes nothing more.
func (c *Crew[E]) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.count--; c.count == 0 {
		close(c.empty)
	}
}

// watch is one goroutine for all, so that they need not wait for closing each.
func (c *Crew[E]) watch(empty <-chan struct{}) {
	select {
	case <-c.closing:
		c.Stop()
	case <-empty:
	}
}

// work ends with the worker, or when an errand ends its goroutine.
func (w *Worker[E]) work(c *Crew[E]) {
	defer c.leave()
	defer w.end()
	for errand := range w.errands {
		c.serve(errand)
		if w.ctx != nil && w.ctx.Err() != nil {
			w.ctx = nil //nolint:fatcontext // no loop: the next errand makes it anew
		}
		if !c.put(w) {
			return
		}
	}
}

// end lets the context go.
func (w *Worker[E]) end() {
	if w.cancel != nil {
		w.cancel(nil)
	}
}

// put makes a worker idle; false: it is not needed any more.
func (c *Crew[E]) put(w *Worker[E]) bool {
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
func (c *Crew[E]) look() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dismiss(c.spare)
	c.spare = len(c.idle)
	if c.looking = c.spare > 0; c.looking {
		time.AfterFunc(breather, c.look)
	}
}

// dismiss ends those who have been idle for the longest time. Under mu.
func (c *Crew[E]) dismiss(n int) {
	for _, w := range c.idle[:n] {
		close(w.errands)
	}
	rest := copy(c.idle, c.idle[n:])
	clear(c.idle[rest:])
	c.idle = c.idle[:rest]
}

// Stop dismisses all, at the latest after their errands.
func (c *Crew[E]) Stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped = true
	c.dismiss(len(c.idle))
	c.spare = 0
}
