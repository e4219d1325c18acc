package client

import (
	"sync"
	"sync/atomic"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/jsonrpc"
)

// progressTable knows who wants the progress of which request, by the token,
// which is the request's id. The answer ends that, as the reader sees it: progress
// that a server sends too late is nobody's.
type progressTable struct {
	mu     sync.Mutex
	wanted map[string]*progressWish
}

type progressWish struct {
	fn   func(protocol.Progress)
	over atomic.Bool // the call has returned
}

func (t *progressTable) want(token jsonrpc.ID, fn func(protocol.Progress)) (stop func()) {
	w := &progressWish{fn: fn}
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
