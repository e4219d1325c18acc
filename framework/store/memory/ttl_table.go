package memory

import "time"

// sweep is the maximum number of expired items that an operation drops if it needs no space. It is
// larger than the number that an operation can add, so that expired items become fewer. It is
// small, so that no operation has to drop everything that expired in a quiet hour.
const sweep = 8

// sweptNow returns the current time. It also calls dropExpired up to sweep times, until dropExpired
// returns false because no item has expired.
func sweptNow(dropExpired func(now time.Time) bool) time.Time {
	now := time.Now()
	for range sweep {
		if !dropExpired(now) {
			break
		}
	}
	return now
}

// ttlItem is an item of a ttlTable.
type ttlItem[K comparable, T any] interface {
	expiringItem[T]
	name() K
	cost() int
}

// ttlTable is a table of items with a lifetime and a bounded size. An item is not evicted before its
// time. The owner's mutex guards the table. The caller passes a time that never decreases.
type ttlTable[K comparable, T ttlItem[K, T]] struct {
	held   map[K]T
	expiry expiryHeap[T]
	bytes  int // total size, bookkeeping included
}

// now returns the current time, and removes up to sweep expired items.
func (s *ttlTable[K, T]) now() time.Time { return sweptNow(s.dropExpired) }

// dropExpired removes the item that expired first. If no item has expired, it returns false.
func (s *ttlTable[K, T]) dropExpired(now time.Time) bool {
	item, ok := s.expiry.expired(now)
	if ok {
		s.forget(item)
	}
	return ok
}

// find returns the item for key. Expired items may still be in the table; find removes them and
// does not return them.
func (s *ttlTable[K, T]) find(key K, now time.Time) (T, bool) {
	item, ok := s.held[key]
	if !ok || item.life().alive(now) {
		return item, ok
	}
	s.forget(item)
	var none T
	return none, false
}

// makeSpace drops expired items until the new ones fit. If they do not fit even then, it returns
// false.
func (s *ttlTable[K, T]) makeSpace(items, bytes, mostItems, mostBytes int, now time.Time) bool {
	for len(s.held)+items > mostItems || s.bytes+bytes > mostBytes {
		if !s.dropExpired(now) {
			return false
		}
	}
	return true
}

// insert adds a new item. The caller has checked that it fits.
func (s *ttlTable[K, T]) insert(item T) {
	if s.held == nil {
		s.held = make(map[K]T)
	}
	s.held[item.name()] = item
	s.bytes += item.cost()
	s.expiry.set(item, item.life().end)
}

func (s *ttlTable[K, T]) forget(item T) {
	s.expiry.remove(item)
	delete(s.held, item.name())
	s.bytes -= item.cost()
}
