package redisstore

import (
	"context"
	"time"
)

// Sealing of one value, in one place.
type Box struct{ box box }

func NewBox(keys ...[]byte) (Box, error) {
	b, err := newBox(keys)
	return Box{b}, err
}

func (b Box) Seal(value []byte, kind string, names ...string) []byte {
	return b.box.seal(value, binding(kind, names...))
}

func (b Box) Same(value []byte, kind string, names ...string) [][]byte {
	return b.box.same(value, binding(kind, names...))
}

func (b Box) Open(kept, kind string, names ...string) ([]byte, error) {
	return b.box.open(kept, binding(kind, names...))
}

func Stamp(t time.Time) string { return stamp(t) }

func ParseStamp(s string) (time.Time, error) { return parseStamp(s) }

func (s *Store) LineKey() string                 { return s.lineKey() }
func (s *Store) RecordKey(id string) string      { return s.recordKey(id) }
func (s *Store) OwnerKey(owner string) string    { return s.ownerKey(owner) }
func (s *Store) LiveKey(owner string) string     { return s.liveKey(owner) }
func (s *Store) StreamKeys(name string) []string { return s.streamKeys(name) }

// Reap forgets consumers that have not been heard of for so long.
func (s *Store) Reap(ctx context.Context, d time.Duration) error {
	return s.tasks.run(ctx, queueReap, s.lineKey(), d.Milliseconds()).Err()
}
