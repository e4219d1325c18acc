package redisstore

import "sync"

// Bounds of what waits for one subscriber.
const (
	inboxMessages = 1024
	inboxBytes    = 4 << 20
)

// inbox is between a connection and a subscriber that may be slower. nil in it says that
// some were lost.
type inbox struct {
	filled chan struct{} // has one if there may be something to take

	mu       sync.Mutex // guards all below
	messages [][]byte
	bytes    int
}

func newInbox() *inbox { return &inbox{filled: make(chan struct{}, 1)} }

// put keeps the message, or nothing but the fact that there were too many.
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

// lost takes the place of all that waits: who looks for himself needs none of it.
func (b *inbox) lost() {
	b.mu.Lock()
	b.messages, b.bytes = append(b.messages[:0:0], nil), 0
	b.mu.Unlock()
	b.fill()
}

func (b *inbox) fill() {
	select {
	case b.filled <- struct{}{}:
	default:
	}
}

// take is the oldest.
func (b *inbox) take() ([]byte, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.messages) == 0 {
		return nil, false
	}
	message := b.messages[0]
	b.messages[0] = nil // for the garbage collector
	b.messages = b.messages[1:]
	b.bytes -= len(message)
	return message, true
}
