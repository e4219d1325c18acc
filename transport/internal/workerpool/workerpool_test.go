package workerpool_test

import (
	"bytes"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"go.uber.org/goleak"

	"github.com/kagami-mcp/kagami/transport/internal/workerpool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// who is the name of the calling goroutine.
func who() string {
	name, _, _ := bytes.Cut(debug.Stack(), []byte(" ["))
	return string(name)
}

// call is what the crews of these tests do.
func call(errand func()) { errand() }

// TestIdleWorkersEnd: one goroutine serves what comes one after the other, and ends when
// nothing comes, also if nothing stops the pool: what is left makes the bubble fail.
func TestIdleWorkersEnd(t *testing.T) {
	t.Parallel()
	for name, closing := range map[string]bool{"closing": true, "no closing": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var c *workerpool.Pool[func()]
				if c = workerpool.New(nil, call); closing {
					c = workerpool.New(make(chan struct{}), call)
				}
				served := make(map[string]int)
				for range 3 {
					for range 5 {
						c.Run(func() { served[who()]++ })
						synctest.Wait()
					}
					time.Sleep(time.Second)
				}
				if len(served) != 3 {
					t.Errorf("who served how often: %v", served)
				}
			})
		})
	}
}

// TestOnlyWhoIsNotNeededEnds: those that work all the time stay, and the others go.
func TestOnlyWhoIsNotNeededEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := workerpool.New(nil, call)
		defer c.Stop()
		var mu sync.Mutex
		served := make(map[string]int)
		at := func(n int) {
			for range n {
				c.Run(func() {
					mu.Lock()
					served[who()]++
					mu.Unlock()
					time.Sleep(time.Millisecond)
				})
			}
			time.Sleep(10 * time.Millisecond)
		}
		at(10)
		for range 200 {
			at(2)
		}
		at(10)
		synctest.Wait()
		if len(served) != 10+8 {
			t.Errorf("%d goroutines: %v", len(served), served)
		}
	})
}

// TestEachErrandHasAGoroutine: an item does not wait for another one, such as one that it adds itself,
// and each is served once.
func TestEachErrandHasAGoroutine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(*testing.T) {
		c := workerpool.New(nil, call)
		defer c.Stop()
		var all sync.WaitGroup
		for round := range 3 {
			meet := make(chan int)
			all.Add(200)
			for i := range 100 {
				c.Run(func() {
					defer all.Done()
					c.Run(func() {
						defer all.Done()
						meet <- i
					})
					<-meet
				})
			}
			all.Wait()
			if round == 1 {
				time.Sleep(time.Minute)
			}
		}
	})
}

// TestGoexit costs a goroutine, and no other errand.
func TestGoexit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		closing := make(chan struct{})
		c := workerpool.New(closing, call)
		var done atomic.Int64
		for i := range 100 {
			c.Run(func() {
				if done.Add(1); i%3 == 0 {
					runtime.Goexit()
				}
			})
			if i%5 == 0 {
				synctest.Wait()
			}
		}
		synctest.Wait()
		if done.Load() != 100 {
			t.Errorf("%d errands were done", done.Load())
		}
		close(closing)
	})
}

// TestStop: the idle end at once, the others after their errands, and what comes later is
// done all the same.
func TestStop(t *testing.T) {
	t.Parallel()
	for name, stop := range map[string]func(*workerpool.Pool[func()], chan struct{}){
		"Stop":    func(c *workerpool.Pool[func()], _ chan struct{}) { c.Stop(); c.Stop() },
		"closing": func(_ *workerpool.Pool[func()], closing chan struct{}) { close(closing) },
		"both":    func(c *workerpool.Pool[func()], closing chan struct{}) { c.Stop(); close(closing) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				closing := make(chan struct{})
				c := workerpool.New(closing, call)
				release := make(chan struct{})
				var done atomic.Int64
				for i := range 10 {
					c.Run(func() {
						if i%2 == 0 {
							<-release
						}
						done.Add(1)
					})
				}
				synctest.Wait()
				stop(c, closing)
				synctest.Wait()
				c.Run(func() { <-release; done.Add(1) })
				close(release)
				synctest.Wait()
				if done.Load() != 11 {
					t.Errorf("%d errands were done", done.Load())
				}
				c.Run(func() { done.Add(1) })
				synctest.Wait()
				if done.Load() != 12 {
					t.Error("an errand that came late was not done")
				}
			})
		})
	}
}

// TestNothingIsKept of an errand by a goroutine that waits for the next one.
func TestNothingIsKept(t *testing.T) {
	t.Parallel()
	closing := make(chan struct{})
	done := make(chan weak.Pointer[[1 << 10]byte])
	c := workerpool.New(closing, func(errand *[1 << 10]byte) { done <- weak.Make(errand) })
	c.Run(new([1 << 10]byte))
	p := <-done
	for deadline := time.Now().Add(5 * time.Second); p.Value() != nil; runtime.GC() {
		if time.Now().After(deadline) {
			t.Fatal("the errand is kept")
		}
	}
	close(closing)
}

// TestManyAtOnce: from everywhere, while workers come, go and end by themselves.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	closing := make(chan struct{})
	c := workerpool.New(closing, call)
	var done atomic.Int64
	var givers, errands sync.WaitGroup
	for range 8 {
		givers.Go(func() {
			for i := range 5000 {
				errands.Add(1)
				c.Run(func() {
					defer errands.Done()
					if done.Add(1)%97 == 0 {
						runtime.Goexit()
					}
				})
				if i == 4000 {
					go c.Stop()
				}
			}
		})
	}
	givers.Wait()
	errands.Wait()
	if done.Load() != 8*5000 {
		t.Errorf("%d errands were done", done.Load())
	}
	close(closing)
}

// TestAllocations checks that an item makes no allocation if a worker is free. It is not parallel,
// because it counts what is allocated.
func TestAllocations(t *testing.T) {
	done := make(chan struct{})
	c := workerpool.New(nil, func(int) { done <- struct{}{} })
	defer c.Stop()
	if n := testing.AllocsPerRun(1000, func() {
		c.Run(1)
		<-done
	}); n > 0.5 {
		t.Errorf("%.1f allocations an errand", n)
	}
}

// BenchmarkDo beside a goroutine for each errand, with a stack that has to grow.
func BenchmarkDo(b *testing.B) {
	done := make(chan struct{})
	errand := func(int) {
		grow(16)
		done <- struct{}{}
	}
	b.Run("pool", func(b *testing.B) {
		c := workerpool.New(nil, errand)
		defer c.Stop()
		b.ReportAllocs()
		for b.Loop() {
			c.Run(1)
			<-done
		}
	})
	b.Run("go", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			go errand(1)
			<-done
		}
	})
}

//go:noinline
func grow(n int) byte {
	var a [1 << 10]byte
	if n > 0 {
		a[n] = grow(n - 1)
	}
	return a[n]
}
