package memory

import (
	"bytes"
	"context"
	"slices"
	"sync"

	"github.com/kagami-mcp/kagami/framework/store/internal/inbox"
)

// changes is the change.Bus. It has no goroutine of its own. Publish puts a message into the inbox
// of every subscriber, and the goroutine in Subscribe serves its inbox. A slow subscriber therefore
// delays no Publish.
//
// mu guards the set. Publish holds it while it puts a message into the inboxes, so that all inboxes
// have the messages in the same order. Subscribe leaves the set at its end, even if fn panics.
type changes struct {
	mu          sync.Mutex // guards subscribers; taken before the lock of an inbox
	subscribers map[*inbox.Inbox]struct{}
}

// Publish adds one copy of the message to the queues of all subscribers. An empty message is
// ignored.
func (c *changes) Publish(_ context.Context, message []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(message) == 0 || len(c.subscribers) == 0 {
		return nil
	}
	message = slices.Clip(bytes.Clone(message))
	for box := range c.subscribers {
		box.Put(message)
	}
	return nil
}

// Subscribe calls fn with each message until ctx ends. The first call is always with nil.
func (c *changes) Subscribe(ctx context.Context, fn func(message []byte)) error {
	box := inbox.New()
	box.Lost()
	c.mu.Lock()
	if c.subscribers == nil {
		c.subscribers = make(map[*inbox.Inbox]struct{})
	}
	c.subscribers[box] = struct{}{}
	c.mu.Unlock()
	defer c.leave(box)
	return box.Serve(ctx, fn)
}

func (c *changes) leave(box *inbox.Inbox) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.subscribers, box)
}
