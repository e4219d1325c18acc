// Package session is the port for handshake sessions that outlive a process or are
// served by several: the session of an initialize as plain data, found by its id.
//
//	r, err := store.Get(ctx, id)
//	r.Data = changed(r.Data)
//	err = store.Update(ctx, r) // ErrConflict: read again, change again
//
// 2026-07-28 has no sessions, and needs none of this.
//
// The package holds data and the interface, no implementation and no goroutine.
package session

import (
	"context"
	"errors"
	"time"
)

// Sentinels every Store returns, possibly wrapped.
var (
	ErrNotFound = errors.New("session: not found")
	ErrExists   = errors.New("session: exists")
	ErrConflict = errors.New("session: version conflict")
)

// ErrFull says that a store has no room for another session, or a larger one.
var ErrFull = errors.New("session: full")

// Record is plain data.
type Record struct {
	ID        string
	Principal string    // whose it is; empty: nobody is known. It stays as it was created
	Version   uint64    // set by the store: 1 after Create, +1 after each Update
	Expires   time.Time // zero: never
	Data      []byte    // opaque to the store
}

// Store keeps records until they expire or are deleted. Safe for concurrent use. It
// neither keeps nor hands out a caller's slice. Every method is atomic with respect
// to the others, on every node that shares the store.
//
// The id that a client knows is a secret: who uses a store gives it a digest.
type Store interface {
	// Create keeps the record as version 1, whatever r.Version is. ErrExists, also
	// where the id is that of a record that has not expired yet. ErrFull.
	Create(ctx context.Context, r Record) error
	// Get is the record, or ErrNotFound, also for an expired one.
	Get(ctx context.Context, id string) (Record, error)
	// Update replaces Expires and Data; r.Version must be the stored one, else
	// ErrConflict. ErrNotFound. ErrFull.
	Update(ctx context.Context, r Record) error
	// Touch sets when the record expires; zero: never. Its version stays. ErrNotFound.
	Touch(ctx context.Context, id string, expires time.Time) error
	// Delete forgets the record. Nothing there is no error.
	Delete(ctx context.Context, id string) error
}
