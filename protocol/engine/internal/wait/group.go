package wait

import (
	"sync"
	"sync/atomic"
	"time"
)

// Group counts goroutines, and refuses new ones after Close. Close changes the state under mu, and
// Begin adds under mu. No goroutine is therefore added by Begin after Close has returned, and Wait
// misses none of them.
type Group struct {
	closing chan struct{} // closed by Close
	closed  atomic.Bool   // set under mu, read without it
	mu      sync.Mutex    // held by Begin and Close
	running sync.WaitGroup
}

// NewGroup returns an open group.
func NewGroup() *Group { return &Group{closing: make(chan struct{})} }

// Begin adds a goroutine, which must call Done. It returns false if the group is closed.
func (g *Group) Begin() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed.Load() {
		return false
	}
	g.running.Add(1)
	return true
}

// Go runs do in a goroutine. It returns false, and runs nothing, if the group is closed.
func (g *Group) Go(do func()) bool {
	if !g.Begin() {
		return false
	}
	go func() {
		defer g.Done()
		do()
	}()
	return true
}

// Add adds a goroutine even if the group is closed. The caller makes sure that Wait has not been
// called yet.
func (g *Group) Add() { g.running.Add(1) }

// Done removes a goroutine.
func (g *Group) Done() { g.running.Done() }

// Close makes Begin refuse further goroutines. It does not wait, and may be called more than once.
func (g *Group) Close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.closed.Swap(true) {
		close(g.closing)
	}
}

// Closed reports whether Close was called.
func (g *Group) Closed() bool { return g.closed.Load() }

// Closing returns a channel that is closed by Close.
func (g *Group) Closing() <-chan struct{} { return g.closing }

// Wait waits until all goroutines are done. Call it after Close.
func (g *Group) Wait() { g.running.Wait() }

// Pause waits for d, or until Close.
func (g *Group) Pause(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-g.closing:
	}
}
