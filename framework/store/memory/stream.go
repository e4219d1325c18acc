package memory

import (
	"math/bits"

	"github.com/kagami-mcp/kagami/protocol/eventlog"
)

// Bookkeeping as TotalBytes counts it: about what the allocator takes.
const (
	streamCost = 256 // a stream: its record, its map entry
	slotCost   = 40  // a slice header, and what a small frame is rounded up by
	minSlots   = 4
)

// newStreamCost is that of a stream with one event, without the frame.
func newStreamCost(name string) int { return streamCost + len(name) + minSlots*slotCost }

// stream is the events of one stream, in a ring that grows to its bound.
type stream struct {
	name       string
	last       uint64   // number of the newest event
	ring       [][]byte // frames; the oldest is at head
	head       int
	count      int
	bytes      int    // of the frames
	queue      *queue // that it is in
	prev, next *stream
}

func (s *stream) cost() int { return streamCost + len(s.name) + s.bytes + len(s.ring)*slotCost }

// sizes that streams are told apart by, each from a power of four to the next.
const sizes = bits.UintSize / 2

// sizeOf is the index of a size.
func sizeOf(cost int) int { return (bits.Len(uint(cost)) - 1) / 2 }

// queue is streams in the order in which they came, by a new event or by losing all. The
// zero queue is empty.
type queue struct {
	first, last *stream
	bytes       int // of all of them, bookkeeping included
}

// push puts a stream that is in no queue behind all others.
func (q *queue) push(s *stream) {
	s.queue, s.prev, s.next = q, q.last, nil
	if q.last == nil {
		q.first = s
	} else {
		q.last.next = s
	}
	q.last = s
}

func (q *queue) remove(s *stream) {
	if s.prev == nil {
		q.first = s.next
	} else {
		s.prev.next = s.next
	}
	if s.next == nil {
		q.last = s.prev
	} else {
		s.next.prev = s.prev
	}
	s.queue, s.prev, s.next = nil, nil, nil
}

// push adds the newest event, and takes the oldest as long as there are too many.
func (s *stream) push(frame []byte, b *bounds) {
	for s.count > 0 && (s.count >= b.streamEvents || s.bytes+len(frame) > b.streamBytes) {
		s.dropOldest()
	}
	if s.count == len(s.ring) {
		s.grow(b.streamEvents)
	}
	s.ring[s.slot(s.count)] = frame
	s.count++
	s.bytes += len(frame)
	s.last++
}

// empty takes all events; the number stays.
func (s *stream) empty() { s.ring, s.head, s.count, s.bytes = nil, 0, 0, 0 }

// skip keeps only the number of an event.
func (s *stream) skip() {
	s.empty()
	s.last++
}

func (s *stream) dropOldest() {
	s.bytes -= len(s.ring[s.head])
	s.ring[s.head] = nil
	s.head = s.slot(1)
	s.count--
}

// grow doubles the ring.
func (s *stream) grow(most int) {
	ring := make([][]byte, min(max(2*len(s.ring), minSlots), most))
	n := copy(ring, s.ring[s.head:])
	copy(ring[n:], s.ring[:s.head])
	s.ring, s.head = ring, 0
}

// slot is where the i-th oldest event is.
func (s *stream) slot(i int) int { return (s.head + i) % len(s.ring) }

// newest n events, oldest first.
func (s *stream) newest(n int) []eventlog.Event {
	if n == 0 {
		return nil
	}
	out := make([]eventlog.Event, n)
	for i := range out {
		behind := n - 1 - i // how many events follow
		out[i] = eventlog.Event{Seq: s.last - uint64(behind), Frame: s.ring[s.slot(s.count-1-behind)]}
	}
	return out
}
