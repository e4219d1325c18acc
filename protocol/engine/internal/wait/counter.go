package wait

import (
	"sync"
	"sync/atomic"
)

// Counter counts running exchanges, and refuses new ones after Close. It is atomic, because every
// exchange would contend for a mutex.
type Counter struct {
	n    atomic.Int64  // 2 for each exchange, plus 1 after Close
	idle chan struct{} // closed when the counter is closed and all exchanges have left
	once sync.Once     // closes idle
}

// NewCounter returns an open counter.
func NewCounter() *Counter { return &Counter{idle: make(chan struct{})} }

// Enter adds an exchange. It returns false if the counter is closed.
func (g *Counter) Enter() bool {
	if g.n.Add(2)&1 == 0 {
		return true
	}
	g.Leave()
	return false
}

// Leave reverses Enter.
func (g *Counter) Leave() {
	if g.n.Add(-2) == 1 {
		g.once.Do(func() { close(g.idle) })
	}
}

// Close refuses further exchanges. It does not wait; see Idle.
func (g *Counter) Close() {
	if g.n.Or(1) == 0 {
		g.once.Do(func() { close(g.idle) })
	}
}

// Idle returns a channel that is closed when the counter is closed and all exchanges have left.
func (g *Counter) Idle() <-chan struct{} { return g.idle }
