package engine

import (
	"math/rand/v2"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/engine/internal/wait"
	"github.com/kagami-mcp/kagami/protocol/jsonrpc"
)

// ask is a request of the server that waits for the client's answer.
//
// newAsk registers it in conn.asks, and endAsk removes it. In between, other goroutines look it up
// under conn.mu, and send it an answer, a failure or a signal. Each channel has room for one value.
// Before an answer or a failure is sent, the sender removes the ask from conn.asks, so that these
// sends do not block.
//
// The goroutine in exchange.wait owns an ask and is the only receiver. close, deliver and
// lookForAnswers are the senders. alive, look and the channels of serverRequest are signals: they
// are sent with wait.Signal, which drops a second signal, so a sender may hold conn.mu.
type ask struct {
	id       jsonrpc.ID
	answer   chan jsonrpc.Message // 1-buffered: deliver does not block
	failure  chan error           // 1-buffered: why an answer cannot arrive any more
	alive    chan struct{}        // 1-buffered: progress was reported
	look     chan struct{}        // 1-buffered: another node may have stored the answer
	progress func(protocol.Progress)
	turn     *wait.Order    // its position among requests that are sent together; nil: it is alone
	task     string         // the id of the server's task that asks; empty: none
	errand   *serverRequest // set if the request became a task of the client; guarded by conn.mu
}

// deliver passes the answer on. Only the caller that has removed the ask from conn.asks may call
// it, so it is called once and does not block.
func (a *ask) deliver(msg jsonrpc.Message) { a.answer <- msg }

// askBase returns a random start for the ids of this node's requests in a session that several nodes
// serve, because ids must not collide (2025-11-25 basic). The ids stay below 2^53, so that clients
// whose JSON numbers are floats keep them exact.
func askBase() int64 { return (1 + rand.Int64N(1<<31)) << 20 } //nolint:gosec // it must not repeat, and need not be secret

// newAsk registers a request of the server under a new id, until endAsk. progress may be nil. If the
// connection has ended, newAsk returns errGone.
func (c *conn) newAsk(progress func(protocol.Progress)) (*ask, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gone {
		return nil, errGone
	}
	if c.lastAsk == 0 && c.kept() != nil {
		c.lastAsk = askBase()
	}
	c.lastAsk++
	a := &ask{
		id:     jsonrpc.IntID(c.lastAsk),
		answer: make(chan jsonrpc.Message, 1), failure: make(chan error, 1), alive: make(chan struct{}, 1),
		look:     make(chan struct{}, 1),
		progress: progress,
	}
	if c.asks == nil {
		c.asks = make(map[string]*ask, 1)
	}
	c.asks[a.id.Key()] = a
	return a, nil
}

// endAsk removes a. It may be called if a was already removed, by deliver or by close.
func (c *conn) endAsk(a *ask) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.asks, a.id.Key())
}

// awaits reports whether a request of the server waits for the answer with this id.
func (c *conn) awaits(id jsonrpc.ID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.asks[id.Key()] != nil
}

// deliver passes an answer to the request of the server that waits for it. If no request here waits,
// deliver returns false. A request that became a task of the client stays registered, for
// notifications of that task. A second answer to it, which may arrive through another node, is
// ignored.
func (c *conn) deliver(msg jsonrpc.Message) bool {
	c.mu.Lock()
	a := c.asks[msg.ID.Key()]
	again := a != nil && a.errand != nil
	if !again {
		delete(c.asks, msg.ID.Key())
	}
	c.mu.Unlock()
	if a != nil && !again {
		a.deliver(msg)
	}
	return a != nil
}
