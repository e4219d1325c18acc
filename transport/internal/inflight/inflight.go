// Package inflight counts what runs, so that the code that stops it can wait for it.
package inflight

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Counter counts requests, exchanges and streams. It is safe for concurrent use. Counting takes
// no lock, because every request of a server does it.
//
// A Counter is open until Close. After that TryAdd fails, while Add still works for parts of what
// is counted already. The channel of Close is closed when the count first reaches zero.
type Counter struct {
	state atomic.Int64  // how many run, plus the bit closed
	idle  chan struct{} // closed when the counter is closed and nothing runs
	told  sync.Once     // closes idle
}

// closed is a bit of the state.
const closed = 1 << 62

// New returns an open Counter at zero.
func New() *Counter { return &Counter{idle: make(chan struct{})} }

// TryAdd adds one, until Done. It returns false, and adds nothing, after Close.
func (t *Counter) TryAdd() bool {
	if t.state.Add(1)&closed == 0 {
		return true
	}
	t.Done()
	return false
}

// Add adds one, until Done, for a part of something that is counted already.
func (t *Counter) Add() { t.state.Add(1) }

// Done undoes one TryAdd or Add.
func (t *Counter) Done() {
	if t.state.Add(-1) == closed {
		t.tell()
	}
}

// Closed reports whether Close was called.
func (t *Counter) Closed() bool { return t.state.Load()&closed != 0 }

// Idle reports whether nothing runs.
func (t *Counter) Idle() bool { return t.state.Load()&^closed == 0 }

// tell closes idle, once. What is added afterwards is not waited for.
func (t *Counter) tell() { t.told.Do(func() { close(t.idle) }) }

// Close makes TryAdd fail from now on. The channel is closed when nothing runs any more.
func (t *Counter) Close() <-chan struct{} {
	if t.state.Or(closed)&^closed == 0 {
		t.tell()
	}
	return t.idle
}

// stopGrace is how long Drain waits after cancelling.
const stopGrace = 2 * time.Second

// Drain closes the counter and waits until nothing runs. If ctx ends first, Drain calls cancel,
// waits up to two seconds more, and returns ctx's error.
func (t *Counter) Drain(ctx context.Context, cancel func()) error {
	idle := t.Close()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
	}
	cancel()
	timer := time.NewTimer(stopGrace)
	defer timer.Stop()
	select {
	case <-idle:
	case <-timer.C:
	}
	return ctx.Err()
}
