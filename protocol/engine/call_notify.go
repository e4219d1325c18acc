package engine

import (
	"context"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/engine/internal/feed"
	"github.com/kagami-mcp/kagami/protocol/engine/internal/nodebus"
	"github.com/kagami-mcp/kagami/transport"
)

// Notifier returns a function that sends notifications to the session of the call, even after the
// call has been answered. If there is no session, Notifier returns nil. The function returns the
// error of sending, or an error if the session has ended. It is safe for concurrent use.
func (c *Call) Notifier() func(ctx context.Context, p protocol.Params) error {
	if c.from().session == nil || c.silent {
		return nil
	}
	var meta *protocol.RequestMeta
	if task := c.Task(); task != "" {
		meta = &protocol.RequestMeta{RelatedTask: task}
	}
	e, s := c.from().conn.e, c.from().session
	return func(ctx context.Context, p protocol.Params) error { return e.notifySession(ctx, s, p, meta) }
}

// notifySession sends one notification to the client of a session at once, before the pending changes
// of its feed.
func (e *Engine) notifySession(ctx context.Context, s *session, p protocol.Params, m *protocol.RequestMeta) error {
	out, live := s.feed.Outbound()
	if s.shared == "" && !live {
		return errGone
	}
	if !e.running.Begin() {
		return ErrShutdown
	}
	defer e.running.Done()
	frame, err := feed.Notification(s.dialect, p, m)
	if err != nil {
		return err
	}
	if s.shared != "" { // another node may have the session's stream
		e.node.Broadcast(nodebus.Message{Kind: nodebus.Notify, Session: s.shared, Frame: frame})
	}
	// The session of a task that was taken from the queue has no stream. If the session is served
	// here, the session of its connection has one.
	if served := e.sessionOf(s.shared); out == nil && served != nil && served != s {
		served.feed.Push(frame)
	}
	if !live {
		return nil
	}
	return out.Send(ctx, transport.Frame{JSON: frame})
}
