package engine

import (
	"sync"
	"sync/atomic"
)

// gate counts exchanges in and out without a lock, which all of them would share, and
// is shut once.
type gate struct {
	n    atomic.Int64  // two for each that is inside; one more: it is shut
	idle chan struct{} // closed when it is shut and nobody is inside
	once sync.Once
}

func (g *gate) enter() bool {
	if g.n.Add(2)&1 == 0 {
		return true
	}
	g.leave()
	return false
}

func (g *gate) leave() {
	if g.n.Add(-2) == 1 {
		g.once.Do(func() { close(g.idle) })
	}
}

func (g *gate) shut() {
	if g.n.Or(1) == 0 {
		g.once.Do(func() { close(g.idle) })
	}
}
