package oauth

import (
	"net/http"
	"net/url"
	"sync"
)

// nonces are the last that each origin has sent for DPoP proofs (RFC 9449 §8, §9).
type nonces struct {
	mu sync.Mutex // guards by
	by map[string]string
}

func originOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

func (n *nonces) of(address string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.by[originOf(address)]
}

// learn keeps the nonce of an answer, and reports whether it is a new one.
func (n *nonces) learn(address string, h http.Header) bool {
	nonce := h.Get("DPoP-Nonce")
	if nonce == "" || len(nonce) > 1024 {
		return false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.by == nil {
		n.by = map[string]string{}
	}
	origin := originOf(address)
	fresh := n.by[origin] != nonce
	if _, known := n.by[origin]; known || len(n.by) < 16 {
		n.by[origin] = nonce
	}
	return fresh
}
