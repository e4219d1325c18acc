package engine

import "sync/atomic"

// latch is something that happens once. It has a channel only where somebody has waited
// for it: most of the many that idle sessions have are never waited for.
type latch struct{ state atomic.Pointer[waiting] }

// waiting is for a latch that has not happened.
type waiting struct{ happens chan struct{} }

// happened is the state of all latches that have; immutable.
var happened = new(waiting)

// release says that it has happened. More than once is as once.
func (l *latch) release() {
	if w := l.state.Swap(happened); w != nil && w != happened {
		close(w.happens)
	}
}

// wait is closed when it happens; nil and true: it has.
func (l *latch) wait() (happens <-chan struct{}, already bool) {
	w := l.state.Load()
	if w == nil {
		l.state.CompareAndSwap(nil, &waiting{make(chan struct{})})
		w = l.state.Load()
	}
	return w.happens, w == happened
}
