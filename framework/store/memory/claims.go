package memory

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/kagami-mcp/kagami/protocol/claim"
)

// claims is the claim.Store. It reads the time while mu is held, so that operations see times in
// the order they run. A stored value is replaced and never changed in place. Therefore it can be
// copied after mu is released.
type claims struct {
	bounds Bounds

	mu sync.Mutex // guards all below
	ttlTable[claimKey, *claimEntry]
}

// Claim copies the value before it stores it, and returns a copy.
func (c *claims) Claim(_ context.Context, key string, value []byte, life time.Duration) ([]byte, bool, error) {
	if err := checkLife(life); err != nil {
		return nil, false, err
	}
	there, mine, err := c.claim(claimKey{name: key}, bytes.Clone(value), life)
	return bytes.Clone(there), mine, err
}

// claim stores value if there is no claim, and takes it over. Otherwise it returns the stored value,
// which the caller must copy.
func (c *claims) claim(key claimKey, value []byte, life time.Duration) ([]byte, bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	if h, ok := c.find(key, now); ok {
		return h.value, false, nil
	}
	_, err := c.keep(key, value, now, life)
	return nil, err == nil, err
}

// Swap copies the value.
func (c *claims) Swap(_ context.Context, key string, old, value []byte, life time.Duration) (bool, error) {
	if err := checkLife(life); err != nil {
		return false, err
	}
	value = bytes.Clone(value)
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	h, ok := c.find(claimKey{name: key}, now)
	if !ok || !bytes.Equal(h.value, old) {
		return false, nil
	}
	more := len(value) - len(h.value)
	if err := c.makeSpaceFor(0, more, len(value), now); err != nil {
		return false, err
	}
	c.bytes += more
	h.value = value
	c.expiry.set(h, now.Add(life))
	return true, nil
}

// Get returns a copy.
func (c *claims) Get(_ context.Context, key string) ([]byte, error) {
	c.mu.Lock()
	h, ok := c.find(claimKey{name: key}, c.now())
	if !ok {
		c.mu.Unlock()
		return nil, claim.ErrNotFound
	}
	value := h.value
	c.mu.Unlock()
	return bytes.Clone(value), nil
}

// Delete frees the space at once.
func (c *claims) Delete(_ context.Context, key string, old []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	h, ok := c.find(claimKey{name: key}, c.now())
	if ok && (old == nil || bytes.Equal(h.value, old)) {
		c.forget(h)
	}
	return nil
}

// Add stores a counter, which takes space as a claim does.
func (c *claims) Add(_ context.Context, key string, n int64, life time.Duration) (int64, error) {
	if err := checkLife(life); err != nil {
		return 0, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	k, now := claimKey{name: key, counter: true}, c.now()
	h, ok := c.find(k, now)
	if !ok {
		var err error
		if h, err = c.keep(k, nil, now, life); err != nil {
			return 0, err
		}
	}
	if n > 0 && h.sum > math.MaxInt64-n || n < 0 && h.sum < math.MinInt64-n {
		return 0, fmt.Errorf("memory: adding %d to a counter at %d overflows", n, h.sum)
	}
	h.sum += n
	return h.sum, nil
}

func checkLife(life time.Duration) error {
	if life <= 0 {
		return fmt.Errorf("memory: the lifetime of a claim is %v, want more than 0", life)
	}
	return nil
}

// keep stores value without a copy, but copies the key, which may be a substring of a larger
// string. The caller holds c.mu.
func (c *claims) keep(key claimKey, value []byte, now time.Time, life time.Duration) (*claimEntry, error) {
	h := &claimEntry{key: key, value: value, expiring: expiring{end: now.Add(life)}}
	if err := c.makeSpaceFor(1, h.cost(), len(value), now); err != nil {
		return nil, err
	}
	h.key.name = strings.Clone(key.name)
	c.insert(h)
	return h, nil
}

// smallValue is the maximum length of a value that may use all of the space. Longer values leave a
// quarter free. Values that are kept for convenience, such as results, must not displace the marks
// that prevent an action from happening twice.
const smallValue = 1 << 10

// makeSpaceFor makes space as makeSpace does, or returns ErrFull. The caller holds c.mu.
func (c *claims) makeSpaceFor(entries, bytes, value int, now time.Time) error {
	most := c.bounds.ClaimBytes
	if value > smallValue && bytes > 0 {
		most -= most / 4
	}
	if !c.makeSpace(entries, bytes, c.bounds.ClaimEntries, most, now) {
		return fmt.Errorf("%w (%w): %d claims in %d bytes are held, %d bytes more are needed", ErrFull, claim.ErrFull, len(c.held), c.bytes, bytes)
	}
	return nil
}
