package engine

import "sync"

// sendOrder is the position of a request to the client among several that are sent together. They are
// sent in this order, so that a person sees them in this order. A nil sendOrder does not wait.
//
// The requests form a chain: the after of each request is the before of the next. pass closes after,
// once before is closed.
type sendOrder struct {
	before <-chan struct{} // closed when the previous request has been sent or has failed
	after  chan struct{}   // closed by pass
	passed sync.Once
}

// await waits until this request may be sent.
func (t *sendOrder) await() {
	if t != nil {
		<-t.before
	}
}

// pass lets the next request be sent, after it has waited for its own turn. Further calls have no
// effect.
func (t *sendOrder) pass() {
	if t != nil {
		t.await()
		t.passed.Do(func() { close(t.after) })
	}
}

// inTurn calls do n times concurrently, each with its sendOrder, and returns when all calls have
// returned.
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
