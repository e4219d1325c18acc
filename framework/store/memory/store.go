package memory

import "github.com/kagami-mcp/kagami/protocol/eventlog"

// Store keeps what a server must remember. A program that replaces one port
// embeds it and overrides one method. Safe for concurrent use; made by New.
type Store struct {
	events events
}

// Option bounds a Store. Sealed.
type Option func(*bounds)

// bounds of the events.
type bounds struct {
	streamBytes  int // of the frames of one stream
	streamEvents int // of one stream
	totalBytes   int // of everything
}

// StreamBytes bounds the frames of one stream together; default 8 MiB. The newest
// event is kept even if it alone is larger, so that a large answer can be fetched.
// n below 1 is 1.
func StreamBytes(n int) Option { return func(b *bounds) { b.streamBytes = max(n, 1) } }

// StreamEvents bounds the number of events of one stream; default 16,384. n below
// 1 is 1.
func StreamEvents(n int) Option { return func(b *bounds) { b.streamEvents = max(n, 1) } }

// TotalBytes bounds all streams together, their names and the bookkeeping
// included; default 256 MiB. Of an event that does not fit into it at all, only
// the number is kept. n below 1 is 1.
func TotalBytes(n int) Option { return func(b *bounds) { b.totalBytes = max(n, 1) } }

// New is empty and bounded.
func New(opts ...Option) *Store {
	s := &Store{events: events{bounds: bounds{streamBytes: 8 << 20, streamEvents: 16384, totalBytes: 256 << 20}}}
	for _, o := range opts {
		if o != nil {
			o(&s.events.bounds)
		}
	}
	return s
}

// Events port. Of one stream the oldest events go first. Of all streams the one
// that was longest without a new event loses all of its own first; its number
// is remembered, so that it goes on counting where it was, until an eighth of
// TotalBytes is full of such numbers.
func (s *Store) Events() eventlog.Store { return &s.events }
