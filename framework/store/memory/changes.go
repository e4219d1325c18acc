package memory

import (
	"bytes"
	"context"
	"slices"
	"sync"
)

// What may wait for one subscriber. A larger message can still be the only one.
const (
	waitingMessages = 1024
	waitingBytes    = 4 << 20
)

// changes is the change.Bus. It has no goroutine: a subscriber's own fetches what
// waits for it.
type changes struct {
	mu          sync.Mutex // guards all below, the subscribers' fields, too
	subscribers map[*subscriber]struct{}
}

// subscriber is one Subscribe.
type subscriber struct {
	wake  chan struct{} // has an element if there is something to fetch
	queue [][]byte      // shared with all others
	bytes int
	lost  bool // nil is to come before the queue
}

// Publish copies the message once, for all.
func (c *changes) Publish(_ context.Context, message []byte) error {
	if len(message) == 0 {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.subscribers) == 0 {
		return nil
	}
	message = slices.Clip(bytes.Clone(message))
	for s := range c.subscribers {
		s.add(message)
	}
	return nil
}

// add drops all that waits where there is too much of it: whoever must look for
// himself needs none of that.
func (s *subscriber) add(message []byte) {
	n := len(s.queue)
	if n == waitingMessages || n > 0 && s.bytes+len(message) > waitingBytes {
		s.queue, s.bytes, s.lost = nil, 0, true
	} else {
		s.queue = append(s.queue, message)
		s.bytes += len(message)
	}
	s.rouse()
}

func (s *subscriber) rouse() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Subscribe gives messages that waited to fn as long as ctx has not ended.
func (c *changes) Subscribe(ctx context.Context, fn func(message []byte)) error {
	s := &subscriber{wake: make(chan struct{}, 1), lost: true}
	s.rouse()
	c.mu.Lock()
	if c.subscribers == nil {
		c.subscribers = make(map[*subscriber]struct{})
	}
	c.subscribers[s] = struct{}{}
	c.mu.Unlock()
	defer c.leave(s)
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-s.wake:
		}
		for ctx.Err() == nil {
			message, ok := c.next(s)
			if !ok {
				break
			}
			fn(message)
		}
	}
}

func (c *changes) leave(s *subscriber) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.subscribers, s)
}

// next of what waits, if anything does. nil says that something is lost.
func (c *changes) next(s *subscriber) (message []byte, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.lost {
		s.lost = false
		return nil, true
	}
	if len(s.queue) == 0 {
		s.queue = nil // its array is used up
		return nil, false
	}
	message = s.queue[0]
	s.queue[0] = nil // for the garbage collector
	s.queue = s.queue[1:]
	s.bytes -= len(message)
	return message, true
}
