// Package nodes is what carriers over HTTP have in common where a session may be
// served by any of the processes that share a store: names that give no id away,
// messages to the other nodes, and the care for what is kept.
//
//	n := nodes.New(store, bus, nodes.Duties{Heard: ..., Look: ..., Period: ...})
//	n.Begin(life)                                   // with the first session
//	n.Tell(ctx, nodes.Message{Kind: nodes.Ended, Session: nodes.Digest(purpose, id)})
//	n.End()
//
// A Node is safe for concurrent use. Its goroutines run from Begin to End, or until
// the host stops and nothing needs them.
package nodes

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/kagami-mcp/kagami/protocol/change"
	"github.com/kagami-mcp/kagami/protocol/session"
)

// Kind says what a Message is about.
type Kind string

// The kinds.
const (
	Ended Kind = "ended" // the session is over
	Post  Kind = "post"  // frames wait in the log of the session
)

// Message is what nodes tell each other. It contains no secret, and may be lost without
// harm: it only says when to look into the store.
type Message struct {
	Kind    Kind   `json:"http"`    // a bus carries messages of others, too
	Session string `json:"session"` // a Digest of its id
}

// mark begins every Message, and no message of others on the same bus.
const mark = `{"http":`

// Duties are what a Node does for a carrier.
type Duties struct {
	// Heard gets the messages of all nodes, this one included, one after the other. It
	// must not block for long.
	Heard func(Message)
	// Look is called each Period, and soon after messages may have been lost, one call
	// after the other.
	Look   func(context.Context)
	Period time.Duration

	Closing <-chan struct{} // closed when the host begins to stop; nil: it never says so
	Idle    func() bool     // says, while the host stops, that nothing runs that needs the node
}

// Node is one process, or one endpoint of it, among those that share a store.
type Node struct {
	ID       string // random
	Mark     uint32 // 31 random bits, not 0: for the numbers of what the node writes; see Lives
	Sessions session.Store

	bus    change.Bus // nil: there is nobody to tell
	duties Duties
	lost   chan struct{} // 1-buffered: messages may have been lost

	mu      sync.Mutex // guards the fields below
	begun   bool
	over    bool
	stop    context.CancelFunc
	running sync.WaitGroup
}

// New makes a node that has not begun.
func New(store session.Store, bus change.Bus, d Duties) *Node {
	return &Node{ID: rand.Text(), Mark: newMark(), Sessions: store, bus: bus, duties: d, lost: make(chan struct{}, 1)}
}

// Begin starts the goroutines, once; they end with life, or by End.
func (n *Node) Begin(life context.Context) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.begun || n.over {
		return
	}
	n.begun = true
	life, stop := context.WithCancel(life)
	n.stop = stop
	n.running.Go(func() { n.looking(life, stop) })
	if n.Sessions != nil {
		n.running.Go(func() { n.living(life) })
	}
	if n.bus != nil {
		n.running.Go(func() { _ = n.bus.Subscribe(life, n.message) }) // ends with life only
	}
}

// Go runs fn, for Heard and Look to go on without it; End waits for it.
func (n *Node) Go(fn func()) { n.running.Go(fn) }

// End stops the goroutines and waits for them.
func (n *Node) End() {
	n.mu.Lock()
	n.over = true
	if n.stop != nil {
		n.stop()
	}
	n.mu.Unlock()
	n.running.Wait()
}

// rest is how often a node whose host stops asks whether it is still needed. Under a mux of the
// program's own nobody calls End.
const rest = 100 * time.Millisecond

// looking is the goroutine that calls Look. At its end it stops the others.
func (n *Node) looking(life context.Context, stop context.CancelFunc) {
	defer stop()
	tick := time.NewTicker(n.duties.Period)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-n.lost:
		case <-n.duties.Closing:
			n.linger(life)
			return
		case <-life.Done():
			return
		}
		n.duties.Look(life)
	}
}

// linger keeps the node alive until nothing needs it: while calls of this node end, other
// nodes wait for what they write, and only as long as the node lives.
func (n *Node) linger(life context.Context) {
	tick := time.NewTicker(rest)
	defer tick.Stop()
	for !n.duties.Idle() {
		select {
		case <-tick.C:
		case <-n.lost:
			n.duties.Look(life)
		case <-life.Done():
			return
		}
	}
}

// message takes what the bus delivers; nil says that messages may have been lost.
func (n *Node) message(data []byte) {
	if data == nil {
		select {
		case n.lost <- struct{}{}:
		default: // a look is due already
		}
		return
	}
	var m Message
	if !bytes.HasPrefix(data, []byte(mark)) || json.Unmarshal(data, &m) != nil {
		return // a message of somebody else on the same bus
	}
	n.duties.Heard(m)
}

// Tell publishes m. The error says that not everybody was told.
func (n *Node) Tell(ctx context.Context, m Message) error {
	if n.bus == nil {
		return nil
	}
	data, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("telling other nodes: %w", err)
	}
	if err := n.bus.Publish(ctx, data); err != nil {
		return fmt.Errorf("telling other nodes: %w", err)
	}
	return nil
}
