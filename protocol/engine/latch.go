package engine

import "sync/atomic"

// latch is an event that happens once. It makes a channel only when somebody waits: most
// latches of sessions are never waited for, and there are many sessions.
type latch struct{ state atomic.Pointer[waiting] }

// waiting is for a latch that has not happened.
type waiting struct{ happens chan struct{} }

// happened is the state of all latches that have; immutable.
var happened = new(waiting)

// release says that the event has happened. Further calls do nothing.
func (l *latch) release() {
	if w := l.state.Swap(happened); w != nil && w != happened {
		close(w.happens)
	}
}

// wait is a channel that is closed when the event happens; already: it has happened, and the
// channel is nil.
func (l *latch) wait() (happens <-chan struct{}, already bool) {
	w := l.state.Load()
	if w == nil {
		l.state.CompareAndSwap(nil, &waiting{make(chan struct{})})
		w = l.state.Load()
	}
	return w.happens, w == happened
}
