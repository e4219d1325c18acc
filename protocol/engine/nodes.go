package engine

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/engine/internal/wait"
	"github.com/kagami-mcp/kagami/protocol/jsonrpc"
)

// nodeMessageKind is the kind of a message between nodes.
type nodeMessageKind string

const (
	nodeTask        nodeMessageKind = "task"    // the record of Task has changed
	nodeUpdated     nodeMessageKind = "updated" // the resource URI has changed; feed.Hub.Learned returned Version
	nodeFrame       nodeMessageKind = "frame"   // Frame came from the client of Session; a node may wait for it
	nodeNotify      nodeMessageKind = "notify"  // Frame must be sent to the client of Session
	nodeRoots       nodeMessageKind = "roots"   // the roots of the client of Session have changed
	nodeKept        nodeMessageKind = "kept"    // the stored state of Session is now Frame, at Version
	nodeElicitation nodeMessageKind = "visited" // the page of the elicitation with the id Visit is done
	nodeLost        nodeMessageKind = "lost"    // the node has lost messages before they were on the bus
)

// nodeMessage is a message between the nodes that share a store. It names something that has changed,
// or contains a frame to process. Messages may be lost, so receivers also poll for what they must not
// miss. When a node detects a loss, it treats everything that a message can announce as changed.
type nodeMessage struct {
	Kind    nodeMessageKind `json:"engine"` // a bus also carries messages of other senders
	Node    string          `json:"node"`
	Task    string          `json:"task,omitempty"`
	Session string          `json:"session,omitempty"`
	URI     string          `json:"uri,omitempty"`
	Visit   string          `json:"visit,omitempty"`
	Frame   json.RawMessage `json:"frame,omitempty"`
	Version uint64          `json:"version,omitempty"`
}

const (
	maxOutbox   = 4096     // messages that wait for the bus; above it, the oldest are dropped
	outboxBytes = 16 << 20 // the total size of these messages
	// frameShare limits frames of clients to this fraction of the outbox. A client can send any
	// number of frames, and they must not displace other messages.
	frameShare  = 8
	tellTimeout = 5 * time.Second // for publishing one message
	// lookPause is the interval at which a wait for another node polls, so that it ends even if a
	// message is lost.
	lookPause = 3 * time.Second
)

// nodes exchanges messages with the other nodes that share the engine's store. Its goroutines run
// from Start to the end of Shutdown.
//
// Under mu, broadcast adds to the outbox, and the goroutine telling takes from it. Under mu, lookAt
// and lookAtAll set dirty, all and resync. The goroutine looking takes and resets them together, and
// then works without the lock. The channels out and look wake these goroutines.
type nodes struct {
	id      string
	running sync.WaitGroup

	listening atomic.Bool // the bus has called heard with nil for the first time

	mu     sync.Mutex // guards the fields below
	stop   context.CancelFunc
	outbox [][]byte        // messages that wait for the bus, oldest first
	bytes  int             // the size of the outbox
	gap    bool            // messages were lost, and the other nodes have not been notified
	dirty  map[string]bool // ids of tasks to read again
	all    bool            // messages may have been lost: read all tasks again
	resync bool            // with all: also notify clients of all watched resources
	out    chan struct{}   // 1-buffered: the outbox is not empty
	look   chan struct{}   // 1-buffered: dirty or all is set
}

func newNodes() nodes {
	return nodes{id: rand.Text(), out: make(chan struct{}, 1), look: make(chan struct{}, 1)}
}

// shares reports whether other nodes may change tasks or sessions that this node serves.
func (e *Engine) shares() bool { return e.cfg.Queue != nil || e.cfg.Changes != nil }

// Start starts the work that does not belong to a request: the worker of a queue of tasks, and the
// subscription to messages of other nodes. Call it once, before the first frame. Shutdown ends it. If
// the engine shares nothing, Start does nothing. ctx bounds only the start. Start returns an error if
// the nodes cannot agree on the secret of states.
func (e *Engine) Start(ctx context.Context) error {
	if err := e.rounds.Agree(ctx); err != nil {
		return err
	}
	if !e.shares() || !e.running.Begin() {
		return nil
	}
	defer e.running.Done()
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	e.nodes.mu.Lock()
	defer e.nodes.mu.Unlock()
	e.nodes.stop = stop
	e.nodes.running.Go(func() { e.looking(life) })
	if e.cfg.Changes != nil {
		e.nodes.running.Go(func() { e.telling(life) })
		e.nodes.running.Go(func() { _ = e.cfg.Changes.Subscribe(life, e.receive) })
	}
	if e.cfg.Queue != nil && e.cfg.TaskLimits.Workers > 0 {
		e.nodes.running.Go(func() { e.taking(life) })
	}
	return nil
}

// stopNodes ends the goroutines of Start and waits for them. They do not wait for clients. The
// goroutine telling may wait for the bus, for at most tellTimeout for each message.
func (e *Engine) stopNodes() {
	e.nodes.mu.Lock()
	stop := e.nodes.stop
	e.nodes.mu.Unlock()
	if stop == nil {
		return
	}
	stop()
	e.nodes.running.Wait()
}

// broadcast queues a message for the other nodes. It never blocks. If there are no other nodes, it
// does nothing.
func (e *Engine) broadcast(n nodeMessage) {
	if e.cfg.Changes == nil {
		return
	}
	n.Node = e.nodes.id
	message, err := json.Marshal(n)
	if err != nil { // cannot happen: frames are valid JSON
		return
	}
	s := &e.nodes
	s.mu.Lock()
	defer s.mu.Unlock()
	if n.Kind == nodeFrame && (len(s.outbox) >= maxOutbox/frameShare || s.bytes >= outboxBytes/frameShare) {
		return
	}
	s.outbox, s.bytes = append(s.outbox, message), s.bytes+len(message)
	for len(s.outbox) > maxOutbox || s.bytes > outboxBytes {
		s.bytes -= len(s.outbox[0])
		s.outbox, s.gap = s.outbox[1:], true
	}
	wait.Signal(s.out)
}

// broadcastNow sends a message and waits until the bus has accepted it.
func (e *Engine) broadcastNow(ctx context.Context, n nodeMessage) error {
	n.Node = e.nodes.id
	message, err := json.Marshal(n)
	if err != nil {
		return err
	}
	return e.toBus(ctx, message)
}

// telling is the goroutine that publishes the outbox. When ctx ends, it publishes the rest, so that
// the other nodes get what was queued before Shutdown, unless the bus is unavailable.
func (e *Engine) telling(ctx context.Context) {
	for {
		select {
		case <-e.nodes.out:
		case <-ctx.Done():
			e.publishAll(context.WithoutCancel(ctx))
			return
		}
		if !e.publishAll(context.WithoutCancel(ctx)) && wait.Pause(ctx, takePause) == nil {
			wait.Signal(e.nodes.out)
		}
	}
}

// publishAll publishes the outbox. If the bus does not accept a message, publishAll stops and returns
// false. That message is lost, as any message may be (see nodeMessage). The next message then
// announces the loss.
func (e *Engine) publishAll(ctx context.Context) bool {
	for message := e.nodes.next(); message != nil; message = e.nodes.next() {
		if err := e.toBus(ctx, message); err != nil {
			e.nodes.mu.Lock()
			e.nodes.gap = true
			e.nodes.mu.Unlock()
			e.failed(ctx, nil, fmt.Errorf("engine: telling the other nodes: %w", err))
			return false
		}
	}
	return true
}

func (e *Engine) toBus(ctx context.Context, message []byte) error {
	ctx, cancel := context.WithTimeout(ctx, tellTimeout)
	defer cancel()
	return e.cfg.Changes.Publish(ctx, message)
}

// next removes and returns the oldest message of the outbox. If messages were lost, it first returns
// a message that announces the loss. If the outbox is empty, it returns nil.
func (s *nodes) next() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gap {
		s.gap = false
		message, _ := json.Marshal(nodeMessage{Kind: nodeLost, Node: s.id}) // cannot fail: the texts are valid
		return message
	}
	if len(s.outbox) == 0 {
		s.outbox = nil
		return nil
	}
	message := s.outbox[0]
	s.outbox, s.bytes = s.outbox[1:], s.bytes-len(message)
	return message
}

// receive handles a message of the bus, in the goroutine of Subscribe. A nil message means that
// messages may have been lost. receive must not block.
func (e *Engine) receive(message []byte) {
	if message == nil {
		e.lookAtAll(e.nodes.listening.Swap(true)) // at the first call, clients cannot have missed an update
		return
	}
	var n nodeMessage
	if json.Unmarshal(message, &n) != nil {
		return
	}
	if n.Node == e.nodes.id {
		e.echoed(&n)
		return
	}
	switch n.Kind {
	case nodeTask:
		e.lookAt(n.Task)
	case nodeUpdated:
		e.feeds.Updated(n.URI)
	case nodeFrame:
		e.delivered(n.Session, n.Frame)
	case nodeNotify:
		if s := e.sessionOf(n.Session); s != nil {
			s.feed.Push(n.Frame)
		}
	case nodeKept:
		if c := e.connOf(n.Session); c != nil {
			c.learn(n.Frame, n.Version)
		}
	case nodeRoots:
		if e.cfg.RootsChanged != nil {
			e.cfg.RootsChanged(n.Session)
		}
	case nodeElicitation:
		e.notifyElicitationComplete(n.Visit)
	case nodeLost:
		e.lookAtAll(true)
	}
}

// lookAtAll makes the goroutine looking read all tasks again, because messages may have been lost. If
// doubt is set, it also notifies clients of all resources that they watch. It never blocks.
func (e *Engine) lookAtAll(doubt bool) {
	e.nodes.mu.Lock()
	e.nodes.all = true
	e.nodes.resync = e.nodes.resync || doubt
	e.nodes.mu.Unlock()
	wait.Signal(e.nodes.look)
}

// ElicitationComplete notifies the other nodes that the page of an elicitation is done. The node
// that asked then notifies its client. ElicitationComplete never blocks.
func (e *Engine) ElicitationComplete(id string) {
	e.broadcast(nodeMessage{Kind: nodeElicitation, Visit: id})
}

// notifyElicitationComplete notifies the client if this node asked it. It uses a goroutine, because
// sending may block.
func (e *Engine) notifyElicitationComplete(id string) {
	if e.cfg.ElicitationComplete == nil {
		return
	}
	send := e.cfg.ElicitationComplete(id)
	if send == nil || !e.running.Begin() {
		return
	}
	go func() {
		defer e.running.Done()
		ctx, cancel := context.WithTimeout(context.Background(), tellTimeout) //nolint:forbidigo // what is forwarded answers nothing
		defer cancel()
		if err := send(ctx, &protocol.ElicitationCompleteParams{ID: id}); err != nil {
			e.failed(ctx, nil, fmt.Errorf("engine: notifying a client that an elicitation is complete: %w", err))
		}
	}()
}

// echoed handles a message that this node has sent itself. The feeds of this node were notified of an
// update before the bus had the message. In between, another node may have accepted a subscription
// for a session whose feed is here. The bus keeps the order, so this node now has the subscription,
// and echoed notifies that feed.
func (e *Engine) echoed(n *nodeMessage) {
	if n.Kind == nodeUpdated {
		e.feeds.UpdatedSince(n.Version, n.URI)
	}
}

// delivered handles a frame that the client of a session has sent to another node.
func (e *Engine) delivered(session string, frame []byte) {
	c := e.connOf(session)
	msg, fault := jsonrpc.Decode(frame)
	if c == nil || fault != nil {
		return
	}
	switch msg.Kind {
	case jsonrpc.Request:
	case jsonrpc.Notification:
		x := &exchange{conn: c, method: msg.Method, forwarded: true}
		e.forwarded(x, c.notified(x, msg.Params))
	default:
		c.deliver(msg)
	}
}

// forwarded runs the step of a notification that another node has received. A cancellation runs in a
// goroutine of its own: it waits for frames of the call that are being written, and the goroutine of
// the bus must not block.
func (e *Engine) forwarded(x *exchange, do step) {
	run := func() {
		ctx := context.Background() //nolint:forbidigo // what is forwarded answers nothing
		var err error
		returned := false
		defer func() { x.rescue(ctx, nil, recover(), returned, &err) }()
		err = do(ctx, nil)
		returned = true
	}
	if x.method != protocol.NotificationCancelled || !e.running.Begin() {
		run()
		return
	}
	go func() {
		defer e.running.Done()
		run()
	}()
}

// lookAt makes the goroutine looking read a task again. It never blocks.
func (e *Engine) lookAt(id string) {
	e.nodes.mu.Lock()
	if e.nodes.dirty == nil {
		e.nodes.dirty = make(map[string]bool)
	}
	e.nodes.dirty[id] = true
	e.nodes.mu.Unlock()
	wait.Signal(e.nodes.look)
}

// looking is the goroutine that reads changed tasks. It reads them one after the other, so that a
// client never receives an older state of a task after a newer one.
func (e *Engine) looking(ctx context.Context) {
	for {
		select {
		case <-e.nodes.look:
		case <-ctx.Done():
			return
		}
		s := &e.nodes
		s.mu.Lock()
		dirty, all, doubts := s.dirty, s.all, s.resync
		s.dirty, s.all, s.resync = nil, false, false
		s.mu.Unlock()
		if all {
			dirty = e.everything(dirty)
		}
		for id := range dirty {
			e.reread(ctx, id)
		}
		if doubts && e.feeds.UpdateAll() {
			_ = wait.Pause(ctx, resyncPause) // if ctx has ended, the next select ends the loop
		}
	}
}

// resyncPause is the pause after updates of all resources. It keeps clients from reading without end if a bus
// loses messages all the time.
const resyncPause = time.Second

// everything adds all tasks of this node to dirty, because messages were lost. It also makes all
// waits for answers check the store.
func (e *Engine) everything(dirty map[string]bool) map[string]bool {
	if dirty == nil {
		dirty = make(map[string]bool)
	}
	e.jobs.mu.Lock()
	for id := range e.jobs.byID {
		dirty[id] = true
	}
	e.jobs.mu.Unlock()
	e.watches.mu.Lock()
	for id := range e.watches.byID {
		dirty[id] = true
	}
	e.watches.mu.Unlock()
	for _, c := range e.connections() {
		c.lookForAnswers()
	}
	for _, id := range e.feeds.TaskIDs() {
		dirty[id] = true
	}
	return dirty
}
