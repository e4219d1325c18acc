package memory

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/kagami-mcp/kagami/protocol/session"
)

// sessionCost is the bookkeeping for a session that counts toward SessionBytes. It is about the
// memory that the allocator uses.
const sessionCost = 320

// sessions is the session.Store. It reads the time while mu is held, so that operations see times
// in the order they run. Stored data are replaced and never changed in place. Therefore
// they can be copied after mu is released.
type sessions struct {
	bounds Bounds

	mu sync.Mutex // guards all below
	ttlTable[string, *sessionEntry]
}

// sessionEntry is a session in the table. It expires by the monotonic clock.
type sessionEntry struct {
	expiring
	record session.Record // Data is replaced, never changed in place
}

func (h *sessionEntry) before(other *sessionEntry) bool { return h.end.Before(other.end) }

func (h *sessionEntry) name() string { return h.record.ID }

func (h *sessionEntry) cost() int {
	return sessionCost + len(h.record.ID) + len(h.record.Principal) + len(h.record.Data)
}

// until converts a time of the wall clock to the monotonic clock. Zero, which means never, stays
// zero.
func until(expires, now time.Time) time.Time {
	if expires.IsZero() {
		return expires
	}
	return now.Add(expires.Sub(now.Round(0)))
}

// Create copies the record.
func (s *sessions) Create(_ context.Context, r session.Record) error {
	r.ID, r.Principal, r.Data = strings.Clone(r.ID), strings.Clone(r.Principal), bytes.Clone(r.Data)
	r.Version, r.Expires = 1, r.Expires.Round(0)
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	if _, ok := s.find(r.ID, now); ok {
		return fmt.Errorf("memory: %w", session.ErrExists)
	}
	h := &sessionEntry{record: r, expiring: expiring{end: until(r.Expires, now)}}
	if err := s.sessionRoom(1, h.cost(), now); err != nil {
		return err
	}
	s.insert(h)
	return nil
}

// Get returns a copy.
func (s *sessions) Get(_ context.Context, id string) (session.Record, error) {
	s.mu.Lock()
	h, ok := s.find(id, s.now())
	if !ok {
		s.mu.Unlock()
		return session.Record{}, fmt.Errorf("memory: %w", session.ErrNotFound)
	}
	r := h.record
	s.mu.Unlock()
	r.Data = bytes.Clone(r.Data)
	return r, nil
}

// Update copies the data.
func (s *sessions) Update(_ context.Context, r session.Record) error {
	data := bytes.Clone(r.Data)
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	h, ok := s.find(r.ID, now)
	if !ok {
		return fmt.Errorf("memory: %w", session.ErrNotFound)
	}
	if stored := h.record.Version; r.Version != stored {
		return fmt.Errorf("memory: %w: version %d, %d is stored", session.ErrConflict, r.Version, stored)
	}
	more := len(data) - len(h.record.Data)
	if err := s.sessionRoom(0, more, now); err != nil {
		return err
	}
	s.bytes += more
	h.record.Data = data
	h.record.Version++
	s.expire(h, r.Expires, now)
	return nil
}

// Touch needs no space, so it never returns ErrFull.
func (s *sessions) Touch(_ context.Context, id string, expires time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	h, ok := s.find(id, now)
	if !ok {
		return fmt.Errorf("memory: %w", session.ErrNotFound)
	}
	s.expire(h, expires, now)
	return nil
}

// Delete frees the space at once.
func (s *sessions) Delete(_ context.Context, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h, ok := s.find(id, s.now()); ok {
		s.forget(h)
	}
	return nil
}

// expire sets the end of a session. The caller holds s.mu.
func (s *sessions) expire(h *sessionEntry, expires, now time.Time) {
	h.record.Expires = expires.Round(0)
	s.expiry.set(h, until(expires.Round(0), now))
}

// sessionRoom makes space as makeSpace does, or returns ErrFull. The caller holds s.mu.
func (s *sessions) sessionRoom(records, bytes int, now time.Time) error {
	if !s.makeSpace(records, bytes, s.bounds.SessionRecords, s.bounds.SessionBytes, now) {
		return fmt.Errorf("%w (%w): %d sessions in %d bytes are held, %d bytes more are needed", ErrFull, session.ErrFull, len(s.held), s.bytes, bytes)
	}
	return nil
}
