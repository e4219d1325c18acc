package engine

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/kagami-mcp/kagami/protocol/jsonrpc"
	"github.com/kagami-mcp/kagami/transport"
)

// askBase is where the ids of our requests begin in a session that several nodes serve:
// ids of one session must not meet (2025-11-25 basic), and be exact in JSON of clients
// that know only floats.
func askBase() int64 { return (1 + rand.Int64N(1<<31)) << 20 } //nolint:gosec // it must not repeat, and need not be secret

// forward brings a notification of the client that nobody here has use for to the other
// nodes: the request that it is about may run there.
func (c *conn) forward(x *exchange) step {
	s := c.current()
	if s == nil || x.forwarded || s.feed.session == "" {
		return ignore
	}
	return func(context.Context, transport.Outbound) error {
		c.e.tell(news{Kind: newsFrame, Session: s.id, Frame: x.frame})
		return nil
	}
}

// answerKey names an answer that waits for the node that asked.
func answerKey(session string, id jsonrpc.ID) string { return "answer/" + session + "/" + id.Key() }

// leaveAnswer keeps the answer for the node that asked, and tells that it is there. The
// message brings the answer, too; who misses it finds it where it was left.
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
	e.tell(news{Kind: newsFrame, Session: s.id, Frame: frame})
}

// maxLeft bounds the answers that one connection leaves in AskTimeout: a client may make
// them up, and the claims are for all.
const maxLeft = 64

// left counts them.
type leftAnswers struct {
	since time.Time
	count int
}

func (c *conn) mayLeave() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); c.left == nil || now.Sub(c.left.since) > c.e.cfg.AskTimeout {
		c.left = &leftAnswers{since: now}
	}
	c.left.count++
	return c.left.count <= maxLeft
}

// looks are the moments in which who waits for an answer looks whether one was left:
// the message of it may be lost. nil: never.
func (c *conn) looks() (<-chan time.Time, func()) {
	if !c.mayBeLeft() {
		return nil, func() {}
	}
	t := time.NewTicker(lookPause)
	return t.C, t.Stop
}

// mayBeLeft says whether an answer may have come to another node.
func (c *conn) mayBeLeft() bool {
	return c.kept() != nil && c.e.cfg.SharedClaims && c.e.cfg.Claims != nil && c.e.cfg.Changes != nil
}

// lookForAnswers makes all that wait look: messages were lost.
func (c *conn) lookForAnswers() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, a := range c.asks {
		signal(a.look)
	}
}

// lookForAnswer delivers the answer that was left.
func (c *conn) lookForAnswer(ctx context.Context, a *ask) {
	s := c.current()
	if s == nil || !c.mayBeLeft() {
		return
	}
	frame, err := c.e.cfg.Claims.Get(ctx, answerKey(s.id, a.id))
	if err != nil { // there is none, or the store is away: the next look
		return
	}
	if msg, fault := jsonrpc.Decode(frame); fault == nil {
		c.deliver(msg)
	}
}
