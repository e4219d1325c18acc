// Package claim defines the store for small facts that only one process may establish. Such facts
// are the worker of a job (a lease), the outcome of an action (idempotency), and a number of events
// (a counter). Each is a value under a key, with a lifetime.
//
//	held, mine, err := store.Claim(ctx, "once/"+key, []byte("running"), time.Minute)
//
// The package has only the interface. Implementations are in framework/store; testkit/storetest
// tests them.
package claim

import (
	"context"
	"errors"
	"time"
)

// ErrNotFound means that there is no value under the key, or that it has expired.
var ErrNotFound = errors.New("claim: not found")

// ErrFull means that the store has no space for a new claim. Callers that can work without one
// should do so.
var ErrFull = errors.New("claim: full")

// Store keeps values until they expire. Its methods are atomic with respect to each other, across
// all processes that share the store. It is safe for concurrent use. It does not retain slices of
// its callers, and does not return them to others. A life of 0 or less is an error.
//
// A method sees each change that was complete before its call. Reads from a replica that may be behind
// are not enough.
//
// An operation ends soon after its context. The server gives each operation 20 seconds at most. An
// operation that returned an error may have taken effect all the same.
type Store interface {
	// Claim stores value under key and returns mine = true. If the key already has a value, Claim
	// returns that value as held, and does not extend its life. The error may be ErrFull.
	//
	// The value may be removed before a store has read it. The store must then claim again, because
	// the engine would take an empty held for the claim of another call.
	Claim(ctx context.Context, key string, value []byte, life time.Duration) (held []byte, mine bool, err error)

	// Swap replaces the value if it equals old, and restarts its life. If the value differs or the
	// key has none, Swap returns false. To renew a lease, pass the same bytes as old and value.
	Swap(ctx context.Context, key string, old, value []byte, life time.Duration) (swapped bool, err error)

	// Get returns the value, or ErrNotFound.
	Get(ctx context.Context, key string) ([]byte, error)

	// Delete removes the key if its value equals old. If old is nil, it removes the key with any
	// value. Deleting a key without a value is not an error.
	Delete(ctx context.Context, key string, old []byte) error

	// Add adds n to the counter under key and returns the sum. The first Add creates the counter,
	// from 0, and starts its life; later ones do not extend it. Counters and values do not share
	// keys. If the sum overflows int64, Add returns an error and changes nothing.
	Add(ctx context.Context, key string, n int64, life time.Duration) (sum int64, err error)
}
