package nodebus_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/kagami-mcp/kagami/protocol/engine/internal/nodebus"
)

// bus is a change.Bus that refuses the first messages.
type bus struct {
	refuses int
	taken   chan []byte
}

func (b *bus) Publish(_ context.Context, message []byte) error {
	if b.refuses > 0 {
		b.refuses--
		return errors.New("unavailable")
	}
	b.taken <- message
	return nil
}

func (b *bus) Subscribe(context.Context, func([]byte)) error { return nil }

// kinds returns the kinds of the messages on the bus, which another node reads.
func (b *bus) kinds(t *testing.T) (all []nodebus.Kind) {
	t.Helper()
	reader := nodebus.New(nil, nil)
	for len(b.taken) > 0 {
		m, own, ok := reader.Decode(<-b.taken)
		if own || !ok {
			t.Errorf("read %+v, %t, %t", m, own, ok)
		}
		all = append(all, m.Kind)
	}
	return all
}

// TestNode: messages arrive in order. A message that the bus has refused is lost, which the next one
// announces. What is queued when the node ends is still published.
func TestNode(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, reported := &bus{refuses: 1, taken: make(chan []byte, 10)}, 0
		n := nodebus.New(b, func(_ context.Context, err error) {
			if err != nil {
				reported++
			}
		})
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		ended := make(chan struct{})
		n.Broadcast(nodebus.Message{Kind: nodebus.Task, Task: "lost"})
		n.Broadcast(nodebus.Message{Kind: nodebus.Task, Task: "next"})
		go func() { n.Run(ctx); close(ended) }()
		synctest.Wait()
		if len(b.taken) != 0 || reported != 1 {
			t.Fatalf("%d messages at once, %d errors", len(b.taken), reported)
		}
		stop()
		<-ended
		if got := b.kinds(t); !slices.Equal(got, []nodebus.Kind{nodebus.Lost, nodebus.Task}) {
			t.Errorf("at the end: %q", got)
		}
		n.Broadcast(nodebus.Message{Kind: nodebus.Roots})
		n.Run(ctx)
		if got := b.kinds(t); !slices.Equal(got, []nodebus.Kind{nodebus.Roots}) {
			t.Errorf("after the end: %q", got)
		}
	})
}

// TestOutbox: above its limit the outbox drops the oldest messages. Frames of clients get only a
// fraction of it.
func TestOutbox(t *testing.T) {
	t.Parallel()
	b := &bus{taken: make(chan []byte, 10_000)}
	n := nodebus.New(b, func(context.Context, error) {})
	for range 5000 {
		n.Broadcast(nodebus.Message{Kind: nodebus.Frame})
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	n.Run(ctx)
	if got := b.kinds(t); len(got) != 4096/8 || got[0] != nodebus.Frame {
		t.Errorf("%d frames, want %d", len(got), 4096/8)
	}
	for range 5000 {
		n.Broadcast(nodebus.Message{Kind: nodebus.Updated})
	}
	n.Run(ctx)
	if got := b.kinds(t); len(got) != 4097 || got[0] != nodebus.Lost {
		t.Errorf("%d messages, want the announcement and 4096", len(got))
	}
}

func TestChanges(t *testing.T) {
	t.Parallel()
	c := nodebus.NewChanges()
	c.Task("a")
	c.Task("a")
	c.All(true)
	c.All(false)
	got, ok := c.Next(t.Context())
	if !ok || len(got.Tasks) != 1 || !got.All || !got.Resync {
		t.Errorf("got %+v", got)
	}
	c.Task("b")
	if got, ok = c.Next(t.Context()); !ok || len(got.Tasks) != 1 || !got.Tasks["b"] || got.All || got.Resync {
		t.Errorf("took %+v, want b alone", got)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if got, ok := c.Next(ctx); ok {
		t.Errorf("took %+v, but nothing has changed", got)
	}
}
