package boltstore

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"time"

	"github.com/kagami-mcp/kagami/protocol/claim"
)

// claims is the claim.Store. Its rows are in one table, for values and counters.
type claims struct{ table table }

// valueKey and counterKey keep values and counters with the same name apart.
func valueKey(name string) []byte   { return append([]byte{'v'}, name...) }
func counterKey(name string) []byte { return append([]byte{'c'}, name...) }

// checkClaim returns an error if a claim must not be stored. It is called before the transaction.
func checkClaim(key string, life time.Duration) error {
	if life <= 0 {
		return fmt.Errorf("boltstore: the lifetime of a claim is %v, want more than 0", life)
	}
	return checkName("the key of a claim", key)
}

// Claim returns after the claim is on the disk.
func (c *claims) Claim(_ context.Context, key string, value []byte, life time.Duration) (held []byte, mine bool, err error) {
	if err := checkClaim(key, life); err != nil {
		return nil, false, err
	}
	at := valueKey(key)
	err = c.table.write(func(r *rows) error {
		there, ok := r.find(at)
		if ok {
			held, mine = bytes.Clone(there), false
			return nil
		}
		held, mine = nil, true
		return r.put(at, after(r.t.now, life), value)
	})
	if err != nil {
		return nil, false, err
	}
	return held, mine, nil
}

// Swap returns after the value is on the disk.
func (c *claims) Swap(_ context.Context, key string, old, value []byte, life time.Duration) (swapped bool, err error) {
	if err := checkClaim(key, life); err != nil {
		return false, err
	}
	at := valueKey(key)
	err = c.table.write(func(r *rows) error {
		there, ok := r.find(at)
		if swapped = ok && bytes.Equal(there, old); !swapped {
			return nil
		}
		return r.put(at, after(r.t.now, life), value)
	})
	return swapped && err == nil, err
}

// Get returns a copy.
func (c *claims) Get(_ context.Context, key string) (value []byte, err error) {
	err = c.table.file.view(func(t *txn) error {
		there, ok := c.table.in(t).find(valueKey(key))
		if !ok {
			return fmt.Errorf("boltstore: %w", claim.ErrNotFound)
		}
		value = bytes.Clone(there)
		return nil
	})
	return value, err
}

// Delete returns after the deletion is on the disk.
func (c *claims) Delete(_ context.Context, key string, old []byte) error {
	at := valueKey(key)
	return c.table.write(func(r *rows) error {
		if there, ok := r.find(at); ok && (old == nil || bytes.Equal(there, old)) {
			r.drop(at)
		}
		return nil
	})
}

// Add returns after the sum is on the disk. If the counter would overflow, it keeps its value and
// Add returns an error.
func (c *claims) Add(_ context.Context, key string, n int64, life time.Duration) (sum int64, err error) {
	if err := checkClaim(key, life); err != nil {
		return 0, err
	}
	at := counterKey(key)
	err = c.table.write(func(r *rows) error {
		end := after(r.t.now, life)
		sum = 0
		if there, ok := r.find(at); ok {
			sum = int64(binary.BigEndian.Uint64(there))
			end = endOf(r.rows.get(at))
		}
		if n > 0 && sum > math.MaxInt64-n || n < 0 && sum < math.MinInt64-n {
			return fmt.Errorf("boltstore: adding %d to a counter at %d overflows", n, sum)
		}
		sum += n
		return r.put(at, end, binary.BigEndian.AppendUint64(nil, uint64(sum)))
	})
	if err != nil {
		return 0, err
	}
	return sum, nil
}
