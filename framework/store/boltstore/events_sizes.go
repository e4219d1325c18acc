package boltstore

import "math/bits"

// sizes is the number of size classes. Each class reaches from one power of four to the next.
const sizes = 32

func (s *stream) size() int { return (bits.Len64(uint64(s.cost())) - 1) / 2 }

// keptKey returns the key of a stream in the bucket of kept streams. Streams of a size class are
// together; the stream without a new event for the longest time is first.
func (s *stream) keptKey() []byte {
	return appendNumber(append(make([]byte, 0, 9), byte(s.size())), s.order)
}

// sums holds the total size of the streams that have events, by size class.
type sums [sizes]int

// largest returns the size class whose streams use the most space. When the store is full, streams
// are evicted from this class. Large streams therefore displace each other, and classes that use
// little space keep their events.
func (b *sums) largest() (size int) {
	for i, n := range b {
		if n >= b[size] {
			size = i
		}
	}
	return size
}

// sums reads the sums. They are among the counts, under the name of the bucket of kept streams.
func (t *txn) sums() (b sums) {
	t.totals(keptName, b[:])
	return b
}

// setSums writes the sums if they have changed.
func (t *txn) setSums(b, were sums) {
	if b != were {
		t.setTotals(keptName, b[:]...)
	}
}
