// Package crew keeps goroutines to use them again: their stacks have grown already, and to
// grow that of a new goroutine costs more than all else that a carrier does for a request.
//
//	c := crew.New(closing, func(e *errand) { ... })
//	c.Do(e) // for each errand
//	c.Stop()
//
// Every errand gets a goroutine at once, however many there are: the owner bounds them. A
// goroutine that had nothing to do for a while ends, so that an idle carrier has none. When
// the crew stops, each ends after its errand. The crew keeps nothing of an errand.
package crew

import (
	"sync"
	"time"
)

// Crew serves errands, each in a goroutine. Safe for concurrent use.
type Crew[E any] struct {
	closing <-chan struct{} // the owner begins to stop; nil: it calls Stop
	serve   func(E)

	mu      sync.Mutex    // guards the fields below
	count   int           // workers
	empty   chan struct{} // ends watch: closed when the last worker has ended; nil without closing
	idle    []worker[E]   // a stack: the worker that became idle last works next
	spare   int           // how many of idle were not needed since the last look
	looking bool          // the timer that calls look is set
	stopped bool
}

// worker is the channel from which one goroutine gets its errands. It is 1-buffered, so that
// Do does not wait.
type worker[E any] chan E

// New has no goroutine until there is an errand. The crew stops when closing is closed, or
// by Stop. serve does an errand, may end its goroutine by runtime.Goexit, and does not
// panic.
func New[E any](closing <-chan struct{}, serve func(E)) *Crew[E] {
	return &Crew[E]{closing: closing, serve: serve}
}

// breather is the shortest time that an idle worker stays; the longest is twice that.
const breather = 250 * time.Millisecond

// Do has the errand served in a goroutine of the crew, and does not wait for it. It works
// after Stop, too: then the goroutine ends with the errand.
func (c *Crew[E]) Do(errand E) {
	w, idle := c.take()
	if !idle {
		w = make(worker[E], 1)
		go c.work(w)
	}
	w <- errand
}

// take returns an idle worker. If there is none, it counts in a new one, which the caller must start.
func (c *Crew[E]) take() (w worker[E], idle bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := len(c.idle) - 1
	if n < 0 {
		c.join()
		return nil, false
	}
	w, c.idle[n] = c.idle[n], nil
	c.idle = c.idle[:n]
	c.spare = min(c.spare, n)
	return w, true
}

// join counts a worker in. The caller holds mu.
func (c *Crew[E]) join() {
	c.count++
	if c.count == 1 && c.closing != nil && !c.stopped {
		c.empty = make(chan struct{})
		go c.watch(c.empty)
	}
}

// leave counts a worker out.
func (c *Crew[E]) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.count--; c.count == 0 && c.empty != nil {
		close(c.empty)
		c.empty = nil
	}
}

// watch is the goroutine that waits for closing on behalf of all workers.
func (c *Crew[E]) watch(empty <-chan struct{}) {
	select {
	case <-c.closing:
		c.Stop()
	case <-empty:
	}
}

// work is the goroutine of a worker. It ends when the worker is dismissed, or when an errand
// ends the goroutine.
func (c *Crew[E]) work(w worker[E]) {
	defer c.leave()
	for errand := range w {
		c.serve(errand)
		if !c.put(w) {
			return
		}
	}
}

// put makes a worker idle. It returns false if the crew has stopped: then the worker ends.
func (c *Crew[E]) put(w worker[E]) bool {
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

// look is called by a timer: it dismisses the workers that were not needed since the last
// time.
func (c *Crew[E]) look() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dismiss(c.spare)
	c.spare = len(c.idle)
	if c.looking = c.spare > 0; c.looking {
		time.AfterFunc(breather, c.look)
	}
}

// dismiss ends the n workers that have been idle for the longest time. The caller holds mu.
func (c *Crew[E]) dismiss(n int) {
	for _, w := range c.idle[:n] {
		close(w)
	}
	rest := copy(c.idle, c.idle[n:])
	clear(c.idle[rest:])
	c.idle = c.idle[:rest]
}

// Stop dismisses all workers: idle ones at once, the others after their errands, for which
// it does not wait.
func (c *Crew[E]) Stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped = true
	c.dismiss(len(c.idle))
	c.spare = 0
}
