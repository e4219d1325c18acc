package oauth

import (
	"net/http"
	"sync"
	"time"
)

// nonces holds the last nonce of each origin for DPoP proofs (RFC 9449 §8, §9), and the clock for
// the dates of proofs. learn and learnClock change them; mu guards both.
type nonces struct {
	mu    sync.Mutex // guards the fields below
	by    map[string]string
	ahead time.Duration // difference between the servers' clock and ours
}

// now returns the time for a proof.
func (n *nonces) now() time.Time {
	n.mu.Lock()
	defer n.mu.Unlock()
	return time.Now().Add(n.ahead)
}

// learnClock sets the clock from the header of an answer that refuses a proof. It reports whether
// the clock differs by clockSlack or more.
func (n *nonces) learnClock(h http.Header) bool {
	theirs, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		return false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	ahead := time.Until(theirs)
	if (ahead - n.ahead).Abs() < clockSlack {
		return false
	}
	n.ahead = ahead
	return true
}

// clockSlack is the difference between their clock and ours that servers accept at least.
const clockSlack = 3 * time.Second

func (n *nonces) of(address string) string {
	origin, _ := originAndPath(address)
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.by[origin]
}

// learn keeps the nonce of an answer.
func (n *nonces) learn(address string, h http.Header) {
	nonce := h.Get("DPoP-Nonce")
	if nonce == "" || len(nonce) > 1024 {
		return
	}
	origin, _ := originAndPath(address)
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.by == nil {
		n.by = map[string]string{}
	}
	if _, known := n.by[origin]; known || len(n.by) < 16 {
		n.by[origin] = nonce
	}
}
