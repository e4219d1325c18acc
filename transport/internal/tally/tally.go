// Package tally counts what runs, so that whoever stops it can wait for it.
package tally

import (
	"context"
	"sync"
	"time"
)

// Tally counts requests, exchanges and streams. Safe for concurrent use.
type Tally struct {
	mu       sync.Mutex // guards the fields below
	stopping bool
	running  int
	idle     chan struct{} // closed when stopping and running was 0
	told     bool          // it is closed
}

// New is a Tally of nothing.
func New() *Tally { return &Tally{idle: make(chan struct{})} }

// Begin counts something in, until End; false when the tally stops.
func (t *Tally) Begin() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stopping {
		return false
	}
	t.running++
	return true
}

// Join counts in what is a part of something that is counted itself.
func (t *Tally) Join() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.running++
}

// End undoes one Begin or Join.
func (t *Tally) End() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.running--
	t.tell()
}

// tell wakes who waits, once: what joins afterwards was not waited for.
func (t *Tally) tell() {
	if t.stopping && t.running == 0 && !t.told {
		t.told = true
		close(t.idle)
	}
}

// Stop lets nothing more in. The channel is closed when nothing runs.
func (t *Tally) Stop() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stopping = true
	t.tell()
	return t.idle
}

// stopGrace is how long Drain waits after cancelling.
const stopGrace = 2 * time.Second

// Drain stops and waits until nothing runs. When ctx ends it calls cancel, gives
// what runs two more seconds, and returns ctx's error.
func (t *Tally) Drain(ctx context.Context, cancel func()) error {
	idle := t.Stop()
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
