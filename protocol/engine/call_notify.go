package engine

import (
	"context"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/transport"
)

// Notifier sends notifications to the session of the call, also when the call has
// long been answered; nil without a session. The error is that of sending, or says
// that the session has ended. The function may be called concurrently.
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

// notify sends one notification at once, without waiting for the pending changes of the feed.
func (f *feed) notify(ctx context.Context, p protocol.Params, m *protocol.RequestMeta) error {
	f.mu.Lock()
	out, live := f.out, f.open && !f.stopped
	f.mu.Unlock()
	if f.session == "" && (!live || out == nil) {
		return errGone
	}
	if !f.e.begin() {
		return ErrShutdown
	}
	defer f.e.running.Done()
	frame, err := notification(f.d, p, m)
	if err != nil {
		return err
	}
	if f.session != "" { // another node may have the stream of the session
		f.e.broadcast(nodeMessage{Kind: nodeNotify, Session: f.session, Frame: frame})
	}
	// The feed of a task that was taken from the queue has no stream; the session's own,
	// if it is served here, has.
	if s := f.e.sessionOf(f.session); out == nil && s != nil && s.feed != f {
		s.feed.push(frame)
	}
	if !live || out == nil {
		return nil
	}
	return out.Send(ctx, transport.Frame{JSON: frame})
}
