package framework_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kagami-mcp/kagami/framework/store/memory"
	"github.com/kagami-mcp/kagami/protocol/task"
)

// TestNodesListenersHearLater: a store that cannot be read when a task has ended costs its listeners time,
// not the end.
func TestNodesListenersHearLater(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var fails atomic.Bool
		h := &hooks{
			updated: func(r task.Record) { fails.Store(r.Terminal()) },
			get: func(context.Context, string) error {
				if fails.CompareAndSwap(true, false) {
					return errAway
				}
				return nil
			},
		}
		p := dialTasks(t, filmed(t, memory.New(), h, func(context.Context) (string, error) {
			time.Sleep(time.Second)
			return "done", nil
		}))
		id := p.task("film", `{}`)
		synctest.Wait()
		defer p.listen(id)()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if got := p.notifications("notifications/tasks"); len(got) != 1 {
			t.Errorf("the listener got %s", got)
		}
	})
}

// TestNodesListenNeedsTheStore: while the store cannot be read, a task does not seem to be missing.
func TestNodesListenNeedsTheStore(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var fails atomic.Bool
		h := &hooks{get: func(context.Context, string) error {
			if fails.CompareAndSwap(true, false) {
				return errAway
			}
			return nil
		}}
		p := dialTasks(t, filmed(t, memory.New(), h, func(ctx context.Context) (string, error) {
			<-ctx.Done()
			return "", ctx.Err()
		}))
		id := p.task("film", `{}`)
		synctest.Wait()
		fails.Store(true)
		end := p.listen(id)
		if ack := p.notifications("notifications/subscriptions/acknowledged"); len(ack) > 0 {
			t.Errorf("acknowledged: %s", ack)
		}
		end()
		p.byID("tasks/cancel", id).ok()
	})
}

// TestNodesOverIsSentLater: a store that cannot be read while ended tasks are sent does not end the stream.
func TestNodesOverIsSentLater(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var armed atomic.Bool
		var gets atomic.Int32
		h := &hooks{get: func(context.Context, string) error {
			if armed.Load() && gets.Add(1) == 2 {
				return errAway
			}
			return nil
		}}
		p := dialTasks(t, filmed(t, memory.New(), h, func(context.Context) (string, error) { return "done", nil }))
		id := p.task("film", `{}`)
		synctest.Wait()
		armed.Store(true)
		defer p.listen(id)()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if got := p.notifications("notifications/tasks"); len(got) != 1 {
			t.Errorf("the listener got %s", got)
		}
	})
}
