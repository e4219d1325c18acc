package proof

import (
	"sync"
	"time"
)

// mostSeen is the maximum number of proofs in one window: some 7,500 a second, about 40 MB in both
// halves.
const mostSeen = 500_000

// window is how long a proof can be used.
const window = maxAge + maxAhead

// seen records digests within a window of time. It has two halves that take turns: when the window
// ends, add drops the older half. mu guards both, so a seen is safe for concurrent use.
type seen struct {
	mu       sync.Mutex            // guards all below
	began    time.Time             // start of the younger half
	now, old map[[16]byte]struct{} // halves of digests; a collision would only refuse the client that constructed it
}

// add records d, and reports whether it is new and whether there was space for it. If there is no
// space, nothing is forgotten, because a used proof must not become new.
func (s *seen) add(d [32]byte, at time.Time) (fresh, room bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if age := at.Sub(s.began); age >= window {
		s.old = s.now
		if age >= 2*window {
			s.old = nil
		}
		s.now, s.began = make(map[[16]byte]struct{}), at
	}
	id := [16]byte(d[:16])
	_, young := s.now[id]
	_, aged := s.old[id]
	switch {
	case young || aged:
		return false, true
	case len(s.now) >= mostSeen:
		return false, false
	}
	s.now[id] = struct{}{}
	return true, true
}
