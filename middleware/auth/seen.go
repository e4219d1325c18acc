package auth

import (
	"sync"
	"time"
)

// mostSeen bounds the proofs of one window: some 1,500 a second.
const mostSeen = 100_000

// seen remembers what was there within a window of time, in two halves that take turns:
// forgetting is dropping one. Safe for concurrent use.
type seen struct {
	window time.Duration

	mu       sync.Mutex // guards all below
	began    time.Time  // the younger half
	now, old map[digest]struct{}
}

func newSeen(window time.Duration) *seen { return &seen{window: window} }

// add says whether d is new, and whether there was room for it. What is full forgets
// nothing: a proof must not become fresh because there are many.
func (s *seen) add(d digest, at time.Time) (fresh, room bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if age := at.Sub(s.began); age >= s.window {
		s.old = s.now
		if age >= 2*s.window {
			s.old = nil
		}
		s.now, s.began = make(map[digest]struct{}), at
	}
	_, young := s.now[d]
	_, aged := s.old[d]
	switch {
	case young || aged:
		return false, true
	case len(s.now) >= mostSeen:
		return false, false
	}
	s.now[d] = struct{}{}
	return true, true
}
