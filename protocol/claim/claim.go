// Package claim is the port for small facts that only one may establish: who runs a
// thing (a lease), that a thing was done and what came of it (idempotency), how
// often (a counter). Everything is a value under a key that expires.
//
//	held, mine, err := store.Claim(ctx, "once/"+key, []byte("running"), time.Minute)
//
// The package holds the interface, no implementation and no goroutine.
package claim

import (
	"context"
	"errors"
	"time"
)

// ErrNotFound says that there is nothing under the key, or not any more.
var ErrNotFound = errors.New("claim: not found")

// ErrFull says that the store has no room for a new claim: who can do without one
// does.
var ErrFull = errors.New("claim: full")

// Store keeps values until they expire. Every method is atomic with respect to the
// others, on every node that shares the store. Safe for concurrent use. It neither
// keeps nor hands out a caller's slice. A life of 0 or less is an error.
type Store interface {
	// Claim puts value under key unless something is there; then it returns that,
	// and leaves its life as it is.
	Claim(ctx context.Context, key string, value []byte, life time.Duration) (held []byte, mine bool, err error)

	// Swap replaces the value if it is old, and begins its life anew; false if it is
	// not, or nothing is there. To renew a lease, old and value are the same.
	Swap(ctx context.Context, key string, old, value []byte, life time.Duration) (swapped bool, err error)

	// Get is the value, or ErrNotFound.
	Get(ctx context.Context, key string) ([]byte, error)

	// Delete forgets the key if its value is old; nil for any value. Nothing there
	// is no error.
	Delete(ctx context.Context, key string, old []byte) error

	// Add adds n to the counter under key and returns the sum. A counter that is not
	// there begins at 0, and its life with the first Add; later ones do not prolong
	// it. Counters and values do not share keys. A sum beyond int64 is an error, and
	// changes nothing.
	Add(ctx context.Context, key string, n int64, life time.Duration) (sum int64, err error)
}
