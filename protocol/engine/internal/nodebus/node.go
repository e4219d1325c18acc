package nodebus

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"sync"
	"time"

	"github.com/kagami-mcp/kagami/protocol/change"
	"github.com/kagami-mcp/kagami/protocol/engine/internal/wait"
)

const (
	maxOutbox   = 4096     // messages that wait for the bus; above it, the oldest are dropped
	outboxBytes = 16 << 20 // the total size of these messages
	// frameShare limits frames of clients to this fraction of the outbox. A client can send any
	// number of frames, and they must not displace other messages.
	frameShare = 8
	retryPause = time.Second // after the bus has refused a message
)

// PublishTimeout is the longest wait for the bus to accept one message.
const PublishTimeout = 5 * time.Second

// Node is this process as a sender on the bus. Broadcast adds to the outbox under mu, and the
// goroutine Run takes from it. The channel out wakes Run.
//
// Broadcast never waits for the bus, so it may be called with any lock but Run's. When the outbox
// overflows or a message was refused, gap is set, and the next message that Run takes announces the
// loss. If that one is refused too, gap is set again. After the end of its context, Run takes what is
// left once, and each message may take PublishTimeout. Messages that are queued later are not sent.
type Node struct {
	id   string
	bus  change.Bus                           // nil: there are no other nodes
	sent func(ctx context.Context, err error) // receives the result of sending each message of the outbox

	mu     sync.Mutex    // guards the fields below
	outbox [][]byte      // messages that wait for the bus, oldest first
	bytes  int           // the size of the outbox
	gap    bool          // messages were lost, and the other nodes have not been notified
	out    chan struct{} // 1-buffered: the outbox is not empty
}

// New returns a node. If bus is nil, the node sends nothing. Run calls sent after each message,
// with the error or nil.
func New(bus change.Bus, sent func(ctx context.Context, err error)) *Node {
	return &Node{id: rand.Text(), bus: bus, sent: sent, out: make(chan struct{}, 1)}
}

// Broadcast queues a message for the other nodes. It never blocks.
func (n *Node) Broadcast(m Message) {
	if n.bus == nil {
		return
	}
	message, err := n.encode(m)
	if err != nil { // cannot happen: frames are valid JSON
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if m.Kind == Frame && (len(n.outbox) >= maxOutbox/frameShare || n.bytes >= outboxBytes/frameShare) {
		return
	}
	n.outbox, n.bytes = append(n.outbox, message), n.bytes+len(message)
	for len(n.outbox) > maxOutbox || n.bytes > outboxBytes {
		n.bytes -= len(n.outbox[0])
		n.outbox, n.gap = n.outbox[1:], true
	}
	wait.Signal(n.out)
}

// BroadcastNow sends a message and waits until the bus has accepted it. There must be a bus.
func (n *Node) BroadcastNow(ctx context.Context, m Message) error {
	message, err := n.encode(m)
	if err != nil {
		return err
	}
	return n.publish(ctx, message)
}

func (n *Node) encode(m Message) ([]byte, error) {
	m.Node = n.id
	return json.Marshal(m)
}

// Decode decodes a message of the bus. own reports whether this node has sent it. ok is false for
// messages of other senders.
func (n *Node) Decode(message []byte) (m Message, own, ok bool) {
	ok = json.Unmarshal(message, &m) == nil
	return m, m.Node == n.id, ok
}

// Run publishes the outbox until ctx ends. It then publishes the rest, so that the other nodes get
// what was queued before, unless the bus is unavailable.
func (n *Node) Run(ctx context.Context) {
	for {
		select {
		case <-n.out:
		case <-ctx.Done():
			n.publishAll(context.WithoutCancel(ctx))
			return
		}
		if !n.publishAll(context.WithoutCancel(ctx)) && wait.Pause(ctx, retryPause) == nil {
			wait.Signal(n.out)
		}
	}
}

// publishAll publishes the outbox. If the bus does not accept a message, publishAll stops and returns
// false. That message is lost, as any message may be (see Message). The next message then announces
// the loss.
func (n *Node) publishAll(ctx context.Context) bool {
	for message := n.next(); message != nil; message = n.next() {
		err := n.publish(ctx, message)
		n.sent(ctx, err)
		if err != nil {
			n.mu.Lock()
			n.gap = true
			n.mu.Unlock()
			return false
		}
	}
	return true
}

func (n *Node) publish(ctx context.Context, message []byte) error {
	ctx, cancel := context.WithTimeout(ctx, PublishTimeout)
	defer cancel()
	return n.bus.Publish(ctx, message)
}

// next removes and returns the oldest message of the outbox. If messages were lost, it first returns
// a message that announces the loss. If the outbox is empty, it returns nil.
func (n *Node) next() []byte {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.gap {
		n.gap = false
		message, _ := n.encode(Message{Kind: Lost}) // cannot fail: the texts are valid
		return message
	}
	if len(n.outbox) == 0 {
		n.outbox = nil
		return nil
	}
	message := n.outbox[0]
	n.outbox, n.bytes = n.outbox[1:], n.bytes-len(message)
	return message
}
