package authserver

import "sync"

// recent keeps values by their names in this process, so that not every request has to find them out.
// When it is full, it forgets all of them, which costs only time. get and change access all; mu guards
// it.
type recent[V any] struct {
	mu  sync.Mutex // guards all
	all map[string]V
}

// get returns the value with the name, or the zero value.
func (r *recent[V]) get(name string) V {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.all[name]
}

// change replaces a value by the result of fn, and returns it. most is the maximum number of values.
func (r *recent[V]) change(name string, most int, fn func(old V) V) V {
	r.mu.Lock()
	defer r.mu.Unlock()
	old, known := r.all[name]
	if r.all == nil || !known && len(r.all) >= most {
		r.all = map[string]V{}
	}
	r.all[name] = fn(old)
	return r.all[name]
}
