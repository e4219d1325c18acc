package storetest_test

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/framework/store/memory"
	"github.com/kagami-mcp/kagami/protocol/claim"
	"github.com/kagami-mcp/kagami/testkit/storetest"
)

func TestClaims(t *testing.T) {
	t.Parallel()
	storetest.Claims(t, func(testing.TB) claim.Store { return memory.New().Claims() }, nil)
}

// TestClaimsClock: a store whose time stands still passes, and not by waiting.
func TestClaimsClock(t *testing.T) {
	t.Parallel()
	var opened *stillStore
	open := func(testing.TB) claim.Store {
		opened = &stillStore{entries: map[string]stillEntry{}}
		return opened
	}
	advanced := time.Duration(0)
	storetest.Claims(t, open, storetest.Clock(func(d time.Duration) {
		opened.now += d
		advanced += d
	}))
	if advanced < time.Minute {
		t.Errorf("the clock was advanced by %v only", advanced)
	}
}

// stillStore is the simplest store.
type stillStore struct {
	now time.Duration

	mu      sync.Mutex // guards entries
	entries map[string]stillEntry
}

type stillEntry struct {
	value []byte
	sum   int64
	end   time.Duration
}

func (s *stillStore) get(key string) (stillEntry, bool) {
	e, ok := s.entries[key]
	return e, ok && s.now < e.end
}

var (
	errLife     = errors.New("no life")
	errOverflow = errors.New("overflow")
)

func (s *stillStore) Claim(_ context.Context, key string, value []byte, life time.Duration) ([]byte, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e, ok := s.get("v" + key); ok {
		return bytes.Clone(e.value), false, nil
	}
	if life <= 0 {
		return nil, false, errLife
	}
	s.entries["v"+key] = stillEntry{value: bytes.Clone(value), end: s.now + life}
	return nil, true, nil
}

func (s *stillStore) Swap(_ context.Context, key string, old, value []byte, life time.Duration) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e, ok := s.get("v" + key); !ok || !bytes.Equal(e.value, old) {
		return false, nil
	}
	if life <= 0 {
		return false, errLife
	}
	s.entries["v"+key] = stillEntry{value: bytes.Clone(value), end: s.now + life}
	return true, nil
}

func (s *stillStore) Get(_ context.Context, key string) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.get("v" + key)
	if !ok {
		return nil, claim.ErrNotFound
	}
	return bytes.Clone(e.value), nil
}

func (s *stillStore) Delete(_ context.Context, key string, old []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e, ok := s.get("v" + key); ok && (old == nil || bytes.Equal(e.value, old)) {
		delete(s.entries, "v"+key)
	}
	return nil
}

func (s *stillStore) Add(_ context.Context, key string, n int64, life time.Duration) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if life <= 0 {
		return 0, errLife
	}
	e, ok := s.get("c" + key)
	if !ok {
		e = stillEntry{end: s.now + life}
	}
	if n != 0 && (n > 0) != (e.sum+n > e.sum) {
		return 0, errOverflow
	}
	e.sum += n
	s.entries["c"+key] = e
	return e.sum, nil
}
