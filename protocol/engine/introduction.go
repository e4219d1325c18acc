package engine

import (
	"sync"

	"github.com/kagami-mcp/kagami/protocol"
)

// introduction is what a client said of itself at the handshake. Immutable, and the same
// for all sessions whose client said the same.
type introduction struct {
	client       protocol.Implementation
	capabilities protocol.ClientCapabilities
}

// Bounds of introductions: how many are shared at most, and how long the parameters of
// initialize may be that are.
const (
	maxIntroduced   = 256
	maxIntroduction = 4 << 10
)

// introductions shares equal introductions among sessions, by the parameters of initialize.
type introductions struct {
	mu    sync.Mutex // guards byRaw
	byRaw map[string]*introduction
}

// of is the introduction of a client that sent p as raw.
func (s *introductions) of(p *protocol.InitializeParams, raw []byte) *introduction {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.byRaw[string(raw)]; known != nil {
		return known
	}
	i := &introduction{p.Client, p.Capabilities}
	if len(raw) > maxIntroduction || i.lends() {
		return i
	}
	if s.byRaw == nil || len(s.byRaw) >= maxIntroduced {
		s.byRaw = make(map[string]*introduction) // begin anew: clients that come again are shared again
	}
	s.byRaw[string(raw)] = i
	return i
}

// lends says whether handlers get slices or maps of the introduction, which they could
// change: then it must not be shared with other sessions.
func (i *introduction) lends() bool {
	return i.client.Icons != nil || i.capabilities.Extensions != nil || i.capabilities.Experimental != nil
}
