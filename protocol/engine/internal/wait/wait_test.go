package wait_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kagami-mcp/kagami/protocol/engine/internal/wait"
)

func TestCounter(t *testing.T) {
	t.Parallel()
	g := wait.NewCounter()
	for range 2 {
		if !g.Enter() {
			t.Fatal("an open counter refuses")
		}
	}
	g.Leave()
	g.Close()
	if g.Enter() {
		t.Error("a closed counter accepts an exchange")
	}
	select {
	case <-g.Idle():
		t.Fatal("it is idle, but one exchange is inside")
	default:
	}
	g.Leave()
	<-g.Idle()
	g.Close()
	if g.Enter() {
		t.Error("a closed counter accepts an exchange")
	}
}

// TestCounterUnderRace: the counter waits for every exchange that it has accepted, even if it is
// closed at the same moment.
func TestCounterUnderRace(t *testing.T) {
	t.Parallel()
	for range 200 {
		g := wait.NewCounter()
		inside := make([]bool, 8)
		var all sync.WaitGroup
		for i := range inside {
			all.Go(func() {
				if g.Enter() {
					inside[i] = true
					inside[i] = false
					g.Leave()
				}
			})
		}
		all.Go(g.Close)
		<-g.Idle()
		for i := range inside {
			if inside[i] { // the race detector fails if the counter did not wait
				t.Error("an exchange is inside")
			}
		}
		all.Wait()
	}
}

// TestGroup: a group waits for what Begin and Add have added, and Begin refuses after Close.
func TestGroup(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := wait.NewGroup()
		if !g.Begin() || g.Closed() {
			t.Fatal("an open group refuses")
		}
		g.Add()
		begun := time.Now()
		go g.Close()
		if g.Pause(time.Hour); time.Since(begun) != 0 {
			t.Error("Close did not end the pause")
		}
		<-g.Closing()
		g.Close()
		if g.Begin() || !g.Closed() {
			t.Error("a closed group accepts a goroutine")
		}
		ended := make(chan struct{})
		go func() { g.Wait(); close(ended) }()
		for range 2 {
			synctest.Wait()
			select {
			case <-ended:
				t.Fatal("Wait has returned before all goroutines were done")
			default:
			}
			g.Done()
		}
		<-ended
	})
}

// TestInOrder: goroutines that wait for their turn act in order, also if an earlier one does not act
// at all.
func TestInOrder(t *testing.T) {
	t.Parallel()
	var seen []int
	wait.InOrder(20, func(i int, o *wait.Order) {
		if i%3 == 0 {
			return
		}
		o.Await()
		seen = append(seen, i)
		o.Pass()
		o.Pass()
	})
	last := -1
	for _, i := range seen {
		if i < last {
			t.Errorf("out of order: %v", seen)
		}
		last = i
	}
	if len(seen) != 13 {
		t.Errorf("%d have acted, want 13", len(seen))
	}
	wait.InOrder(1, func(_ int, o *wait.Order) { o.Await(); o.Pass() })
}

func TestLatch(t *testing.T) {
	t.Parallel()
	var l wait.Latch
	happens, already := l.Wait()
	if again, _ := l.Wait(); already || happens == nil || again != happens {
		t.Fatal("a new latch has happened, or has two channels")
	}
	l.Release()
	l.Release()
	<-happens
	if _, already = l.Wait(); !already {
		t.Error("a released latch has not happened")
	}
}
