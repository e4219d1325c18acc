// Package session defines the store for sessions that outlive a process or are served by
// several processes: the state that an initialize request created, as plain data under
// the session's id.
//
//	r, err := store.Get(ctx, id)
//	r.Data = changed(r.Data)
//	err = store.Update(ctx, r) // ErrConflict: read again, change again
//
// Revision 2026-07-28 has no sessions and does not need this package.
//
// The package has only data types and the interface. Implementations are in
// framework/store; testkit/storetest tests them.
package session

import (
	"context"
	"errors"
	"time"
)

// Errors that every Store returns, possibly wrapped.
var (
	ErrNotFound = errors.New("session: not found")
	ErrExists   = errors.New("session: exists")
	ErrConflict = errors.New("session: version conflict")
)

// ErrFull means that a store has no room for another session, or for a larger one.
var ErrFull = errors.New("session: full")

// Record is one session.
type Record struct {
	ID        string
	Principal string    // the session's owner, empty if nobody is known; set by Create and never changed
	Version   uint64    // set by the store: 1 after Create, and one more after each Update
	Expires   time.Time // zero: never
	Data      []byte    // opaque to the store
}

// Exclusive is a Store that one process has at a time, such as a locked file: whoever opens it
// knows that all who had it before have ended.
type Exclusive interface {
	Store
	// Opening is a name for the time from when the store was opened until it is closed, or
	// its process ends. It is not empty, and another one each time.
	Opening() string
}

// Store keeps records until they expire or are deleted. Its methods are atomic with
// respect to each other, across all processes that share the store. It is safe for
// concurrent use, and neither retains slices of its callers nor returns them to others.
//
// The session id that a client knows is a secret. Record.ID is a digest of it, so the
// store never sees the secret.
type Store interface {
	// Create stores the record as version 1; r.Version is ignored. The error is
	// ErrExists if there is a record with this id that has not expired, or ErrFull.
	Create(ctx context.Context, r Record) error
	// Get returns the record. The error is ErrNotFound if there is none or it has
	// expired.
	Get(ctx context.Context, id string) (Record, error)
	// Update replaces Expires and Data. The error is ErrConflict unless r.Version is the
	// stored version, ErrNotFound, or ErrFull.
	Update(ctx context.Context, r Record) error
	// Touch sets when the record expires (zero: never), without a new version. The error
	// is ErrNotFound.
	Touch(ctx context.Context, id string, expires time.Time) error
	// Delete removes the record. Deleting an unknown id is not an error.
	Delete(ctx context.Context, id string) error
}
