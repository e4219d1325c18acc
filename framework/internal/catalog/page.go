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

// List returns one page. Callers share it and must not change it. Its time to live is 0, because
// lists may change at any moment. If one component has scopes, all pages of the list are private,
// for all callers (2026-07-28 server/utilities/caching: the same cacheScope on all pages).
func (s *Snapshot) List(ctx context.Context, c *engine.Call, p *protocol.ListParams) (*protocol.Page, error) {
	if int(p.Kind) >= listKinds {
		return nil, protocol.Faultf(protocol.FaultMethodNotFound, "no such list")
	}
	after, err := s.pageStart(ctx, p)
	if err != nil {
		return nil, err
	}
	key, keeps := s.keyOf(ctx, c, p.Kind, after)
	if keeps {
		if page := s.pages.get(key); page != nil {
			return page, nil
		}
	}
	page, err := s.page(ctx, c, p.Kind, after)
	if err == nil && keeps {
		s.pages.put(key, page)
	}
	return page, err
}

// page makes a page.
func (s *Snapshot) page(ctx context.Context, c *engine.Call, kind protocol.ListKind, after start) (*protocol.Page, error) {
	entries, err := s.visible(ctx, c, kind)
	if err != nil {
		return nil, err
	}
	start := after.in(entries)
	end := start + min(s.cfg.PageSize, len(entries)-start)
	page := &protocol.Page{
		Kind: kind, Entries: joined(entries[start:end], c.Dialect),
		Cache: protocol.CacheHints{Private: s.lists[kind].scoped() || s.cfg.Filter != nil},
	}
	if end < len(entries) {
		next := s.cfg.cursor(kind, entries[end-1])
		page.Next = &next
	}
	return page, nil
}

// joined returns the encoded entries, with commas between them.
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

// start is the place where a page begins: after an entry, or where that entry was. The zero value is the
// beginning of the list.
type start struct {
	order uint64 // place of the last entry before the page when the cursor was made
	last  *Entry // the last entry; nil if it was removed, or the caller may not see it
}

// pageStart returns the start for the cursor of a request.
func (s *Snapshot) pageStart(ctx context.Context, p *protocol.ListParams) (start, error) {
	if p.Cursor == nil {
		return start{}, nil
	}
	order, key, ok := s.cfg.parseCursor(p.Kind, *p.Cursor)
	if !ok {
		return start{}, protocol.Faultf(protocol.FaultInvalidParams, "invalid cursor")
	}
	if e := s.byKey[p.Kind][key]; e.visibleIn(ctx) && !e.Hidden {
		return start{order, e}, nil
	}
	return start{order: order}, nil
}

// in returns the index in a list where the page begins. If the list has the entry, the entry
// decides, because places may have changed after a restart with other components.
func (p start) in(entries []*Entry) int {
	if p.last != nil {
		if i, found := search(entries, p.last.order); found && entries[i] == p.last {
			return i + 1
		}
	}
	i, found := search(entries, p.order)
	if found {
		i++
	}
	return i
}

func search(entries []*Entry, order uint64) (int, bool) {
	return slices.BinarySearchFunc(entries, order, func(e *Entry, order uint64) int { return cmp.Compare(e.order, order) })
}

// visible returns the entries of the list that this caller may see.
func (s *Snapshot) visible(ctx context.Context, c *engine.Call, kind protocol.ListKind) ([]*Entry, error) {
	l := &s.lists[kind]
	entries := l.listed
	if l.scoped() {
		who := transport.PrincipalFrom(ctx)
		entries = slices.DeleteFunc(slices.Clone(entries), func(e *Entry) bool { return !e.VisibleTo(who) })
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
