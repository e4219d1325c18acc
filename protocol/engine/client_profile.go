package engine

import (
	"bytes"
	"hash/maphash"
	"sync"
	"sync/atomic"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// clientProfile is what a client said about itself in the handshake. Immutable, and shared by the
// sessions of clients that said the same.
type clientProfile struct {
	client       protocol.Implementation
	capabilities protocol.ClientCapabilities
}

// Bounds of introductions and metas: how many are shared, and up to which length of their text.
const (
	maxIntroduced   = 256
	maxIntroduction = 4 << 10
)

// clientProfiles shares equal clientProfiles among sessions, by the parameters of initialize.
type clientProfiles struct {
	mu    sync.Mutex // guards byRaw
	byRaw map[string]*clientProfile
}

// of returns the introduction of a client that sent p, whose text is raw.
func (s *clientProfiles) of(p *protocol.InitializeParams, raw []byte) *clientProfile {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.byRaw[string(raw)]; known != nil {
		return known
	}
	i := &clientProfile{p.Client, p.Capabilities}
	if len(raw) > maxIntroduction || lends(&i.client, &i.capabilities) {
		return i
	}
	if s.byRaw == nil || len(s.byRaw) >= maxIntroduced {
		s.byRaw = make(map[string]*clientProfile) // full: start over, since frequent clients come again
	}
	s.byRaw[string(raw)] = i
	return i
}

// lends reports whether there are slices or maps, which handlers get and could change: then they
// must not be shared with other sessions or requests.
func lends(client *protocol.Implementation, can *protocol.ClientCapabilities) bool {
	return client != nil && client.Icons != nil || can != nil && (can.Extensions != nil || can.Experimental != nil)
}

// metas remembers what clients say of themselves in the _meta of each request of 2026-07-28: most
// say the same in all of theirs. A text is remembered when it comes for the second time, since
// those with a trace or a token never do. Safe for concurrent use, and without a lock.
type metas struct {
	seed  maphash.Seed
	last  [maxIntroduced]atomic.Uint64             // the hash of the text that was decoded last, by itself
	known [maxIntroduced]atomic.Pointer[knownMeta] // by the hash of the text
}

// knownMeta is a _meta and its text. Immutable.
type knownMeta struct {
	dialect *dialect.Dialect
	text    []byte
	meta    *protocol.RequestMeta
}

// decode returns what the dialect reads in a _meta: read-only, since it may be shared.
func (m *metas) decode(d *dialect.Dialect, o jsontext.Object) (*protocol.RequestMeta, *protocol.Fault) {
	text := o.Raw()
	if len(text) > maxIntroduction {
		return d.DecodeMetaObject(o)
	}
	hash := maphash.Bytes(m.seed, text)
	place := &m.known[hash%maxIntroduced]
	if known := place.Load(); known != nil && known.dialect == d && bytes.Equal(known.text, text) {
		return known.meta, nil
	}
	meta, fault := d.DecodeMetaObject(o)
	again := m.last[hash%maxIntroduced].Swap(hash) == hash
	if again && fault == nil && !lends(meta.Client, meta.Capabilities) {
		place.Store(&knownMeta{dialect: d, text: bytes.Clone(text), meta: meta})
	}
	return meta, fault
}
