package client

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// queueSize is how many notifications may wait for their handlers.
	queueSize = 1024

	// patience is how long an answer is held back by a handler that has been
	// running since before the question: it may be the one that asks.
	patience = time.Second
)

// dispatcher runs the handlers of notifications in order.
type dispatcher struct {
	queue   chan func(context.Context) // closed by the reader
	waiting atomic.Int64               // queued or running
	current atomic.Uint64              // number of the handler that runs; 0: none
	stopped chan struct{}              // closed by Close: what waits is dropped
	once    sync.Once
	ctx     context.Context //nolint:containedctx // what handlers get; marked, so that their calls are known
}

type insideKey struct{}

func (d *dispatcher) init(l *link) {
	d.queue = make(chan func(context.Context), queueSize)
	d.stopped = make(chan struct{})
	d.ctx = context.WithValue(l.life, insideKey{}, d)
}

// run is the dispatcher goroutine. After the connection was lost it still handles
// what arrived before.
func (d *dispatcher) run() {
	var number uint64
	for work := range d.queue {
		select {
		case <-d.stopped:
			continue
		default:
		}
		number++
		d.current.Store(number)
		work(d.ctx)
		d.current.Store(0)
		d.waiting.Add(-1)
	}
}

// push is for the reader only. It blocks while the queue is full.
func (d *dispatcher) push(work func(context.Context)) {
	d.waiting.Add(1)
	select {
	case d.queue <- work:
	case <-d.stopped:
	}
}

// barrier is closed when everything pushed before has been handled; nil if that
// is so already. For the reader only.
func (d *dispatcher) barrier() <-chan struct{} {
	if d.waiting.Load() == 0 {
		return nil
	}
	done := make(chan struct{})
	d.push(func(context.Context) { close(done) })
	return done
}

// settle waits for a barrier. A call made by a handler does not wait, for the
// barrier is behind that handler. Where the context does not tell, the call may
// still come from the handler that runs: then the wait is bounded.
func (d *dispatcher) settle(ctx context.Context, w *waiter, barrier <-chan struct{}) error {
	if barrier == nil || ctx.Value(insideKey{}) == d {
		return nil
	}
	var suspicion <-chan time.Time
	if w.during != 0 && w.during == d.current.Load() {
		timer := time.NewTimer(patience)
		defer timer.Stop()
		suspicion = timer.C
	}
	select {
	case <-barrier:
	case <-suspicion:
	case <-d.stopped:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// end is called by the reader when nothing follows.
func (d *dispatcher) end() { close(d.queue) }

// stop drops what waits.
func (d *dispatcher) stop() { d.once.Do(func() { close(d.stopped) }) }
