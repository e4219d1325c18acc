package boltstore

import "math/bits"

// sizes that streams are told apart by, each from a power of four to the next.
const sizes = 32

func (s *stream) size() int { return (bits.Len64(uint64(s.cost())) - 1) / 2 }

// keptKey has the streams of one size together, and there those that had no new event for
// longest in front.
func (s *stream) keptKey() []byte {
	return appendNumber(append(make([]byte, 0, 9), byte(s.size())), s.turn)
}

// sums are the bytes of the streams that have events, by size.
type sums [sizes]int

// largest is the size that takes most. It gives where there is no room: so large streams,
// and those that are many, push out one another, and what takes little together stays.
func (b *sums) largest() (size int) {
	for i, n := range b {
		if n >= b[size] {
			size = i
		}
	}
	return size
}

// sums are beside the counts, under the name of the bucket.
func (t *txn) sums() (b sums) {
	data := t.bucket(countsName).get([]byte(keptName))
	for i := range b {
		if len(data) >= 8*(i+1) {
			b[i] = int(numberOf(data[8*i:]))
		}
	}
	return b
}

// setSums writes if they are others than they were.
func (t *txn) setSums(b, were sums) {
	if b == were {
		return
	}
	data := make([]byte, 0, 8*sizes)
	for _, n := range b {
		data = appendNumber(data, uint64(n))
	}
	t.bucket(countsName).put([]byte(keptName), data)
}
