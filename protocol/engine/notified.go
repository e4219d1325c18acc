package engine

import (
	"context"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/protocol/jsonrpc"
	"github.com/kagami-mcp/kagami/transport"
)

type step = func(ctx context.Context, out transport.Outbound) error

// notified is what a notification does. Unknown, malformed and misplaced ones
// do nothing: they are never answered.
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
		return c.cancelled(p)
	case *protocol.InitializedParams:
		return func(context.Context, transport.Outbound) error { c.initialized(s); return nil }
	case *protocol.ProgressParams:
		return func(context.Context, transport.Outbound) error { c.progressed(p); return nil }
	case *protocol.RootsChangedParams:
		return c.rootsChanged(x, s)
	}
	return ignore
}

// cancelled stops the call, if it is still in flight. It is looked up in Accept,
// in order, because its id may be used again right after.
func (c *conn) cancelled(p *protocol.CancelledParams) step {
	target := c.call(p.ID.Key())
	if target == nil || target.method == protocol.MethodInitialize { // initialize cannot be cancelled
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

func (c *conn) initialized(s *session) {
	if s != nil {
		s.readied.Do(func() { close(s.ready) })
		s.feed.start()
	}
}

func (c *conn) rootsChanged(x *exchange, s *session) step {
	if s != nil && c.e.cfg.RootsChanged != nil {
		c.e.cfg.RootsChanged(s.id)
	}
	if s == nil || c.e.cfg.OnRootsChanged == nil {
		return ignore
	}
	return func(ctx context.Context, out transport.Outbound) error {
		x.call = x.newCall(&protocol.RootsChangedParams{}, protocol.RequestMeta{})
		x.out = out
		c.e.cfg.OnRootsChanged(context.WithValue(ctx, callKey{}, x.call))
		return nil
	}
}

// answered delivers the answer to a request of ours; an answer that matches none
// is dropped (it may be late).
func (c *conn) answered(msg jsonrpc.Message) step {
	return func(context.Context, transport.Outbound) error {
		c.mu.Lock()
		a := c.asks[msg.ID.Key()]
		delete(c.asks, msg.ID.Key())
		c.mu.Unlock()
		if a != nil {
			a.deliver(msg)
		}
		return nil
	}
}
