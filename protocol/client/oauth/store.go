package oauth

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
)

// Errors that every Store returns, possibly wrapped.
var (
	ErrNotFound = errors.New("oauth: not found")
	ErrConflict = errors.New("oauth: version conflict")
)

// Kind is what a record holds.
type Kind string

// The kinds.
const (
	Registration Kind = "registration" // a client id and its credentials, at one issuer
	Tokens       Kind = "tokens"       // for one server, of one issuer
)

// Key is where a record is. Tokens have all of it; a registration has no Resource.
type Key struct {
	Kind     Kind   `json:"kind"`
	Issuer   string `json:"issuer"`
	Resource string `json:"resource,omitempty"`
	Profile  string `json:"profile,omitempty"` // several accounts of one user at one server; usually empty
}

func (k Key) compare(o Key) int {
	return cmp.Or(cmp.Compare(k.Kind, o.Kind), cmp.Compare(k.Issuer, o.Issuer),
		cmp.Compare(k.Resource, o.Resource), cmp.Compare(k.Profile, o.Profile))
}

// Record is plain data. It contains secrets.
type Record struct {
	Key     Key
	Version uint64 // set by the store: 1 at first, and one more each time
	Data    []byte // JSON, opaque to the store
}

// Store keeps registrations and tokens. Its methods are atomic with respect to each other, in all
// processes that share it. It is safe for concurrent use. testkit/storetest has its suite.
type Store interface {
	// Get returns the record, or ErrNotFound.
	Get(ctx context.Context, k Key) (Record, error)
	// Put stores the record if r.Version is the stored version, 0 for none; else ErrConflict. So a
	// renewal that came late never overwrites the tokens of the one that won.
	Put(ctx context.Context, r Record) (version uint64, err error)
	// Delete removes the record if it still has this version; else ErrConflict. One that does not
	// exist is not an error.
	Delete(ctx context.Context, k Key, version uint64) error
	// List returns the keys, sorted by kind, issuer, resource and profile.
	List(ctx context.Context) ([]Key, error)
	// Lock waits until no other process renews the tokens of k, and keeps others from it until
	// unlock, which may be called twice. It ends with the process. A store that one process has
	// may do nothing.
	Lock(ctx context.Context, k Key) (unlock func(), err error)
}

// Memory keeps records until the process ends.
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
	keys := make([]Key, 0, len(m.records))
	for k := range m.records {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, Key.compare)
	return keys, ctx.Err()
}

// Lock does nothing: a Flow renews once at a time.
func (m *memory) Lock(ctx context.Context, _ Key) (func(), error) { return func() {}, ctx.Err() }
