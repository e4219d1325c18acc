package engine

import (
	"sync"
	"sync/atomic"
)

// inflightCounter counts exchanges in and out until it is shut. It is an atomic counter, because all exchanges
// would contend for a lock.
type inflightCounter struct {
	n    atomic.Int64  // 2 for each exchange inside, plus 1 when the gate is shut
	idle chan struct{} // closed when the gate is shut and nothing is inside
	once sync.Once     // closes idle
}

// enter counts an exchange in. It returns false if the gate is shut.
func (g *inflightCounter) enter() bool {
	if g.n.Add(2)&1 == 0 {
		return true
	}
	g.leave()
	return false
}

// leave undoes enter.
func (g *inflightCounter) leave() {
	if g.n.Add(-2) == 1 {
		g.once.Do(func() { close(g.idle) })
	}
}

// shut lets nothing more in. It does not wait: idle is closed when all have left.
func (g *inflightCounter) shut() {
	if g.n.Or(1) == 0 {
		g.once.Do(func() { close(g.idle) })
	}
}
