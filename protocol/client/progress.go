package client

import (
	"sync/atomic"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/jsonrpc"
)

// progressWish is the function that wants the progress of a request. It is in Client.progress until
// the reader receives the answer, or until the task is over. Later progress is ignored. The key is the
// token of the request: its id, so a number.
//
// The goroutine of a call adds and removes it. The reader finds it, and also removes it when the
// answer arrives. over is set by the call: it keeps the dispatcher from calling fn for a report that
// was queued before.
type progressWish struct {
	fn    func(protocol.Progress)
	lasts bool        // stays beyond the answer, because the request may have become a task
	over  atomic.Bool // the call has returned, so fn is not called any more
}

// wantProgress adds a wish. The caller must call stop, which may be called more than once, also
// concurrently. A call of fn may be in progress when stop returns.
func (c *Client) wantProgress(token jsonrpc.ID, fn func(protocol.Progress), lasts bool) (stop func()) {
	w := &progressWish{fn: fn, lasts: lasts}
	c.progress.put(token.Key(), w)
	return func() {
		w.over.Store(true)
		c.progress.remove(token.Key())
	}
}

// answeredRequest removes the wish of a request that was answered, unless the wish lasts.
func (c *Client) answeredRequest(id jsonrpc.ID) {
	if w := c.progress.find(id.Key()); w != nil && !w.lasts {
		c.progress.remove(id.Key())
	}
}
