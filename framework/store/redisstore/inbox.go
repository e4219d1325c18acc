package redisstore

import "sync"

// Bounds of a subscriber's queue.
const (
	inboxMessages = 1024
	inboxBytes    = 4 << 20
)

// inbox is a queue between a connection and a subscriber, which may be slower. A nil message means
// that messages were lost. put and lost add to the queue and set filled; the goroutine of Subscribe
// waits for filled and takes.
//
// The reader of the connection calls put and lost, and Subscribe calls take. mu is held for a few
// steps. A message belongs to the inbox until take has returned it. filled is a signal: it may be
// set although the queue is empty, but never the other way round.
type inbox struct {
	filled chan struct{} // has an element if there may be something to take

	mu       sync.Mutex // guards all below
	messages [][]byte
	bytes    int
}

func newInbox() *inbox { return &inbox{filled: make(chan struct{}, 1)} }

// put adds the message, or drops the whole queue if it is full.
//
// It never blocks. The message belongs to b from then on.
func (b *inbox) put(message []byte) {
	b.mu.Lock()
	full := len(b.messages) >= inboxMessages || b.bytes+len(message) > inboxBytes
	if !full {
		b.messages = append(b.messages, message)
		b.bytes += len(message)
	}
	b.mu.Unlock()
	if full {
		b.lost()
		return
	}
	b.fill()
}

// lost replaces the whole queue by nil. A subscriber that has lost one message must read everything
// again anyway.
func (b *inbox) lost() {
	b.mu.Lock()
	b.messages, b.bytes = append(b.messages[:0:0], nil), 0
	b.mu.Unlock()
	b.fill()
}

// fill wakes the subscriber. It is called after mu was released.
func (b *inbox) fill() {
	select {
	case b.filled <- struct{}{}:
	default:
	}
}

// take removes the oldest message and returns it. If the queue is empty, it returns false.
func (b *inbox) take() ([]byte, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.messages) == 0 {
		return nil, false
	}
	message := b.messages[0]
	b.messages[0] = nil // let the garbage collector have it
	b.messages = b.messages[1:]
	b.bytes -= len(message)
	return message, true
}
