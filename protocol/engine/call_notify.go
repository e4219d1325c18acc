package engine

import (
	"context"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/transport"
)

// Notifier returns a function that sends notifications to the session of the call, even after the
// call has been answered. If there is no session, Notifier returns nil. The function returns the
// error of sending, or an error if the session has ended. It is safe for concurrent use.
func (c *Call) Notifier() func(ctx context.Context, p protocol.Params) error {
	if c.x.session == nil || c.silent {
		return nil
	}
	var meta *protocol.RequestMeta
	if task := c.Task(); task != "" {
		meta = &protocol.RequestMeta{RelatedTask: task}
	}
	feed := c.x.session.feed
	return func(ctx context.Context, p protocol.Params) error { return feed.notify(ctx, p, meta) }
}

// notify sends one notification at once, before the pending changes of the feed.
func (f *feed) notify(ctx context.Context, p protocol.Params, m *protocol.RequestMeta) error {
	f.mu.Lock()
	out, live := f.out, f.open && !f.stopped
	f.mu.Unlock()
	if f.session == "" && (!live || out == nil) {
		return errGone
	}
	if !f.e.running.Begin() {
		return ErrShutdown
	}
	defer f.e.running.Done()
	frame, err := notification(f.d, p, m)
	if err != nil {
		return err
	}
	if f.session != "" { // another node may have the session's stream
		f.e.broadcast(nodeMessage{Kind: nodeNotify, Session: f.session, Frame: frame})
	}
	// The feed of a task that was taken from the queue has no stream. If the session is served here,
	// its own feed has one.
	if s := f.e.sessionOf(f.session); out == nil && s != nil && s.feed != f {
		s.feed.push(frame)
	}
	if !live || out == nil {
		return nil
	}
	return out.Send(ctx, transport.Frame{JSON: frame})
}
