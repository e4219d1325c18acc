package memory

import "time"

// heldCost is the bookkeeping of a claim as ClaimBytes counts it, about what the
// allocator takes: its record, its map entry, its place in the heap, and what key
// and value are rounded up by.
const heldCost = 192

// claimKey keeps counters and values apart.
type claimKey struct {
	name    string
	counter bool
}

// held is a value or a counter until its end.
type held struct {
	key   claimKey
	value []byte // never changed
	sum   int64
	end   time.Time
	place int // in ends
}

func (h *held) alive(now time.Time) bool { return now.Before(h.end) }

func (h *held) cost() int { return heldCost + len(h.key.name) + len(h.value) }

// ends is a heap (container/heap): the one that expires first is at 0.
type ends []*held

// Len is for container/heap.
func (e ends) Len() int { return len(e) }

// Less is for container/heap.
func (e ends) Less(i, j int) bool { return e[i].end.Before(e[j].end) }

// Swap is for container/heap.
func (e ends) Swap(i, j int) {
	e[i], e[j] = e[j], e[i]
	e[i].place, e[j].place = i, j
}

// Push is for container/heap.
func (e *ends) Push(x any) {
	h := x.(*held)
	h.place = len(*e)
	*e = append(*e, h)
}

// Pop is for container/heap.
func (e *ends) Pop() any {
	last := len(*e) - 1
	h := (*e)[last]
	(*e)[last] = nil // for the garbage collector
	*e = (*e)[:last]
	return h
}
