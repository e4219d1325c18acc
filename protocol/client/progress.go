package client

import (
	"sync"
	"sync/atomic"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/jsonrpc"
)

// progressTable maps the token of a request, which is its id, to the function that wants its
// progress. An entry is removed when the reader receives the answer, or when the task is over.
// Later progress is ignored.
//
// The goroutine of a call adds and removes its entry. The reader finds it, and also removes it when
// the answer arrives. over is set by the call: it keeps the dispatcher from calling fn for a report
// that was queued before.
type progressTable struct {
	mu     sync.Mutex // guards the fields below
	wanted map[string]*progressWish
}

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

// want adds an entry. The caller must call stop, which may be called more than once. A call of fn
// may be in progress when stop returns.
func (t *progressTable) want(token jsonrpc.ID, fn func(protocol.Progress), lasts bool) (stop func()) {
	w := &progressWish{fn: fn, lasts: lasts}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.wanted == nil {
		t.wanted = map[string]*progressWish{}
	}
	t.wanted[token.Key()] = w
	return func() {
		w.over.Store(true)
		t.drop(token)
	}
}

// find returns the entry of the token, or nil. All tokens in the table are numbers.
func (t *progressTable) find(token jsonrpc.ID) *progressWish {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.wanted[unquoted(token)]
}

func (t *progressTable) drop(token jsonrpc.ID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.wanted, token.Key())
}

// answered removes the entry of a request that was answered, unless the entry lasts.
func (t *progressTable) answered(token jsonrpc.ID) {
	if w := t.find(token); w != nil && !w.lasts {
		t.drop(token)
	}
}
