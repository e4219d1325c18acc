package memory

import "time"

// sweep is how many that have expired an operation drops at most if it needs no room:
// more than it can add, so that they become fewer, and few, so that nobody waits
// for all that expired in a quiet hour.
const sweep = 8

// shelved is what a shelf holds.
type shelved[K comparable, T any] interface {
	ending[T]
	name() K
	cost() int
}

// shelf holds things until their end, as many as it has room for. Nothing goes before
// its time. It is used under its owner's mutex, with a time that never goes back.
type shelf[K comparable, T shelved[K, T]] struct {
	held  map[K]T
	ends  ends[T]
	bytes int // of everything, bookkeeping included
}

// now is the time, by which a few of those that have expired are gone.
func (s *shelf[K, T]) now() time.Time {
	now := time.Now()
	for range sweep {
		if !s.dropExpired(now) {
			break
		}
	}
	return now
}

// dropExpired forgets the one that expired first, if any has.
func (s *shelf[K, T]) dropExpired(now time.Time) bool {
	item, ok := s.ends.expired(now)
	if ok {
		s.forget(item)
	}
	return ok
}

// find gives no expired one, of which there may be some left.
func (s *shelf[K, T]) find(key K, now time.Time) (T, bool) {
	item, ok := s.held[key]
	if !ok || item.life().alive(now) {
		return item, ok
	}
	s.forget(item)
	var none T
	return none, false
}

// makeRoom drops the expired until so much more fits, if that helps.
func (s *shelf[K, T]) makeRoom(items, bytes, mostItems, mostBytes int, now time.Time) bool {
	for len(s.held)+items > mostItems || s.bytes+bytes > mostBytes {
		if !s.dropExpired(now) {
			return false
		}
	}
	return true
}

// insert keeps what is new, and for which there is room.
func (s *shelf[K, T]) insert(item T) {
	if s.held == nil {
		s.held = make(map[K]T)
	}
	s.held[item.name()] = item
	s.bytes += item.cost()
	s.ends.set(item, item.life().end)
}

func (s *shelf[K, T]) forget(item T) {
	s.ends.remove(item)
	delete(s.held, item.name())
	s.bytes -= item.cost()
}
