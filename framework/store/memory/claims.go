package memory

import (
	"bytes"
	"container/heap"
	"context"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/kagami-mcp/kagami/protocol/claim"
)

// sweep is how many expired claims an operation drops at most if it needs no room:
// more than it can add, so that they become fewer, and few, so that nobody waits
// for all that expired in a quiet hour.
const sweep = 8

// claims is the claim.Store. The time is read under the mutex, so that no operation
// comes after another with an earlier time. Values are replaced, never changed:
// they are copied outside of it.
type claims struct {
	bounds bounds

	mu    sync.Mutex // guards all below
	held  map[claimKey]*held
	ends  ends
	bytes int // of everything, bookkeeping included
}

// Claim copies the value, and what it returns.
func (c *claims) Claim(_ context.Context, key string, value []byte, life time.Duration) ([]byte, bool, error) {
	if err := checkLife(life); err != nil {
		return nil, false, err
	}
	there, mine, err := c.claim(claimKey{name: key}, bytes.Clone(value), life)
	return bytes.Clone(there), mine, err
}

func (c *claims) claim(key claimKey, value []byte, life time.Duration) ([]byte, bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	if h := c.find(key, now); h != nil {
		return h.value, false, nil
	}
	_, err := c.insert(key, value, now, life)
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
	h := c.find(claimKey{name: key}, now)
	if h == nil || !bytes.Equal(h.value, old) {
		return false, nil
	}
	more := len(value) - len(h.value)
	if err := c.makeRoom(0, more, now); err != nil {
		return false, err
	}
	c.bytes += more
	h.value, h.end = value, now.Add(life)
	heap.Fix(&c.ends, h.place)
	return true, nil
}

// Get returns a copy.
func (c *claims) Get(_ context.Context, key string) ([]byte, error) {
	c.mu.Lock()
	h := c.find(claimKey{name: key}, c.now())
	if h == nil {
		c.mu.Unlock()
		return nil, claim.ErrNotFound
	}
	value := h.value
	c.mu.Unlock()
	return bytes.Clone(value), nil
}

// Delete makes room at once.
func (c *claims) Delete(_ context.Context, key string, old []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := c.find(claimKey{name: key}, c.now())
	if h != nil && (old == nil || bytes.Equal(h.value, old)) {
		c.forget(h)
	}
	return nil
}

// Add counts a counter as a claim.
func (c *claims) Add(_ context.Context, key string, n int64, life time.Duration) (int64, error) {
	if err := checkLife(life); err != nil {
		return 0, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	k, now := claimKey{name: key, counter: true}, c.now()
	h := c.find(k, now)
	if h == nil {
		var err error
		if h, err = c.insert(k, nil, now, life); err != nil {
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
		return fmt.Errorf("memory: the life of a claim is %v, it must be more than 0", life)
	}
	return nil
}

// now is the time, by which a few of those that have expired are gone.
func (c *claims) now() time.Time {
	now := time.Now()
	for range sweep {
		if !c.dropExpired(now) {
			break
		}
	}
	return now
}

// dropExpired forgets the one that expired first, if any has.
func (c *claims) dropExpired(now time.Time) bool {
	if len(c.ends) == 0 || c.ends[0].alive(now) {
		return false
	}
	c.forget(c.ends[0])
	return true
}

// find gives nil for an expired one, of which there may be some left.
func (c *claims) find(key claimKey, now time.Time) *held {
	h := c.held[key]
	if h == nil || h.alive(now) {
		return h
	}
	c.forget(h)
	return nil
}

// insert keeps the value as it is, but not the key, which may be part of something
// larger.
func (c *claims) insert(key claimKey, value []byte, now time.Time, life time.Duration) (*held, error) {
	h := &held{key: key, value: value, end: now.Add(life)}
	if err := c.makeRoom(1, h.cost(), now); err != nil {
		return nil, err
	}
	h.key.name = strings.Clone(key.name)
	if c.held == nil {
		c.held = make(map[claimKey]*held)
	}
	c.held[h.key] = h
	heap.Push(&c.ends, h)
	c.bytes += h.cost()
	return h, nil
}

// makeRoom drops the expired until so much more fits.
func (c *claims) makeRoom(entries, bytes int, now time.Time) error {
	for len(c.held)+entries > c.bounds.claimEntries || c.bytes+bytes > c.bounds.claimBytes {
		if !c.dropExpired(now) {
			return fmt.Errorf("%w (%w): %d claims in %d bytes are held, %d bytes more are needed", ErrFull, claim.ErrFull, len(c.held), c.bytes, bytes)
		}
	}
	return nil
}

func (c *claims) forget(h *held) {
	heap.Remove(&c.ends, h.place)
	delete(c.held, h.key)
	c.bytes -= h.cost()
}
