package client

import (
	"context"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/protocol/jsonrpc"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// notice handles a notification of the server. It updates the client's own state at once, and
// returns the call of the program's handlers for the dispatcher, or nil. Malformed notifications
// reach only OnNotification.
//
// The reader calls it. State is updated in the reader, so that it is up to date for the next frame.
// Handlers run later, in the dispatcher. Neither waits for the other.
func (c *Client) notice(msg jsonrpc.Message) func(context.Context) {
	var progress func()
	if d := c.dialect.Load(); d != nil {
		progress = c.own(d, msg)
	}
	fn := c.config.notify
	if fn == nil && progress == nil {
		return nil
	}
	n := protocol.Notification{Method: msg.Method, Params: msg.Params}
	return func(ctx context.Context) {
		if progress != nil {
			progress()
		}
		if fn != nil {
			fn(ctx, n)
		}
	}
}

// own applies a notification to the client's own state. It returns the call of a progress handler
// for the dispatcher, or nil.
//
// It must not block: it only takes the locks of the tables, one at a time.
func (c *Client) own(d *dialect.Dialect, msg jsonrpc.Message) (progress func()) {
	params, fault := d.DecodeParams(msg.Method, msg.Params)
	if fault != nil {
		return nil
	}
	switch p := params.(type) {
	case *protocol.ProgressParams:
		return c.progressed(p)
	case *protocol.CancelledParams:
		c.questions.withdraw(p.ID)
		if s := c.streams.remove(p.ID.Key()); s != nil { // 2026-07-28 basic/utilities/cancellation
			close(s.ended)
		}
	case *protocol.AcknowledgedParams:
		c.streams.find(unquoted(subscriptionID(msg.Params))).acknowledge(p.Filter)
	case *protocol.TaskStatusParams:
		c.followed.news(p.Task)
	case *protocol.TaskParams:
		c.followed.news(p.Task.Task)
	case *protocol.ResourceUpdatedParams:
		c.updated(d, subscriptionID(msg.Params), p.URI)
	}
	return nil
}

// progressed finds the function that wants the report now, in the reader. The returned call runs in
// the dispatcher. It checks over again, because the call may have ended since.
func (c *Client) progressed(p *protocol.ProgressParams) func() {
	want := c.progress.find(unquoted(p.Token))
	if want == nil {
		return nil
	}
	progress := protocol.Progress{Done: p.Done, Message: p.Message}
	if p.Total != nil {
		progress.Total = *p.Total
	}
	return func() {
		if !want.over.Load() { // the caller may have stopped waiting in the meantime
			want.fn(progress)
		}
	}
}

// subscriptionID returns the id of the listen stream that a notification belongs to (2026-07-28
// basic/patterns/subscriptions). It is read here, not by a dialect, because a client needs nothing
// else in the _meta of a notification.
func subscriptionID(params []byte) jsonrpc.ID {
	meta, _ := jsontext.Member(params, "_meta")
	raw, _ := jsontext.Member(meta, "io.modelcontextprotocol/subscriptionId")
	id, _ := jsonrpc.ParseID(raw)
	return id
}
