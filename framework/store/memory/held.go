package memory

// heldCost is the bookkeeping of a claim as ClaimBytes counts it. It is about what the
// allocator uses for its record, its map entry, its place in the heap, and for rounding up the
// sizes of key and value.
const heldCost = 192

// claimKey keeps counters and values apart.
type claimKey struct {
	name    string
	counter bool
}

// held is a value or a counter that has not expired.
type held struct {
	mortal
	key   claimKey
	value []byte // replaced, never changed in place
	sum   int64
}

func (h *held) before(other *held) bool { return h.end.Before(other.end) }

func (h *held) name() claimKey { return h.key }

func (h *held) cost() int { return heldCost + len(h.key.name) + len(h.value) }
