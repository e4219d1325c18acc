package client

import (
	"context"
	"errors"
	"fmt"
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

// errFlooded is the error of a call that a handler makes while the queue is full: the
// answer is behind what the reader has no room for before the handler has returned.
var errFlooded = fmt.Errorf("client: a handler called while %d notifications waited for it, so that no answer can be read before it returns", queueSize)

// dispatcher runs the handlers of notifications in order.
type dispatcher struct {
	queue   chan func(context.Context) // closed by the reader
	waiting atomic.Int64               // queued or running
	current atomic.Uint64              // number of the handler that runs; 0: none
	stopped chan struct{}              // closed by Close: what waits is dropped
	once    sync.Once
	ctx     context.Context //nolint:containedctx // what handlers get; marked, so that their calls are known

	mu    sync.Mutex                            // guards the fields below
	full  bool                                  // the reader waits for room
	calls map[*context.CancelCauseFunc]struct{} // those that handlers make
}

type insideKey struct{}

func (d *dispatcher) init(l *link) {
	d.queue = make(chan func(context.Context), queueSize)
	d.stopped = make(chan struct{})
	d.calls = map[*context.CancelCauseFunc]struct{}{}
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
		return
	default:
	}
	d.setFull(true)
	defer d.setFull(false)
	select {
	case d.queue <- work:
	case <-d.stopped:
	}
}

// setFull ends the calls of handlers when the queue is full: they would wait for the
// reader, which waits for them.
func (d *dispatcher) setFull(full bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.full = full
	if full {
		for cancel := range d.calls {
			(*cancel)(errFlooded)
		}
	}
}

// calling is the context of a call, which ends when a handler makes it and the queue is
// full. done is to be called at the end.
func (d *dispatcher) calling(ctx context.Context) (_ context.Context, done func()) {
	if ctx.Value(insideKey{}) != d {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.full {
		cancel(errFlooded)
	}
	d.calls[&cancel] = struct{}{}
	return ctx, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.calls, &cancel)
		cancel(nil)
	}
}

// endOf is why the context of a call has ended.
func endOf(ctx context.Context) error {
	if errors.Is(context.Cause(ctx), errFlooded) {
		return errFlooded
	}
	return ctx.Err()
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
