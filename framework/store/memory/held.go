package memory

// heldCost is the bookkeeping for a claim that counts toward ClaimBytes. It is the approximate size
// of its record, its map entry and its heap entry. The allocator's rounding of key and value is
// included.
const heldCost = 192

// claimKey is a key in the table. It keeps counters and values with the same name apart.
type claimKey struct {
	name    string
	counter bool
}

// held is a value or a counter in the table of claims.
type held struct {
	mortal
	key   claimKey
	value []byte // replaced, never changed in place
	sum   int64
}

func (h *held) before(other *held) bool { return h.end.Before(other.end) }

func (h *held) name() claimKey { return h.key }

func (h *held) cost() int { return heldCost + len(h.key.name) + len(h.value) }
