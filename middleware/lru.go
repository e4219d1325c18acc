package middleware

import "container/list"

// lru is a map that drops the least recently used entry when it is full. Not safe for
// concurrent use.
type lru[K comparable, V any] struct {
	most  int
	byKey map[K]*list.Element
	order list.List // of *pair[K, V], most recently used in front
}

type pair[K comparable, V any] struct {
	key   K
	value V
}

func newLRU[K comparable, V any](most int) *lru[K, V] {
	return &lru[K, V]{most: most, byKey: make(map[K]*list.Element)}
}

// get returns the value of key and marks it as used. It compares the front entry first, which needs
// no hash: a key that is used often is mostly at the front.
func (l *lru[K, V]) get(key K) (value V, ok bool) {
	if first := l.order.Front(); first != nil {
		if p := first.Value.(*pair[K, V]); p.key == key {
			return p.value, true
		}
	}
	e, ok := l.byKey[key]
	if !ok {
		return value, false
	}
	l.order.MoveToFront(e)
	return e.Value.(*pair[K, V]).value, true
}

func (l *lru[K, V]) put(key K, value V) {
	if e, ok := l.byKey[key]; ok {
		e.Value.(*pair[K, V]).value = value
		l.order.MoveToFront(e)
		return
	}
	if l.order.Len() >= l.most {
		last, _ := l.order.Remove(l.order.Back()).(*pair[K, V])
		delete(l.byKey, last.key)
	}
	l.byKey[key] = l.order.PushFront(&pair[K, V]{key, value})
}

func (l *lru[K, V]) drop(key K) {
	if e, ok := l.byKey[key]; ok {
		l.order.Remove(e)
		delete(l.byKey, key)
	}
}
