package wait

import "sync"

// Order is the position of one goroutine among several that act one after the other, such as requests
// to the client that a person must see in their order. A nil Order does not wait.
//
// The goroutines form a chain: the after of each is the before of the next. Pass closes after, once
// before is closed.
type Order struct {
	before <-chan struct{} // closed when the previous goroutine has passed
	after  chan struct{}   // closed by Pass
	passed sync.Once
}

// Await waits until this goroutine may act.
func (t *Order) Await() {
	if t != nil {
		<-t.before
	}
}

// Pass lets the next goroutine act, after it has waited for its own turn. Further calls have no
// effect.
func (t *Order) Pass() {
	if t != nil {
		t.Await()
		t.passed.Do(func() { close(t.after) })
	}
}

// InOrder calls do n times concurrently, each with its Order, and returns when all calls have
// returned.
func InOrder(n int, do func(i int, t *Order)) {
	if n == 1 {
		do(0, nil)
		return
	}
	first := make(chan struct{})
	close(first)
	var running sync.WaitGroup
	for i, before := 0, first; i < n; i++ {
		t := &Order{before: before, after: make(chan struct{})}
		running.Go(func() {
			defer t.Pass()
			do(i, t)
		})
		before = t.after
	}
	running.Wait()
}
