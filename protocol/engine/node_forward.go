package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/kagami-mcp/kagami/protocol/engine/internal/nodebus"
	"github.com/kagami-mcp/kagami/protocol/engine/internal/wait"
	"github.com/kagami-mcp/kagami/protocol/jsonrpc"
	"github.com/kagami-mcp/kagami/transport"
)

// lookPause is the interval at which a wait for another node polls, so that it ends even if a message
// is lost.
const lookPause = 3 * time.Second

// forward returns the step that sends a client's notification to the other nodes, because it refers
// to a request that does not run here.
//
// The step only queues the message, and never blocks. It does nothing if the session is not shared,
// or if the frame itself came from another node, so that frames do not circulate.
func (c *conn) forward(x *exchange) step {
	s := c.current()
	if s == nil || x.forwarded || s.shared == "" {
		return ignore
	}
	return func(context.Context, transport.Outbound) error {
		c.e.node.Broadcast(nodebus.Message{Kind: nodebus.Frame, Session: s.id, Frame: x.frame})
		return nil
	}
}

// answerKey returns the key under which an answer is stored for the node that asked.
func answerKey(session string, id jsonrpc.ID) string { return "answer/" + session + "/" + id.Key() }

// leaveAnswer stores an answer in the store of claims for the node that asked, and sends it to all
// nodes. If that message is lost, the node finds the answer in the store.
func (c *conn) leaveAnswer(ctx context.Context, id jsonrpc.ID, frame []byte) {
	e, s := c.e, c.current()
	if s == nil || c.kept() == nil || e.cfg.Changes == nil {
		return
	}
	if c.mayBeLeft() && c.mayLeave() {
		if _, _, err := e.cfg.Claims.Claim(ctx, answerKey(s.id, id), frame, e.cfg.AskTimeout); err != nil {
			e.failed(ctx, nil, fmt.Errorf("engine: leaving an answer for another node: %w", err))
		}
	}
	e.node.Broadcast(nodebus.Message{Kind: nodebus.Frame, Session: s.id, Frame: frame})
}

// maxLeft bounds the answers that one connection may store within AskTimeout, because a client can
// invent answers, and the store of claims is shared.
const maxLeft = 64

// leftAnswers counts the answers that a connection has stored.
//
// It is guarded by conn.mu.
type leftAnswers struct {
	since time.Time
	count int
}

// mayLeave counts one more stored answer. It returns false if there are too many.
func (c *conn) mayLeave() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); c.left == nil || now.Sub(c.left.since) > c.e.cfg.AskTimeout {
		c.left = &leftAnswers{since: now}
	}
	c.left.count++
	return c.left.count <= maxLeft
}

// looks returns a ticker for a wait for an answer. At each tick the wait checks the store, because
// the message with the answer may have been lost. If other nodes cannot have stored an answer, the
// channel is nil.
func (c *conn) looks() (<-chan time.Time, func()) {
	if !c.mayBeLeft() {
		return nil, func() {}
	}
	t := time.NewTicker(lookPause)
	return t.C, t.Stop
}

// mayBeLeft reports whether another node may receive an answer and store it.
func (c *conn) mayBeLeft() bool {
	return c.kept() != nil && c.e.rounds.Shares() && c.e.cfg.Changes != nil
}

// lookForAnswers makes all waits for answers check the store now, because messages were lost.
//
// It is called by the goroutine looking, which must not wait for the store for each of them.
func (c *conn) lookForAnswers() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, a := range c.asks {
		wait.Signal(a.look)
	}
}

// lookForAnswer delivers the answer to a that another node has stored, if there is one.
//
// Only the goroutine that waits for a calls it. The answer arrives in a.answer, so the caller
// returns to its select. If the message with the answer has arrived meanwhile, deliver finds no ask
// and drops this copy.
func (c *conn) lookForAnswer(ctx context.Context, a *ask) {
	s := c.current()
	if s == nil || !c.mayBeLeft() {
		return
	}
	frame, err := c.e.cfg.Claims.Get(ctx, answerKey(s.id, a.id))
	if err != nil { // not stored, or the store is unavailable: the next look may find it
		return
	}
	if msg, fault := jsonrpc.Decode(frame); fault == nil {
		c.deliver(msg)
	}
}
