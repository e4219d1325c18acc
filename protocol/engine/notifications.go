package engine

import (
	"context"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/protocol/engine/internal/nodebus"
	"github.com/kagami-mcp/kagami/protocol/jsonrpc"
	"github.com/kagami-mcp/kagami/transport"
)

// notified returns the step of a notification. Unknown, malformed and misplaced notifications do
// nothing, because they are never answered.
//
// It runs in Accept and must not block. What it does itself takes effect before later frames of the
// connection are accepted. The step may block.
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
		return c.taskUpdated(x, &p.Task)
	case *protocol.RootsChangedParams:
		return c.rootsChanged(x, s)
	}
	return ignore
}

// cancelled abandons the call, in Accept and in order, because the client may use the id again right
// after. The step waits for frames of the call that are being written. If the call is not in flight
// here, the step forwards the notification to the other nodes.
func (c *conn) cancelled(x *exchange, p *protocol.CancelledParams) step {
	target := c.call(p.ID)
	if target == nil {
		return c.forward(x)
	}
	if target.method == protocol.MethodInitialize { // initialize cannot be cancelled
		return ignore
	}
	target.abandon(&CancelledError{Reason: p.Reason})
	return func(context.Context, transport.Outbound) error {
		target.close()
		return nil
	}
}

// initialized returns the step of notifications/initialized. The step stores the state for other
// nodes; nothing waits for it.
func (c *conn) initialized(s *session) step {
	if s == nil {
		return ignore
	}
	s.begin() // in Accept, in order of arrival, because later requests rely on it
	if c.kept() == nil {
		return ignore
	}
	return func(ctx context.Context, _ transport.Outbound) error {
		if err := c.alter(ctx, s, func(k *keptSession) { k.Ready = true }); err != nil {
			c.background(ctx, err) // other nodes then wait for initializedGrace before they ask
		}
		return nil
	}
}

// rootsChanged returns the step of notifications/roots/list_changed. Config.RootsChanged has been
// called when rootsChanged returns, so that a later request of the connection asks for the new
// roots. The user's function runs in the step, with a call that has no request of its own, and
// rescue recovers its panic.
func (c *conn) rootsChanged(x *exchange, s *session) step {
	if s != nil && c.e.cfg.RootsChanged != nil {
		c.e.cfg.RootsChanged(s.id)
		c.e.node.Broadcast(nodebus.Message{Kind: nodebus.Roots, Session: s.id})
	}
	if s == nil || c.e.cfg.OnRootsChanged == nil {
		return ignore
	}
	return func(ctx context.Context, out transport.Outbound) error {
		x.call = x.newCall(&protocol.RootsChangedParams{}, noMeta)
		x.out = out
		c.e.cfg.OnRootsChanged(ctx)
		return nil
	}
}

// answered returns the step of a response, which delivers the answer to a request of the server. If
// no request here waits for the answer (it may be late), the step leaves it for other nodes or drops
// it.
func (c *conn) answered(x *exchange, msg jsonrpc.Message) step {
	return func(ctx context.Context, _ transport.Outbound) error {
		if !c.deliver(msg) {
			c.leaveAnswer(ctx, msg.ID, x.frame)
		}
		return nil
	}
}
