package memory

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
	mortal
	key   claimKey
	value []byte // never changed
	sum   int64
}

func (h *held) before(other *held) bool { return h.end.Before(other.end) }

func (h *held) name() claimKey { return h.key }

func (h *held) cost() int { return heldCost + len(h.key.name) + len(h.value) }
