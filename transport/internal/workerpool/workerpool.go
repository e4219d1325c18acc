// Package workerpool uses goroutines again. Their stacks have grown already, and growing the stack
// of a new goroutine costs more than all else that a carrier does for a request (ADR 34).
//
//	p := workerpool.New(closing, func(i *item) { ... })
//	p.Run(i) // for each item
//	p.Stop()
//
// Every item gets a goroutine at once, however many there are: the owner limits them. A goroutine
// without work ends within half a second, so that an idle carrier has none. The pool keeps nothing
// of an item.
package workerpool

import (
	"sync"
	"time"
)

// Pool serves items, each in a goroutine. It is safe for concurrent use.
//
// A worker is busy, or idle and then in the stack idle. Run takes the worker on top, or starts one.
// A timer calls look as long as a worker is idle: it dismisses the workers that were idle all the
// time since the last look. After Stop a worker ends with its item.
type Pool[E any] struct {
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

// worker is the channel that one goroutine receives its items on. It is 1-buffered, so that Run
// does not wait.
type worker[E any] chan E

// New returns a pool without goroutines. It stops when closing is closed, or by Stop. serve must not
// panic, but may end its goroutine by runtime.Goexit.
func New[E any](closing <-chan struct{}, serve func(E)) *Pool[E] {
	return &Pool[E]{closing: closing, serve: serve}
}

// breather is the shortest time that an idle worker stays; the longest is twice that.
const breather = 250 * time.Millisecond

// Run serves item in a goroutine of the pool, and does not wait for it. It also works after Stop:
// the goroutine then ends with the item.
func (p *Pool[E]) Run(item E) {
	w, idle := p.take()
	if !idle {
		w = make(worker[E], 1)
		go p.work(w)
	}
	w <- item
}

// take returns an idle worker. If there is none, it counts in a new one, which the caller must start.
func (p *Pool[E]) take() (w worker[E], idle bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.idle) - 1
	if n < 0 {
		p.join()
		return nil, false
	}
	w, p.idle[n] = p.idle[n], nil
	p.idle = p.idle[:n]
	p.spare = min(p.spare, n)
	return w, true
}

// join counts a worker in. The caller holds mu.
func (p *Pool[E]) join() {
	p.count++
	if p.count == 1 && p.closing != nil && !p.stopped {
		p.empty = make(chan struct{})
		go p.watch(p.empty)
	}
}

// leave counts a worker out.
func (p *Pool[E]) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.count--; p.count == 0 && p.empty != nil {
		close(p.empty)
		p.empty = nil
	}
}

// watch is the goroutine that waits for closing on behalf of all workers.
func (p *Pool[E]) watch(empty <-chan struct{}) {
	select {
	case <-p.closing:
		p.Stop()
	case <-empty:
	}
}

// work is the goroutine of a worker. It ends when the worker is dismissed, or when serve
// ends the goroutine.
func (p *Pool[E]) work(w worker[E]) {
	defer p.leave()
	for item := range w {
		p.serve(item)
		if !p.put(w) {
			return
		}
	}
}

// put makes a worker idle. It returns false if the pool has stopped. The worker ends then.
func (p *Pool[E]) put(w worker[E]) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped {
		return false
	}
	p.idle = append(p.idle, w)
	if !p.looking {
		p.looking = true
		time.AfterFunc(breather, p.look)
	}
	return true
}

// look is called by a timer: it dismisses the workers that were not needed since the last
// time.
func (p *Pool[E]) look() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dismiss(p.spare)
	p.spare = len(p.idle)
	if p.looking = p.spare > 0; p.looking {
		time.AfterFunc(breather, p.look)
	}
}

// dismiss ends the n workers that have been idle for the longest time. The caller holds mu.
func (p *Pool[E]) dismiss(n int) {
	for _, w := range p.idle[:n] {
		close(w)
	}
	rest := copy(p.idle, p.idle[n:])
	clear(p.idle[rest:])
	p.idle = p.idle[:rest]
}

// Stop dismisses idle workers at once, and the others after their items. It does not wait for them.
func (p *Pool[E]) Stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopped = true
	p.dismiss(len(p.idle))
	p.spare = 0
}
