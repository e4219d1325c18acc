package engine

import (
	"sync"
	"testing"
)

func TestGate(t *testing.T) {
	t.Parallel()
	g := inflightCounter{idle: make(chan struct{})}
	for range 2 {
		if !g.enter() {
			t.Fatal("an open gate refuses")
		}
	}
	g.leave()
	g.shut()
	if g.enter() {
		t.Error("a shut gate lets in")
	}
	select {
	case <-g.idle:
		t.Fatal("it is idle, though one is inside")
	default:
	}
	g.leave()
	<-g.idle
	g.shut()
	if g.enter() {
		t.Error("a shut gate lets in")
	}
}

// Whoever was let in is waited for, whatever happens at the same moment.
func TestGateUnderRace(t *testing.T) {
	t.Parallel()
	for range 200 {
		g := inflightCounter{idle: make(chan struct{})}
		inside := make([]bool, 8)
		var all sync.WaitGroup
		for i := range inside {
			all.Go(func() {
				if g.enter() {
					inside[i] = true
					inside[i] = false
					g.leave()
				}
			})
		}
		all.Go(g.shut)
		<-g.idle
		for i := range inside {
			if inside[i] { // a race, if nobody waited for it
				t.Error("one is inside")
			}
		}
		all.Wait()
	}
}

func TestLoners(t *testing.T) {
	t.Parallel()
	e := &Engine{}
	var all []*conn
	for range 100 {
		c := &e.newSessionless().alone
		e.sessionless.add(c)
		all = append(all, c)
	}
	for i, c := range all {
		if known := e.sessionless.appendTo(nil); len(known) != len(all)-i {
			t.Fatalf("%d are known, want %d", len(known), len(all)-i)
		}
		e.sessionless.remove(c)
	}
	if known := e.sessionless.appendTo(nil); len(known) != 0 {
		t.Errorf("%d are known that have gone", len(known))
	}
}
