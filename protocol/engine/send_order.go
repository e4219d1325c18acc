package engine

import "sync"

// sendOrder is the place of a request of ours among several that are sent together. It makes them go
// out in order, which is the order in which a person sees them. A nil sendOrder does not wait.
type sendOrder struct {
	before <-chan struct{} // closed when the request before has been sent or has failed
	after  chan struct{}   // the same for this request
	passed sync.Once
}

// await waits for the turn.
func (t *sendOrder) await() {
	if t != nil {
		<-t.before
	}
}

// pass gives the turn to the next request, after waiting for it. Further calls have no effect.
func (t *sendOrder) pass() {
	if t != nil {
		t.await()
		t.passed.Do(func() { close(t.after) })
	}
}

// inTurn runs do n times concurrently, each with its turn, and returns when all have returned.
func inTurn(n int, do func(i int, t *sendOrder)) {
	if n == 1 {
		do(0, nil)
		return
	}
	first := make(chan struct{})
	close(first)
	var running sync.WaitGroup
	for i, before := 0, first; i < n; i++ {
		t := &sendOrder{before: before, after: make(chan struct{})}
		running.Go(func() {
			defer t.pass()
			do(i, t)
		})
		before = t.after
	}
	running.Wait()
}
