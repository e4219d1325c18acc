package engine

import (
	"context"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/protocol/jsonrpc"
	"github.com/kagami-mcp/kagami/transport"
)

// step is what an inbound notification or response does when it is served.
type step = func(ctx context.Context, out transport.Outbound) error

// notified is the step of a notification. Unknown, malformed and misplaced ones do nothing:
// they are never answered.
func (c *conn) notified(x *exchange, params []byte) step {
	s := c.current()
	if s != nil {
		x.session, x.dialect = s, s.dialect
	} else {
		x.dialect, _ = dialect.PerRequest(dialect.PerRequestVersions()[0])
	}
	p, fault := x.dialect.DecodeParams(x.method, params)
	if fault != nil {
		return ignore
	}
	switch p := p.(type) {
	case *protocol.CancelledParams:
		return c.cancelled(x, p)
	case *protocol.InitializedParams:
		return c.initialized(s)
	case *protocol.ProgressParams:
		return c.progressed(x, p)
	case *protocol.TaskStatusParams:
		return c.taskTold(x, &p.Task)
	case *protocol.RootsChangedParams:
		return c.rootsChanged(x, s)
	}
	return ignore
}

// cancelled stops the call, if it is still in flight. It is looked up in Accept,
// in order, because its id may be used again right after.
func (c *conn) cancelled(x *exchange, p *protocol.CancelledParams) step {
	target := c.call(p.ID)
	if target == nil {
		return c.forward(x)
	}
	if target.method == protocol.MethodInitialize { // initialize cannot be cancelled
		return ignore
	}
	return func(context.Context, transport.Outbound) error {
		target.abandon(&CancelledError{Reason: p.Reason})
		return nil
	}
}

// CancelledError is the cause of the context of a call that the client cancelled.
type CancelledError struct{ Reason string }

// Error names the client's reason, if it gave one.
func (e *CancelledError) Error() string {
	if e.Reason == "" {
		return "cancelled by the client"
	}
	return "cancelled by the client: " + e.Reason
}

func (c *conn) initialized(s *session) step {
	if s == nil {
		return ignore
	}
	s.begin() // in Accept, in the order of arrival: later requests rely on it
	if c.kept() == nil {
		return ignore
	}
	return func(ctx context.Context, _ transport.Outbound) error {
		if err := c.alter(ctx, s, func(k *keptSession) { k.Ready = true }); err != nil {
			c.background(ctx, err) // other nodes wait a little before they ask
		}
		return nil
	}
}

func (c *conn) rootsChanged(x *exchange, s *session) step {
	if s != nil && c.e.cfg.RootsChanged != nil {
		c.e.cfg.RootsChanged(s.id)
		c.e.broadcast(nodeMessage{Kind: nodeRoots, Session: s.id})
	}
	if s == nil || c.e.cfg.OnRootsChanged == nil {
		return ignore
	}
	return func(ctx context.Context, out transport.Outbound) error {
		x.call = x.newCall(&protocol.RootsChangedParams{}, noMeta)
		x.out = out
		c.e.cfg.OnRootsChanged(context.WithValue(ctx, callKey{}, x.call))
		return nil
	}
}

// answered is the step of a response: it delivers the answer to a request of ours. An answer that
// matches no request (it may be late) is dropped, unless another node may wait for it.
func (c *conn) answered(x *exchange, msg jsonrpc.Message) step {
	return func(ctx context.Context, _ transport.Outbound) error {
		if !c.deliver(msg) {
			c.leaveAnswer(ctx, msg.ID, x.frame)
		}
		return nil
	}
}

// deliver passes an answer to the request of ours that waits for it. It returns false if none here
// does. A request that became a task of the client stays registered, for notifications of that
// task; a second answer to it, which may arrive through another node, is ignored.
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
