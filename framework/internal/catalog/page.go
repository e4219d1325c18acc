package catalog

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/protocol/engine"
	"github.com/kagami-mcp/kagami/transport"
)

// List is one page, which is shared: read-only. The time to live is 0: what is
// listed may change at any moment. As soon as one component has scopes, every page
// says that it is for this caller only, the pages of all callers alike (2026-07-28
// server/utilities/caching: the same cacheScope on all pages).
func (s *Snapshot) List(ctx context.Context, c *engine.Call, p *protocol.ListParams) (*protocol.Page, error) {
	if int(p.Kind) >= listKinds {
		return nil, protocol.Faultf(protocol.FaultMethodNotFound, "no such list")
	}
	key, keeps := s.keyOf(ctx, c, p)
	if keeps {
		if page := s.pages.get(key); page != nil {
			return page, nil
		}
	}
	page, err := s.page(ctx, c, p)
	if err == nil && keeps {
		s.pages.put(key, page)
	}
	return page, err
}

// page makes a page.
func (s *Snapshot) page(ctx context.Context, c *engine.Call, p *protocol.ListParams) (*protocol.Page, error) {
	after, err := s.position(p)
	if err != nil {
		return nil, err
	}
	entries, err := s.visible(ctx, c, p.Kind)
	if err != nil {
		return nil, err
	}
	start, _ := slices.BinarySearchFunc(entries, after+1, func(e *Entry, order uint64) int { return cmp.Compare(e.order, order) })
	end := min(start+s.cfg.PageSize, len(entries))
	page := &protocol.Page{
		Kind: p.Kind, Entries: joined(entries[start:end], c.Dialect),
		Cache: protocol.CacheHints{Private: s.lists[p.Kind].scoped() || s.cfg.Filter != nil},
	}
	if end < len(entries) {
		next := s.cfg.cursor(p.Kind, entries[end-1])
		page.Next = &next
	}
	return page, nil
}

// joined are the encoded entries with commas between them.
func joined(entries []*Entry, d *dialect.Dialect) [][]byte {
	if len(entries) == 0 {
		return nil
	}
	wires := make([][]byte, len(entries))
	for i, e := range entries {
		wires[i] = e.Wire[d]
	}
	return [][]byte{bytes.Join(wires, []byte(","))}
}

// position is the place after which the page begins; 0 for the first page.
func (s *Snapshot) position(p *protocol.ListParams) (uint64, error) {
	if p.Cursor == nil {
		return 0, nil
	}
	order, key, ok := s.cfg.parseCursor(p.Kind, *p.Cursor)
	if !ok {
		return 0, protocol.Faultf(protocol.FaultInvalidParams, "invalid cursor")
	}
	// The key is preferred while its entry exists: after a restart with other components,
	// places may have moved.
	if e := s.byKey[p.Kind][key]; e != nil {
		return e.order, nil
	}
	return order, nil
}

// visible is the list as this caller may see it.
func (s *Snapshot) visible(ctx context.Context, c *engine.Call, kind protocol.ListKind) ([]*Entry, error) {
	l := &s.lists[kind]
	entries := l.open
	if l.scoped() {
		if who := transport.PrincipalFrom(ctx); who != nil {
			entries = slices.DeleteFunc(slices.Clone(l.listed), func(e *Entry) bool { return !e.VisibleTo(who) })
		}
	}
	if s.cfg.Filter == nil {
		return entries, nil
	}
	filtered, err := s.cfg.Filter(ctx, c, kind, slices.Clone(entries))
	if err != nil {
		return nil, fmt.Errorf("filtering %s: %w", kind.Method(), err)
	}
	return filtered, nil
}
