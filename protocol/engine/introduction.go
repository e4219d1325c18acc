package engine

import (
	"sync"

	"github.com/kagami-mcp/kagami/protocol"
)

// introduction is what a client said about itself in the handshake. Immutable, and shared by the
// sessions of clients that said the same.
type introduction struct {
	client       protocol.Implementation
	capabilities protocol.ClientCapabilities
}

// Bounds of introductions: how many are shared, and up to which length of the parameters of
// initialize.
const (
	maxIntroduced   = 256
	maxIntroduction = 4 << 10
)

// introductions shares equal introductions among sessions, by the parameters of initialize.
type introductions struct {
	mu    sync.Mutex // guards byRaw
	byRaw map[string]*introduction
}

// of returns the introduction of a client that sent p, whose text is raw.
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
		s.byRaw = make(map[string]*introduction) // full: start over, since frequent clients come again
	}
	s.byRaw[string(raw)] = i
	return i
}

// lends reports whether the introduction has slices or maps, which handlers get and could change:
// then it must not be shared with other sessions.
func (i *introduction) lends() bool {
	return i.client.Icons != nil || i.capabilities.Extensions != nil || i.capabilities.Experimental != nil
}
