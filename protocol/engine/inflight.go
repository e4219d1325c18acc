package engine

import (
	"sync"
	"sync/atomic"
)

// inflightCounter counts running exchanges, and refuses new ones after shut was called. It is atomic,
// because every exchange would contend for a mutex.
type inflightCounter struct {
	n    atomic.Int64  // 2 for each exchange, plus 1 after shut
	idle chan struct{} // closed when the counter is shut and all exchanges have left
	once sync.Once     // closes idle
}

// enter adds an exchange. It returns false if the counter is shut.
func (g *inflightCounter) enter() bool {
	if g.n.Add(2)&1 == 0 {
		return true
	}
	g.leave()
	return false
}

// leave reverses enter.
func (g *inflightCounter) leave() {
	if g.n.Add(-2) == 1 {
		g.once.Do(func() { close(g.idle) })
	}
}

// shut refuses further exchanges. It does not wait: idle is closed when all exchanges have left.
func (g *inflightCounter) shut() {
	if g.n.Or(1) == 0 {
		g.once.Do(func() { close(g.idle) })
	}
}
