package memory_test

import (
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/framework/store/memory"
	"github.com/kagami-mcp/kagami/protocol/eventlog"
	"github.com/kagami-mcp/kagami/protocol/task"
)

// Each goroutine has a stream of its own. "own store" is what no division of the
// mutex could beat.
func BenchmarkAppend(b *testing.B) {
	frame := make([]byte, 300)
	shared := memory.New().Events()
	for name, open := range map[string]func() eventlog.Store{
		"one store": func() eventlog.Store { return shared },
		"own store": func() eventlog.Store { return memory.New().Events() },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var n atomic.Int64
			b.RunParallel(func(pb *testing.PB) {
				events, stream, ctx := open(), strconv.FormatInt(n.Add(1), 10), b.Context()
				for pb.Next() {
					if _, err := events.Append(ctx, stream, frame); err != nil {
						b.Error(err)
					}
				}
			})
		})
	}
}

func BenchmarkAfter(b *testing.B) {
	events := memory.New().Events()
	ctx := b.Context()
	var last uint64
	for range 20000 { // the ring has turned
		last, _ = events.Append(ctx, "s", make([]byte, 300))
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := events.After(ctx, "s", last-10); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkClaim(b *testing.B) {
	claims := memory.New().Claims()
	value := make([]byte, 100)
	b.ReportAllocs()
	var n atomic.Int64
	b.RunParallel(func(pb *testing.PB) {
		key, ctx := strconv.FormatInt(n.Add(1), 10), b.Context()
		for pb.Next() {
			if _, mine, err := claims.Claim(ctx, key, value, time.Hour); !mine || err != nil {
				b.Error(mine, err)
			}
			if err := claims.Delete(ctx, key, nil); err != nil {
				b.Error(err)
			}
		}
	})
}

// A store that is full of claims that live, one more each second.
func BenchmarkSwapAmongMany(b *testing.B) {
	claims, ctx := memory.New().Claims(), b.Context()
	const many = 200_000
	for i := range many {
		if _, _, err := claims.Claim(ctx, strconv.Itoa(i), nil, time.Hour+time.Duration(i)*time.Second); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if _, err := claims.Swap(ctx, strconv.Itoa(i%many), nil, nil, time.Hour*time.Duration(i%1000+1)); err != nil {
			b.Fatal(err)
		}
	}
}

// From creation to result, a poll between: what a task costs the store.
func BenchmarkTask(b *testing.B) {
	s, call := memory.New().Tasks(), make([]byte, 1024)
	b.ReportAllocs()
	var n atomic.Int64
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			r := record(strconv.FormatInt(n.Add(1), 10))
			r.Call = call
			if err := s.Create(b.Context(), r); err != nil {
				b.Error(err)
			}
			if err := happens(b, s, r.ID, task.Event{Kind: task.Complete, Result: call}); err != nil {
				b.Error(err)
			}
			if _, err := s.Get(b.Context(), r.ID); err != nil {
				b.Error(err)
			}
		}
	})
}

// From creation to the end by way of the queue, with a worker that is waiting: what it
// costs to hand a task over.
func BenchmarkQueue(b *testing.B) {
	q, call, ctx := queue(0), make([]byte, 1024), b.Context()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range b.N {
			l, err := q.Take(ctx)
			if err != nil {
				b.Error(err)
				return
			}
			if err := happens(b, q, l.Task, task.Event{Kind: task.Complete, Result: call}); err != nil {
				b.Error(err)
			}
			if err := q.Release(ctx, l); err != nil {
				b.Error(err)
			}
		}
	}()
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		r := record(strconv.Itoa(i))
		r.Call = call
		for q.Create(ctx, r) != nil { // the worker is behind
			time.Sleep(time.Millisecond)
		}
	}
	<-done
}

// Take and Release among many that are leased, or wait.
func BenchmarkTakeAmongMany(b *testing.B) {
	q, ctx := queue(0), b.Context()
	const many = 90_000
	for i := range many {
		r := record(strconv.Itoa(i))
		r.TTL = 0
		if err := q.Create(ctx, r); err != nil {
			b.Fatal(err)
		}
		if i%2 == 0 {
			if _, err := q.Take(ctx); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		l, err := q.Take(ctx)
		if err != nil {
			b.Fatal(err)
		}
		if err := q.Release(ctx, l); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPublish(b *testing.B) {
	bus, message := memory.New().Changes(), make([]byte, 200)
	for range 4 {
		go func() { _ = bus.Subscribe(b.Context(), func([]byte) {}) }()
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := bus.Publish(b.Context(), message); err != nil {
			b.Fatal(err)
		}
	}
}
