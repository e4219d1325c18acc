package client

import "sync"

// table is a map for concurrent use. The zero value is empty.
type table[V any] struct {
	mu sync.Mutex // guards by
	by map[string]V
}

func (t *table[V]) put(key string, v V) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.by == nil {
		t.by = map[string]V{}
	}
	t.by[key] = v
}

// find returns the value of key, or a zero value.
func (t *table[V]) find(key string) V {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.by[key]
}

func (t *table[V]) len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.by)
}

// remove removes and returns the value of key. If it was removed before, it returns a zero value.
func (t *table[V]) remove(key string) V {
	t.mu.Lock()
	defer t.mu.Unlock()
	v := t.by[key]
	delete(t.by, key)
	return v
}
