package engine

import "sync"

// turn is the place of a request of ours among those that are made at once: a person who
// answers them sees them in the order in which they are sent. A nil turn waits for nothing.
type turn struct {
	before <-chan struct{} // closed when the one before has been sent, or never will be
	after  chan struct{}   // the same for this one
	passed sync.Once
}

// await returns when it is this one's turn.
func (t *turn) await() {
	if t != nil {
		<-t.before
	}
}

// pass lets the next one go, after those before this one. Further calls do nothing.
func (t *turn) pass() {
	if t != nil {
		t.await()
		t.passed.Do(func() { close(t.after) })
	}
}

// inTurn runs do n times at once, each with a turn, and returns when all have returned.
func inTurn(n int, do func(i int, t *turn)) {
	if n == 1 {
		do(0, nil)
		return
	}
	first := make(chan struct{})
	close(first)
	var running sync.WaitGroup
	for i, before := 0, first; i < n; i++ {
		t := &turn{before: before, after: make(chan struct{})}
		running.Go(func() {
			defer t.pass()
			do(i, t)
		})
		before = t.after
	}
	running.Wait()
}
