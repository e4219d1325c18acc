// Package session defines the store for sessions that outlive a process or that several processes
// serve. A session is the state that an initialize request created, as plain data under the
// session's ID.
//
//	r, err := store.Get(ctx, id)
//	r.Data = changed(r.Data)
//	err = store.Update(ctx, r) // ErrConflict: read again, change again
//
// A store also keeps other records, and does not interpret their contents. Carriers keep a short record
// for each process, which they touch every few seconds, and for each connection of HTTP+SSE.
// Package middleware/authserver keeps clients, grants and keys. Their IDs are text such as "node.7", their
// Principal is often empty, and many of them never expire.
//
// Revision 2026-07-28 has no sessions.
//
// The package has only data types and the interface. Implementations are in framework/store;
// testkit/storetest tests them.
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

// ErrFull means that a store has no space for another session, or for a larger one.
var ErrFull = errors.New("session: full")

// Record is one session, or another record as the package documentation describes.
type Record struct {
	ID        string    // for a session, a digest of the ID that its client sends
	Principal string    // the session's owner, empty for a caller that is not identified; set by Create and never changed
	Version   uint64    // set by the store: 1 after Create, and one more after each Update
	Expires   time.Time // zero means never
	Data      []byte    // opaque to the store
}

// Exclusive is a Store that one process has at a time, such as a locked file. When a process opens
// it, all earlier processes have ended.
type Exclusive interface {
	Store
	// Opening returns a name for the time from when the store was opened until it is closed, or its
	// process ends. The name is not empty, and differs each time.
	Opening() string
}

// Store keeps records until they expire or are deleted. Its methods are atomic with respect to each
// other, across all processes that share the store. It is safe for concurrent use. It does not
// retain slices of its callers, and does not return them to others.
//
// A method sees each change that was complete before its call. Reads from a replica that may be behind
// are not enough.
//
// An operation ends soon after its context. The server gives each operation 20 seconds at most. An
// operation that returned an error may have taken effect all the same.
//
// The session ID that a client sends is a secret. Record.ID is a digest of the session ID, so the store
// never sees the secret.
type Store interface {
	// Create stores the record as version 1; r.Version is ignored. If there is a record with this
	// ID that has not expired, it returns ErrExists. It may also return ErrFull.
	Create(ctx context.Context, r Record) error
	// Get returns the record. If there is none, or it has expired, Get returns ErrNotFound.
	Get(ctx context.Context, id string) (Record, error)
	// Update replaces Expires and Data. If r.Version is not the stored version, it returns
	// ErrConflict. It may also return ErrNotFound or ErrFull.
	Update(ctx context.Context, r Record) error
	// Touch sets when the record expires (zero means never), without a new version. It may return
	// ErrNotFound.
	Touch(ctx context.Context, id string, expires time.Time) error
	// Delete removes the record. Deleting an unknown id is not an error.
	Delete(ctx context.Context, id string) error
}
