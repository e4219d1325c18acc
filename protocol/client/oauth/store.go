package oauth

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
)

// Errors of a Store, possibly wrapped.
var (
	ErrNotFound = errors.New("oauth: not found")
	ErrConflict = errors.New("oauth: version conflict")
)

// Kind is the type of a record's content. A Flow also uses kinds that have no constant, for records
// and for locks, so a Store must accept every kind.
type Kind string

// The kinds of records that have secrets.
const (
	Registration Kind = "registration" // a client id with its credentials, at one issuer
	Tokens       Kind = "tokens"       // tokens for one server, from one issuer
)

// Key identifies a record.
type Key struct {
	Kind     Kind   `json:"kind"`
	Issuer   string `json:"issuer"`
	Resource string `json:"resource,omitempty"` // URL of the server that the tokens are for; empty for a registration; other kinds may have any text here
	Profile  string `json:"profile,omitempty"`  // account, if a user has several at one server; usually empty
}

func (k Key) compare(o Key) int {
	return cmp.Or(cmp.Compare(k.Kind, o.Kind), cmp.Compare(k.Issuer, o.Issuer),
		cmp.Compare(k.Resource, o.Resource), cmp.Compare(k.Profile, o.Profile))
}

// Record is an entry of a Store. It contains secrets in plain text.
type Record struct {
	Key     Key
	Version uint64 // set by the store: 1 for a new record, and one more with each Put
	Data    []byte // JSON, opaque to the store
}

// Store stores registrations and tokens. Its methods are atomic with respect to each other, in all
// processes that share the store. A Store is safe for concurrent use. Package testkit/storetest has
// a test suite for stores.
type Store interface {
	// Get returns the record, or ErrNotFound.
	Get(ctx context.Context, k Key) (Record, error)
	// Put stores the record if r.Version is the stored version, or 0 if there is no record.
	// Otherwise it returns ErrConflict. A late renewal therefore never overwrites the tokens of an
	// earlier one.
	Put(ctx context.Context, r Record) (version uint64, err error)
	// Delete removes the record if it has this version; otherwise it returns ErrConflict. If the
	// record does not exist, Delete returns nil.
	Delete(ctx context.Context, k Key, version uint64) error
	// List returns the keys, sorted by kind, issuer, resource and profile.
	List(ctx context.Context) ([]Key, error)
	// Lock waits until no other process renews the tokens of k, and locks them until unlock is
	// called. unlock may be called twice. The lock ends with the process. If only one process uses
	// the store, Lock may do nothing.
	Lock(ctx context.Context, k Key) (unlock func(), err error)
}

// Memory returns a store that keeps records until the process ends.
func Memory() Store { return &memory{records: map[Key]Record{}} }

type memory struct {
	mu      sync.Mutex // guards records
	records map[Key]Record
}

func (m *memory) Get(ctx context.Context, k Key) (Record, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.records[k]
	if !ok {
		return Record{}, cmp.Or(ctx.Err(), ErrNotFound)
	}
	r.Data = slices.Clone(r.Data)
	return r, ctx.Err()
}

func (m *memory) Put(ctx context.Context, r Record) (uint64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if m.records[r.Key].Version != r.Version {
		return 0, ErrConflict
	}
	r.Version++
	r.Data = slices.Clone(r.Data)
	m.records[r.Key] = r
	return r.Version, nil
}

func (m *memory) Delete(ctx context.Context, k Key, version uint64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if r, ok := m.records[k]; ok && r.Version != version {
		return ErrConflict
	}
	delete(m.records, k)
	return nil
}

func (m *memory) List(ctx context.Context) ([]Key, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.SortedFunc(maps.Keys(m.records), Key.compare), ctx.Err()
}

// Lock does nothing, because a Flow makes only one renewal of a server's tokens at a time.
func (m *memory) Lock(ctx context.Context, _ Key) (func(), error) { return func() {}, ctx.Err() }
