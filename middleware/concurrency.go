package middleware

import (
	"container/list"
	"context"
	"sync"
	"time"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
)

// Concurrency limits the number of calls that run at once (running), and the number of calls that
// wait for one of them to end (waiting). Waiting calls start in the order of their arrival. If the
// queue is full, a call is refused at once. The JSON-RPC error contains when to try again
// (protocol.TooMany). A wait also ends when the call's context ends.
//
// Each execution takes one slot. A call that waits live for its user keeps the slot; a call that
// asks in rounds frees it between rounds. A tool that a model calls within a call uses the slot of
// that call, so that a call never waits for itself. Phase: limit.
func Concurrency(running, waiting int) framework.Middleware {
	switch {
	case running < 1:
		return broken("Concurrency: running must be 1 or more")
	case waiting < 0:
		return broken("Concurrency: waiting is negative")
	}
	b := &bulkhead{free: running, room: waiting}
	return framework.Middleware{Name: "concurrency", Phase: framework.PhaseLimit, Wrap: func(next framework.Handler) framework.Handler {
		return func(ctx context.Context, call *framework.Call) (*framework.Result, error) {
			if ctx.Value(b) != nil || framework.CallerLite(ctx).ReplayCheck { // within a call that already has a slot
				return next(ctx, call)
			}
			if err := b.enter(ctx); err != nil {
				return nil, err
			}
			defer b.leave()
			return next(context.WithValue(ctx, b, true), call)
		}
	}}
}

// retryBusy is the time after which a refused caller may try again. It is a guess, because the
// duration of calls is unknown.
const retryBusy = time.Second

// bulkhead is a semaphore with a bounded queue. free is the number of free slots; it is 0 while the
// queue has waiters. leave passes the slot to the first waiter, without making it free in between.
//
// The address of a bulkhead is also a context key. It marks the contexts of calls that have a slot.
type bulkhead struct {
	mu    sync.Mutex // guards all below
	free  int
	room  int
	queue list.List // of chan struct{}, closed when its waiter gets a slot
}

func (b *bulkhead) enter(ctx context.Context) error {
	b.mu.Lock()
	if b.free > 0 { // the queue is empty then
		b.free--
		b.mu.Unlock()
		return nil
	}
	if b.queue.Len() >= b.room {
		b.mu.Unlock()
		return protocol.TooMany(retryBusy, "too many calls are running and waiting: try again in %s", retryBusy)
	}
	turn := make(chan struct{})
	place := b.queue.PushBack(turn)
	b.mu.Unlock()
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case <-turn: // got a slot at the same moment, so pass it on
		b.pass()
	default:
		b.queue.Remove(place)
	}
	return context.Cause(ctx)
}

func (b *bulkhead) leave() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pass()
}

// pass gives a slot to the call that has waited longest, or frees it if no call waits. The caller
// holds mu.
func (b *bulkhead) pass() {
	first := b.queue.Front()
	if first == nil {
		b.free++
		return
	}
	turn, _ := b.queue.Remove(first).(chan struct{})
	close(turn)
}
