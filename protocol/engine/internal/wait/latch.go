package wait

import "sync/atomic"

// Latch is an event that happens once. It makes a channel only when a goroutine waits: there are many
// sessions, and most of their latches are never waited for. The zero value has not happened.
type Latch struct{ state atomic.Pointer[waiting] }

// waiting is the state of a latch that has not happened and that a goroutine waits for.
type waiting struct{ happens chan struct{} }

// happened is the immutable state of all latches that have happened.
var happened = new(waiting)

// Release makes the event happen. Further calls have no effect.
func (l *Latch) Release() {
	if w := l.state.Swap(happened); w != nil && w != happened {
		close(w.happens)
	}
}

// Wait returns a channel that is closed when the event happens. If it has already happened, the
// channel is nil and already is true.
func (l *Latch) Wait() (happens <-chan struct{}, already bool) {
	w := l.state.Load()
	if w == nil {
		l.state.CompareAndSwap(nil, &waiting{make(chan struct{})})
		w = l.state.Load()
	}
	return w.happens, w == happened
}
