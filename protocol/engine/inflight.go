package engine

import (
	"sync"
	"sync/atomic"
)

// gate counts exchanges in and out until it is shut. A counter does it instead of a lock,
// for which all exchanges would contend.
type gate struct {
	n    atomic.Int64  // 2 for each exchange inside, plus 1 when the gate is shut
	idle chan struct{} // closed when it is shut and nobody is inside
	once sync.Once
}

// enter counts an exchange in; false: the gate is shut.
func (g *gate) enter() bool {
	if g.n.Add(2)&1 == 0 {
		return true
	}
	g.leave()
	return false
}

// leave counts out what enter has counted in.
func (g *gate) leave() {
	if g.n.Add(-2) == 1 {
		g.once.Do(func() { close(g.idle) })
	}
}

// shut lets nothing more in. It does not wait: idle says when all have left.
func (g *gate) shut() {
	if g.n.Or(1) == 0 {
		g.once.Do(func() { close(g.idle) })
	}
}
