// Package claim defines the store for small facts that only one process may establish:
// who is working on something (a lease), that something was done and what the outcome
// was (idempotency), and how often it was done (a counter). Each is a value under a key,
// with a lifetime.
//
//	held, mine, err := store.Claim(ctx, "once/"+key, []byte("running"), time.Minute)
//
// The package has only the interface. Implementations are in framework/store;
// testkit/storetest tests them.
package claim

import (
	"context"
	"errors"
	"time"
)

// ErrNotFound means that there is no value under the key, or that it has expired.
var ErrNotFound = errors.New("claim: not found")

// ErrFull means that the store has no room for a new claim. Callers that can work
// without one should do so.
var ErrFull = errors.New("claim: full")

// Store keeps values until they expire. Its methods are atomic with respect to each
// other, across all processes that share the store. It is safe for concurrent use, and
// neither retains slices of its callers nor returns them to others. A life of 0 or less
// is an error.
type Store interface {
	// Claim stores value under key and returns mine = true, unless the key has a value
	// already; then it returns that value as held, and does not extend its life. The
	// error may be ErrFull.
	Claim(ctx context.Context, key string, value []byte, life time.Duration) (held []byte, mine bool, err error)

	// Swap replaces the value if it equals old, and restarts its life. It returns false
	// if the value differs or the key has none. To renew a lease, pass the same bytes as
	// old and value.
	Swap(ctx context.Context, key string, old, value []byte, life time.Duration) (swapped bool, err error)

	// Get returns the value, or ErrNotFound.
	Get(ctx context.Context, key string) ([]byte, error)

	// Delete removes the key if its value equals old, or whatever the value is if old
	// is nil. Deleting a key without a value is not an error.
	Delete(ctx context.Context, key string, old []byte) error

	// Add adds n to the counter under key and returns the sum. The first Add creates the
	// counter, from 0, and starts its life; later ones do not extend it. A key is either
	// a counter's or a value's. A sum that overflows int64 is an error and changes
	// nothing.
	Add(ctx context.Context, key string, n int64, life time.Duration) (sum int64, err error)
}
