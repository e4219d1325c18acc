// Package cluster lets several processes that share a store serve the same HTTP sessions: digests
// that do not reveal the id of a session, messages to the other nodes, and a record that shows that a
// node runs.
//
//	n := cluster.New(store, bus, cluster.Handlers{Receive: ..., Look: ..., Period: ...})
//	n.Begin(life)                                   // with the first session
//	n.Publish(ctx, cluster.Message{Kind: cluster.Ended, Session: cluster.Digest(purpose, id)})
//	n.End()
//
// A Node is safe for concurrent use. Its goroutines run from Begin to End, or until the host stops
// and no call needs them.
//
// # Ownership and locks
//
// A node has three goroutines: looking calls Look, living renews the record of the node, and the
// third is in Subscribe and calls Receive. looking ends the context of the others when it ends. Go
// starts further ones. Only Receive, Look and what they have started may call it: running is then not 0,
// so End cannot miss the new goroutine.
//
// Node.mu makes Begin and End exclude each other. It is held while goroutines start, and not while
// they run, so a handler may call Begin. A handler must not call End, which waits for it. A message of
// the bus is decoded and not kept.
//
// If the process dies, its record expires after lifeAfter. Until the first renewal has succeeded,
// other nodes take this node for dead.
package cluster

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kagami-mcp/kagami/protocol/change"
	"github.com/kagami-mcp/kagami/protocol/session"
)

// Kind is the event that a Message reports.
type Kind string

// The kinds.
const (
	Ended Kind = "ended" // the session is over
	Post  Kind = "post"  // frames wait in the log of the session
)

// Message is a message between nodes. It does not contain a secret. A lost message does no harm, because
// it only makes a node read the store earlier.
type Message struct {
	Kind    Kind   `json:"http"`    // a bus also carries messages of other programs
	Session string `json:"session"` // a Digest of its id
}

// mark begins every Message, and no other message on the same bus.
const mark = `{"http":`

// Handlers are the functions of a carrier that a Node calls.
type Handlers struct {
	// Receive is called with each message of any node, including this one, one after the other.
	// It must not block for long.
	Receive func(Message)
	// Look is called each Period, and soon after messages may have been lost, one call after the
	// other.
	Look   func(context.Context)
	Period time.Duration

	Closing <-chan struct{} // closed when the host begins to stop; may be nil
	Idle    func() bool     // reports, while the host stops, whether no call needs the node any more
}

// Node is one process, or one endpoint of it, among those that share a store.
type Node struct {
	ID       string // random
	Mark     uint32 // 31 random bits, not 0: for the numbers of what the node writes; see Lives
	Sessions session.Store

	bus      change.Bus // nil: there are no other nodes
	handlers Handlers
	lost     chan struct{} // 1-buffered: messages may have been lost
	failed   atomic.Int64  // when the record was last found missing or not renewed, in Unix nanoseconds

	mu      sync.Mutex // guards the fields below
	over    bool
	stop    context.CancelFunc // nil until Begin
	running sync.WaitGroup
}

// New returns a node that has not begun.
func New(store session.Store, bus change.Bus, d Handlers) *Node {
	return &Node{ID: rand.Text(), Mark: newMark(), Sessions: store, bus: bus, handlers: d, lost: make(chan struct{}, 1)}
}

// Begin starts the goroutines, once; they end with life, or by End. It does not wait for the store or
// the bus.
func (n *Node) Begin(life context.Context) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.stop != nil || n.over {
		return
	}
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

// Go runs fn in a goroutine. End waits for it. Receive and Look use it for what takes long; other
// goroutines must not call it, because End may have returned.
func (n *Node) Go(fn func()) { n.running.Go(fn) }

// End stops the goroutines and waits for them. Only the first call ends the node, and further calls
// wait as well.
func (n *Node) End() {
	n.mu.Lock()
	n.over = true
	if n.stop != nil {
		n.stop()
	}
	n.mu.Unlock()
	n.running.Wait()
}

// rest is how often a node whose host stops asks whether it is still needed. In a mux of the program's
// own, End is never called.
const rest = 100 * time.Millisecond

// looking is the goroutine that calls Look. At its end it stops the others.
//
// When the host stops, looking goes on until nothing needs the node. Other nodes wait for the frames of
// calls that run here, but only while the record of this node exists. The records of the sessions would
// also expire during a long call.
func (n *Node) looking(life context.Context, stop context.CancelFunc) {
	defer stop()
	tick := time.NewTicker(n.handlers.Period)
	defer tick.Stop()
	closing := n.handlers.Closing
	var stopping <-chan time.Time // nil until the host begins to stop
	for stopping == nil || !n.handlers.Idle() {
		select {
		case <-tick.C:
		case <-n.lost:
		case <-closing:
			closing = nil
			ask := time.NewTicker(rest)
			defer ask.Stop()
			stopping = ask.C
			continue
		case <-stopping:
			continue
		case <-life.Done():
			return
		}
		n.handlers.Look(life)
	}
}

// message handles a message of the bus. nil means that messages may have been lost.
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
		return // a message of another program on the same bus
	}
	n.handlers.Receive(m)
}

// Publish sends m to all nodes. After an error some of them may not have received it.
func (n *Node) Publish(ctx context.Context, m Message) error {
	if n.bus == nil {
		return nil
	}
	data, _ := json.Marshal(m) // strings always marshal
	if err := n.bus.Publish(ctx, data); err != nil {
		return fmt.Errorf("sending to other nodes: %w", err)
	}
	return nil
}
