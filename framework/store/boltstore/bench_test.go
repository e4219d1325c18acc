package boltstore_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/framework/store/boltstore"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/task"
)

// together runs b.N times do, by so many at once.
func together(b *testing.B, workers int, do func(n int64) error) {
	b.Helper()
	var (
		all  sync.WaitGroup
		next atomic.Int64
	)
	b.ResetTimer()
	for range workers {
		all.Go(func() {
			for {
				n := next.Add(1)
				if n > int64(b.N) {
					return
				}
				if err := do(n); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "ops/s")
}

// BenchmarkTask is all that a task costs the store: Create, Take, the Update that
// completes it, Release.
func BenchmarkTask(b *testing.B) {
	for _, workers := range []int{1, 64} {
		b.Run(fmt.Sprint(workers), func(b *testing.B) {
			q, call := queue(open(b)), make([]byte, 1024)
			together(b, workers, func(n int64) error { return live(b, q, fmt.Sprint(n), call) })
		})
	}
}

func live(b *testing.B, q interface {
	task.Store
	task.Queue
}, id string, call []byte,
) error {
	b.Helper()
	ctx, r := b.Context(), working(id)
	r.Call = call
	if err := q.Create(ctx, r); err != nil {
		return err
	}
	l, err := q.Take(ctx)
	if err != nil {
		return err
	}
	if r, err = q.Get(ctx, l.Task); err != nil {
		return err
	}
	r.Status, r.Result = protocol.TaskCompleted, call
	if err := q.Update(ctx, r); err != nil {
		return err
	}
	return q.Release(ctx, l)
}

// BenchmarkCreate is one write.
func BenchmarkCreate(b *testing.B) {
	for _, workers := range []int{1, 64} {
		b.Run(fmt.Sprint(workers), func(b *testing.B) {
			q := queue(open(b))
			together(b, workers, func(n int64) error { return q.Create(b.Context(), working(fmt.Sprint(n))) })
		})
	}
}

// BenchmarkAppend is an event of a stream, each of the workers' own.
func BenchmarkAppend(b *testing.B) {
	for name, opts := range map[string][]boltstore.Option{"not synced": nil, "synced": {boltstore.SyncEvents()}} {
		for _, workers := range []int{1, 64} {
			b.Run(fmt.Sprint(name, "/", workers), func(b *testing.B) {
				e, frame := open(b, opts...).Events(), make([]byte, 300)
				together(b, workers, func(n int64) error {
					_, err := e.Append(b.Context(), fmt.Sprint(n%int64(workers)), frame)
					return err
				})
			})
		}
	}
}

func BenchmarkAdd(b *testing.B) {
	for _, workers := range []int{1, 64} {
		b.Run(fmt.Sprint(workers), func(b *testing.B) {
			c := open(b).Claims()
			together(b, workers, func(n int64) error {
				_, err := c.Add(b.Context(), fmt.Sprint(n%100), 1, time.Hour)
				return err
			})
		})
	}
}

// BenchmarkCount is an owner's with 1,000 tasks.
func BenchmarkCount(b *testing.B) {
	s := open(b)
	fill(b, s.Tasks(), 1000, 100)
	for b.Loop() {
		if n, err := s.Tasks().Count(b.Context(), "owner"); n != 1000 || err != nil {
			b.Fatal(n, err)
		}
	}
}

// BenchmarkOpen is with 100 MB of tasks.
func BenchmarkOpen(b *testing.B) {
	path := filepath.Join(b.TempDir(), "store")
	s := reopen(b, path)
	fill(b, s.Tasks(), 20_000, 5000)
	closes(b, s)
	for b.Loop() {
		closes(b, reopen(b, path))
	}
}

// BenchmarkCreateAfterMany have gone: the list of what is free in the file is long.
func BenchmarkCreateAfterMany(b *testing.B) {
	s := open(b)
	fill(b, s.Tasks(), 20_000, 5000)
	var all sync.WaitGroup
	for w := range 64 {
		all.Go(func() {
			for i := w; i < 20_000; i += 64 {
				if err := s.Tasks().Delete(b.Context(), fmt.Sprint(i)); err != nil {
					b.Error(err)
				}
			}
		})
	}
	all.Wait()
	together(b, 1, func(n int64) error { return s.Tasks().Create(b.Context(), working(fmt.Sprint("new ", n))) })
}

func fill(b *testing.B, s task.Store, tasks, size int) {
	b.Helper()
	var all sync.WaitGroup
	for w := range 64 {
		all.Go(func() {
			for i := w; i < tasks; i += 64 {
				r := working(fmt.Sprint(i))
				r.Call = bytes.Repeat([]byte{'x'}, size)
				if err := s.Create(b.Context(), r); err != nil {
					b.Error(err)
				}
			}
		})
	}
	all.Wait()
}
