package memory

// claimCost is the bookkeeping for a claim that counts toward ClaimBytes. It is the approximate size
// of its record, its map entry and its heap entry. The allocator's rounding of key and value is
// included.
const claimCost = 192

// claimKey is a key in the table. It keeps counters and values with the same name apart.
type claimKey struct {
	name    string
	counter bool
}

// claimEntry is a value or a counter in the table of claims.
type claimEntry struct {
	expiring
	key   claimKey
	value []byte // replaced, never changed in place
	sum   int64
}

func (h *claimEntry) before(other *claimEntry) bool { return h.end.Before(other.end) }

func (h *claimEntry) name() claimKey { return h.key }

func (h *claimEntry) cost() int { return claimCost + len(h.key.name) + len(h.value) }
