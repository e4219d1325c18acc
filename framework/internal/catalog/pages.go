package catalog

import (
	"context"
	"sync"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/protocol/engine"
	"github.com/kagami-mcp/kagami/transport"
)

// pageKey contains everything that a page of one snapshot depends on. It contains no bytes of the
// request, so a client cannot fill the memory with invented cursors.
type pageKey struct {
	kind    protocol.ListKind
	dialect *dialect.Dialect
	groups  uint64 // a bit for each group of the list, set if the caller has its scopes
	after   start
}

// keyOf returns the key of the requested page. It returns false if the page must not be kept, because a filter
// may answer each caller differently.
func (s *Snapshot) keyOf(ctx context.Context, c *engine.Call, kind protocol.ListKind, after start) (pageKey, bool) {
	key := pageKey{kind: kind, dialect: c.Dialect, after: after}
	l := &s.lists[kind]
	if s.cfg.Filter != nil || len(l.groups) > 64 {
		return key, false
	}
	if !l.scoped() {
		return key, true
	}
	who := transport.PrincipalFrom(ctx)
	for i, e := range l.groups {
		if e.VisibleTo(who) {
			key.groups |= 1 << i
		}
	}
	return key, true
}

// pages caches the pages of a snapshot that were requested last, in two generations: when the
// young one is full, it becomes the old one, and the old one is dropped.
type pages struct {
	mu         sync.Mutex // guards all
	young, old map[pageKey]*protocol.Page
	size       int // the size of the pages in young, in bytes
}

// Bounds of one generation, in bytes and in pages.
const (
	generation      = 4 << 20
	generationPages = 256
)

func (ps *pages) get(key pageKey) *protocol.Page {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	page := ps.young[key]
	if page == nil {
		if page = ps.old[key]; page != nil {
			ps.keep(key, page)
		}
	}
	return page
}

func (ps *pages) put(key pageKey, page *protocol.Page) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	ps.keep(key, page)
}

// keep is called with mu held.
func (ps *pages) keep(key pageKey, page *protocol.Page) {
	size := 0
	for _, e := range page.Entries {
		size += len(e)
	}
	if size > generation {
		return
	}
	if ps.young == nil || ps.size+size > generation || len(ps.young) == generationPages {
		ps.young, ps.old, ps.size = make(map[pageKey]*protocol.Page), ps.young, 0
	}
	ps.young[key] = page
	ps.size += size
}
