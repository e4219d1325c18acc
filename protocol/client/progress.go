package client

import (
	"sync"
	"sync/atomic"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/jsonrpc"
)

// progressTable knows who wants the progress of which request, by the token, which is the
// request's id. An entry is dropped when the reader sees the answer, or, for a task, when
// the task is over: later progress is ignored.
type progressTable struct {
	mu     sync.Mutex // guards the fields below
	wanted map[string]*progressWish
}

type progressWish struct {
	fn    func(protocol.Progress)
	lasts bool        // beyond the answer: the request may have become a task
	over  atomic.Bool // the call has returned
}

// lastingWish ends the progress of a task, whose token is good until the task is over
// (2025-11-25 basic/utilities/tasks "Task Progress Notifications").
type lastingWish struct {
	mu   sync.Mutex // guards the fields below
	stop func()
}

// replace ends the wish of the attempt before.
func (l *lastingWish) replace(stop func()) {
	l.mu.Lock()
	before := l.stop
	l.stop = stop
	l.mu.Unlock()
	if before != nil {
		before()
	}
}

// end may be called again, and on nil.
func (l *lastingWish) end() {
	if l != nil {
		l.replace(nil)
	}
}

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

func (t *progressTable) find(token jsonrpc.ID) *progressWish {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.wanted[token.Key()]
}

func (t *progressTable) drop(token jsonrpc.ID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.wanted, token.Key())
}

// answered drops what ends with the answer.
func (t *progressTable) answered(token jsonrpc.ID) {
	if w := t.find(token); w != nil && !w.lasts {
		t.drop(token)
	}
}
