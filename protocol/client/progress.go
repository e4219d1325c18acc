package client

import (
	"sync"
	"sync/atomic"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/jsonrpc"
)

// progressWish is the function that wants the progress of a request. It is in Client.progress, by the
// token of the request, which is its id, until the reader receives the answer, or until the task is
// over. Later progress is ignored. All tokens are numbers.
//
// The goroutine of a call adds and removes it. The reader finds it, and also removes it when the
// answer arrives. over is set by the call: it keeps the dispatcher from calling fn for a report that
// was queued before.
type progressWish struct {
	fn    func(protocol.Progress)
	lasts bool        // stays beyond the answer, because the request may have become a task
	over  atomic.Bool // the call has returned, so fn is not called any more
}

// lastingWish ends the progress of a task. Its token is valid until the task is over (2025-11-25
// basic/utilities/tasks "Task Progress Notifications").
//
// The attempts of one call replace each other's token. Task ends the last one. stop is called
// without mu, because it takes the lock of the table.
type lastingWish struct {
	mu   sync.Mutex // guards the fields below
	stop func()
}

// replace sets stop, and removes the token of the previous attempt.
func (l *lastingWish) replace(stop func()) {
	l.mu.Lock()
	before := l.stop
	l.stop = stop
	l.mu.Unlock()
	if before != nil {
		before()
	}
}

// end removes the token. It may be called several times, and on nil.
func (l *lastingWish) end() {
	if l != nil {
		l.replace(nil)
	}
}

// wantProgress adds a wish. The caller must call stop, which may be called more than once. A call of
// fn may be in progress when stop returns.
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
