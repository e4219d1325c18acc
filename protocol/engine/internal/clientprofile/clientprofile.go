// Package clientprofile shares what clients say about themselves: most clients send the same in each
// handshake and in each request.
package clientprofile

import (
	"bytes"
	"encoding/json"
	"hash/maphash"
	"sync"
	"sync/atomic"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// Profile is the name and the capabilities that a client sent in the handshake. It is
// immutable, and shared by the sessions of clients that sent the same.
type Profile struct {
	Client       protocol.Implementation
	Capabilities protocol.ClientCapabilities
}

// Bounds of Profiles and Metas: the number of shared values, and the length of their text.
const (
	maxProfiles = 256
	maxProfile  = 4 << 10
)

// Profiles shares equal profiles among sessions, by the parameters of initialize.
type Profiles struct {
	mu    sync.Mutex // guards byRaw
	byRaw map[string]*Profile
}

// Of returns the profile of a client that sent p. raw is the text of p.
func (s *Profiles) Of(p *protocol.InitializeParams, raw []byte) *Profile {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.byRaw[string(raw)]; known != nil {
		return known
	}
	i := &Profile{p.Client, p.Capabilities}
	if len(raw) > maxProfile || lends(&i.Client, &i.Capabilities) {
		detach(i.Capabilities.Experimental)
		detach(i.Capabilities.Extensions)
		return i
	}
	if s.byRaw == nil || len(s.byRaw) >= maxProfiles {
		s.byRaw = make(map[string]*Profile) // full: start again, because frequent clients return
	}
	s.byRaw[string(raw)] = i
	return i
}

// lends reports whether the values contain slices or maps. Handlers get these and could change them,
// so they must not be shared with other sessions or requests.
func lends(client *protocol.Implementation, can *protocol.ClientCapabilities) bool {
	return client != nil && client.Icons != nil || can != nil && (can.Extensions != nil || can.Experimental != nil)
}

// Metas caches the decoded _meta of requests of 2026-07-28, because most clients send the same in all
// requests. A text is cached when it arrives for the second time, because a _meta with a trace or a
// token never repeats. It is safe for concurrent use, without a lock.
//
// A place belongs to no goroutine. If two store different texts at once, one of them is lost, and is
// decoded again. last and known of a place may belong to different texts for the same reason.
type Metas struct {
	seed  maphash.Seed
	last  [maxProfiles]atomic.Uint64             // hashes of the texts decoded last, by hash
	known [maxProfiles]atomic.Pointer[knownMeta] // by the hash of the text
}

// NewMetas returns an empty cache.
func NewMetas() *Metas { return &Metas{seed: maphash.MakeSeed()} }

// knownMeta is a _meta and its text. It is immutable.
type knownMeta struct {
	dialect *dialect.Dialect
	text    []byte
	meta    *protocol.RequestMeta
}

// Decode decodes a _meta. Callers must not modify the result, which may be shared.
func (m *Metas) Decode(d *dialect.Dialect, o jsontext.Object) (*protocol.RequestMeta, *protocol.Fault) {
	text := o.Raw()
	if len(text) > maxProfile {
		return d.DecodeMetaObject(o)
	}
	hash := maphash.Bytes(m.seed, text)
	place := &m.known[hash%maxProfiles]
	if known := place.Load(); known != nil && known.dialect == d && bytes.Equal(known.text, text) {
		return known.meta, nil
	}
	meta, fault := d.DecodeMetaObject(o)
	again := m.last[hash%maxProfiles].Swap(hash) == hash
	if again && fault == nil && !lends(meta.Client, meta.Capabilities) {
		place.Store(&knownMeta{dialect: d, text: bytes.Clone(text), meta: meta})
	}
	return meta, fault
}

// detach replaces the values by copies. They refer to the frame, which may be much larger, and a session keeps
// its profile.
func detach(values map[string]json.RawMessage) {
	for name, value := range values {
		values[name] = bytes.Clone(value)
	}
}
