package middleware

import (
	"container/list"
	"context"
	"sync"
	"time"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
)

// Concurrency bounds the calls that run at once, and those that wait for one of them to
// end. Waiting calls are let in in order; a call that finds the queue full is refused at
// once, by a JSON-RPC error that says when to try again (protocol.TooMany). A wait ends
// with the call's context.
//
// Each execution takes a place: a call that waits for its user live keeps it, one that is
// asked in rounds gives it back between them. A tool that a model calls within a call uses
// the place of that call, so that a call never waits for itself. Phase: limit.
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
			if ctx.Value(b) != nil || framework.InReplayCheck(ctx) { // inside a call that has a place already
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

// retryBusy is when a refused caller may try again. It is a guess, because how long calls take is
// unknown.
const retryBusy = time.Second

// bulkhead is a number of places with a bounded queue. Its address is the key under which a context
// has the mark of a call with a place.
type bulkhead struct {
	mu    sync.Mutex // guards all below
	free  int
	room  int
	queue list.List // of chan struct{}, closed when its waiter gets a place
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
	case <-turn: // got a place at the same moment: hand it to the next
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

// pass gives a place to the call that has waited longest.
func (b *bulkhead) pass() {
	first := b.queue.Front()
	if first == nil {
		b.free++
		return
	}
	turn, _ := b.queue.Remove(first).(chan struct{})
	close(turn)
}
