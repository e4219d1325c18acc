// Package tally counts what runs, so that whoever stops it can wait for it.
package tally

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Tally counts requests, exchanges and streams. Safe for concurrent use; counting takes
// no lock, since every request of a server does it.
type Tally struct {
	state atomic.Int64  // how many run, plus the bit stopped
	idle  chan struct{} // closed when it has stopped and nothing runs
	told  sync.Once     // closes idle
}

// stopped is a bit of the state.
const stopped = 1 << 62

// New is a Tally of nothing.
func New() *Tally { return &Tally{idle: make(chan struct{})} }

// Begin counts something in, until End; false when the tally stops.
func (t *Tally) Begin() bool {
	if t.state.Add(1)&stopped == 0 {
		return true
	}
	t.End()
	return false
}

// Join counts in what is a part of something that is counted itself.
func (t *Tally) Join() { t.state.Add(1) }

// End undoes one Begin or Join.
func (t *Tally) End() {
	if t.state.Add(-1) == stopped {
		t.tell()
	}
}

// Idle says whether nothing runs.
func (t *Tally) Idle() bool { return t.state.Load()&^stopped == 0 }

// tell closes idle, once. What joins afterwards is not waited for.
func (t *Tally) tell() { t.told.Do(func() { close(t.idle) }) }

// Stop lets nothing more in. The channel is closed when nothing runs.
func (t *Tally) Stop() <-chan struct{} {
	if t.state.Or(stopped)&^stopped == 0 {
		t.tell()
	}
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
