// Package inbox has the queue between a change.Bus and one subscriber, which may be slower.
//
//	box := inbox.New()
//	box.Put(message)          // by the bus
//	err := box.Serve(ctx, fn) // by the subscriber, until ctx ends
//
// Put and Lost never block, and any goroutine may call them. The lock is taken alone, held for a few
// steps, and not held while fn runs. A panic of fn passes through Serve. A message belongs to the
// Inbox until fn gets it; one message can be in several, so nothing changes its bytes.
package inbox

import (
	"context"
	"sync"
)

// Bounds of the queue. A larger message is queued if it is the only one.
const (
	maxMessages = 1024
	maxBytes    = 4 << 20
)

// Inbox is the queue of one subscriber.
//
// filled is a signal. It may be set although the queue is empty. If the queue is not empty, filled is
// set or Serve is emptying the queue.
type Inbox struct {
	filled chan struct{} // has an element if there may be something to take

	mu       sync.Mutex // guards all below
	messages [][]byte
	bytes    int
	lost     bool // messages were dropped, so nil must be delivered before the queue
}

// New returns an empty Inbox.
func New() *Inbox { return &Inbox{filled: make(chan struct{}, 1)} }

// Put adds the message. If the queue is full, it does what Lost does.
func (b *Inbox) Put(message []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n := len(b.messages); n == maxMessages || n > 0 && b.bytes+len(message) > maxBytes {
		b.drop()
	} else {
		b.messages = append(b.messages, message)
		b.bytes += len(message)
	}
	b.fill()
}

// Lost replaces the whole queue by nil, which means that messages were lost. A subscriber that has
// lost one message must read everything again anyway.
func (b *Inbox) Lost() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.drop()
	b.fill()
}

func (b *Inbox) drop() { b.messages, b.bytes, b.lost = nil, 0, true }

// fill wakes the subscriber.
func (b *Inbox) fill() {
	select {
	case b.filled <- struct{}{}:
	default:
	}
}

// Serve calls fn with each message until ctx ends, and returns the cause of ctx.
func (b *Inbox) Serve(ctx context.Context, fn func(message []byte)) error {
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-b.filled:
		}
		for ctx.Err() == nil {
			message, ok := b.take()
			if !ok {
				break
			}
			fn(message)
		}
	}
}

// take removes the oldest message and returns it. If the inbox is empty, it returns false.
func (b *Inbox) take() (message []byte, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.lost {
		b.lost = false
		return nil, true
	}
	if len(b.messages) == 0 {
		b.messages = nil // releases the array, whose elements are used up
		return nil, false
	}
	message = b.messages[0]
	b.messages[0] = nil // let the garbage collector have it
	b.messages = b.messages[1:]
	b.bytes -= len(message)
	return message, true
}
