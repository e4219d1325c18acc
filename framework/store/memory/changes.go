package memory

import (
	"bytes"
	"context"
	"slices"
	"sync"
)

// Bounds of a subscriber's queue. A larger message is queued if it is the only one.
const (
	waitingMessages = 1024
	waitingBytes    = 4 << 20
)

// changes is the change.Bus. It has no goroutine of its own. Publish appends a message to the queue
// of every subscriber, and the goroutine in Subscribe takes messages from its queue. mu guards the
// queues, and is not held while Subscribe calls fn.
type changes struct {
	mu          sync.Mutex // guards all below, including the fields of the subscribers
	subscribers map[*subscriber]struct{}
}

// subscriber is one call of Subscribe. Its wake has an element after each change of the queue. If
// the queue overflows, add drops it and sets lost; next then returns nil before further messages.
//
// It belongs to the goroutine in Subscribe, which removes it from the set at its end, also if fn panics.
// add never waits for that goroutine, so a slow fn delays no Publish. A message is shared by all queues
// and must not be changed.
type subscriber struct {
	wake  chan struct{} // has an element if Subscribe must check the queue
	queue [][]byte      // each message is shared with the other subscribers
	bytes int
	lost  bool // messages were dropped, so nil must be delivered before the queue
}

// Publish adds one copy of the message to the queues of all subscribers. An empty message is
// ignored.
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

// add appends a message to the queue. If the queue is too long, add drops all of it: a subscriber
// that has lost one message must read everything again anyway. The caller holds changes.mu.
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

// Subscribe calls fn with each message until ctx ends. The first call is always with nil.
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

// next returns the next message of the queue and true, or false if the queue is empty. A nil
// message means that messages were lost.
func (c *changes) next(s *subscriber) (message []byte, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.lost {
		s.lost = false
		return nil, true
	}
	if len(s.queue) == 0 {
		s.queue = nil // releases the array, whose elements are used up
		return nil, false
	}
	message = s.queue[0]
	s.queue[0] = nil // let the garbage collector have it
	s.queue = s.queue[1:]
	s.bytes -= len(message)
	return message, true
}
