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
	// queueSize limits the notifications that wait for their handlers.
	queueSize = 1024

	// patience limits how long an answer is held back because of a handler that was running when
	// the call was made. That handler may have made the call.
	patience = time.Second
)

// errFlooded ends a call that a handler makes while the queue is full. The reader cannot read the
// answer before the handler returns.
var errFlooded = fmt.Errorf("client: a handler made a call while %d notifications waited for it: the answer cannot be read before the handler returns", queueSize)

// dispatcher runs the handlers of notifications, in order. The reader fills the queue (push) and
// closes it when the connection ends. One goroutine empties it (run). Close closes stopped: the
// running handler finishes, and queued work is dropped.
//
// While the queue is full, the reader waits, and calls that handlers are making cannot get their
// answers. setFull and calling therefore cancel those calls. full and calls are guarded by mu.
//
// waiting is incremented by the reader before it sends, and decremented by run after the handler. A
// barrier is therefore needed only if it is not 0. current changes in run alone; await reads it, so
// that settle can recognize a call that the running handler may have made. ctx is the same for all
// handlers.
//
// mu is not held while a handler runs, nor during a send to queue.
type dispatcher struct {
	queue   chan func(context.Context) // closed by the reader
	waiting atomic.Int64               // number of queued or running handlers
	current atomic.Uint64              // number of the running handler; 0 if none runs
	stopped chan struct{}              // closed by Close, to drop queued work
	ctx     context.Context            //nolint:containedctx // passed to handlers; marked, so that calls they make are recognized

	mu    sync.Mutex                            // guards the fields below
	full  bool                                  // the reader waits for space in the queue
	calls map[*context.CancelCauseFunc]struct{} // calls that handlers are making
}

type insideKey struct{}

// init must be called before the goroutines of the link start.
func (d *dispatcher) init(l *link) {
	d.queue = make(chan func(context.Context), queueSize)
	d.stopped = make(chan struct{})
	d.calls = map[*context.CancelCauseFunc]struct{}{}
	d.ctx = context.WithValue(l.life, insideKey{}, d)
}

// run is the dispatcher goroutine. When the connection is lost, it still handles the notifications
// that arrived before.
//
// Once stopped is closed, it only empties the queue, so that the reader never stays blocked in push.
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

// push queues work. It blocks while the queue is full. Only the reader calls it.
//
// Once stopped is closed, it may drop work.
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

// setFull records whether the queue is full. If it is, setFull cancels the calls of handlers, which
// would wait for the reader while the reader waits for them.
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

// calling returns the context of a call. If a handler makes the call, the context ends with
// errFlooded when the queue is full. The caller must call done at the end.
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

// endOf returns why the context of a call has ended: errFlooded or the error of ctx.
func endOf(ctx context.Context) error {
	if errors.Is(context.Cause(ctx), errFlooded) {
		return errFlooded
	}
	return ctx.Err()
}

// barrier returns a channel that is closed when all work pushed so far has been handled, or nil if
// it already is. Only the reader calls it.
func (d *dispatcher) barrier() <-chan struct{} {
	if d.waiting.Load() == 0 {
		return nil
	}
	done := make(chan struct{})
	d.push(func(context.Context) { close(done) })
	return done
}

// settle waits for a barrier. A call made by a handler does not wait, because the barrier comes
// after that handler. If the context does not show the caller, the running handler may have made
// the call; then the wait is limited to patience.
//
// It returns nil if the dispatcher was stopped: the answer is complete, only the handlers did not
// run.
func (d *dispatcher) settle(ctx context.Context, w *waiter, barrier <-chan struct{}) error {
	if barrier == nil || w.ahead || ctx.Value(insideKey{}) == d {
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
