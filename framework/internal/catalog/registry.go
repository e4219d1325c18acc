package catalog

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/engine"
)

// Config configures a Registry. It must not be changed after New.
type Config struct {
	PageSize int    // entries on one page; at least 1
	Secret   []byte // authenticates cursors; registries with the same secret accept each other's cursors

	// Filter removes entries from a list for one caller, and may be nil. It gets a slice of its own and returns a
	// subsequence of it.
	Filter func(ctx context.Context, c *engine.Call, kind protocol.ListKind, entries []*Entry) ([]*Entry, error)

	// Discreet prevents the suggestion of another name in the answer to an unknown name, because Filter may hide
	// the entry with the other name from the caller.
	Discreet bool

	// Forbidden returns the error for a caller that names an entry and lacks some of its
	// scopes: absent, the error for an unknown entry, or another one. If Forbidden is nil, the error is
	// always absent.
	Forbidden func(ctx context.Context, c *engine.Call, e *Entry, name string, absent error) error
}

// Registry holds the current Snapshot.
type Registry struct {
	cfg     Config
	current atomic.Pointer[Snapshot]

	mu   sync.Mutex // serializes Update; guards next
	next uint64     // the place of the next new entry
}

// Change is the effect of an Update.
type Change struct {
	Removed int
	Kinds   []protocol.ListKind // lists that changed, each once
}

// New returns an empty registry.
func New(cfg Config) *Registry {
	cfg.PageSize = max(cfg.PageSize, 1)
	r := &Registry{cfg: cfg}
	r.current.Store(newSnapshot(&r.cfg, nil, protocol.ServerCapabilities{}))
	return r
}

// Snapshot returns the current catalog.
func (r *Registry) Snapshot() engine.Snapshot { return r.current.Load() }

// Entries returns all current entries, in order. The caller must not change the slice.
func (r *Registry) Entries() []*Entry { return r.current.Load().all }

// Lookup returns the entry with a key, also if the caller may not see it. If the key is unknown, it
// returns nil.
func (r *Registry) Lookup(kind Kind, key string) *Entry { return r.current.Load().byKey[kind][key] }

// Secret reports whether there is a resource with the URI now and some clients must not learn of it.
func (r *Registry) Secret(uri string) bool { return r.current.Load().secret(uri) }

// Update removes and adds in one step. It ignores entries to remove that are not in the registry. The
// caller makes sure that no two entries of one kind have one key. A new entry with the kind and key of
// a removed one takes its place in the list, all others go to the end.
func (r *Registry) Update(remove, add []*Entry) Change {
	r.mu.Lock()
	defer r.mu.Unlock()
	drop := make(map[*Entry]bool, len(remove))
	for _, e := range remove {
		drop[e] = true
	}
	old := r.current.Load()
	var all []*Entry
	gone := make(map[place]*Entry, len(remove))
	for _, e := range old.all {
		if drop[e] {
			gone[place{e.Kind, e.Key}] = e
		} else {
			all = append(all, e)
		}
	}
	for _, e := range add {
		if before := gone[place{e.Kind, e.Key}]; before != nil {
			e.order = before.order
		} else {
			r.next++
			e.order = r.next
		}
	}
	all = append(all, add...)
	slices.SortStableFunc(all, func(a, b *Entry) int { return cmp.Compare(a.order, b.order) })
	r.current.Store(newSnapshot(&r.cfg, all, old.capabilities))
	removed := len(gone)
	return Change{Removed: removed, Kinds: changedLists(gone, add)}
}

// place identifies an entry, also after it was replaced.
type place struct {
	kind Kind
	key  string
}

// changedLists returns each list that shows a difference, once. It removes the replaced entries from gone.
// Templates and resources share a notification and count as one list.
func changedLists(gone map[place]*Entry, added []*Entry) []protocol.ListKind {
	var changed [kinds]bool
	for _, e := range added {
		at := place{e.Kind, e.Key}
		changed[e.Kind] = changed[e.Kind] || !gone[at].listsLike(e)
		delete(gone, at)
	}
	for at := range gone {
		changed[at.kind] = true
	}
	changed[Resource] = changed[Resource] || changed[Template]
	var out []protocol.ListKind
	for _, k := range []Kind{Tool, Resource, Prompt} {
		if changed[k] {
			out = append(out, protocol.ListKind(k))
		}
	}
	return out
}
