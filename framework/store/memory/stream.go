package memory

import (
	"container/list"
	"math/bits"

	"github.com/kagami-mcp/kagami/protocol/eventlog"
)

// Bookkeeping that counts toward TotalBytes. It is about the memory that the allocator uses.
const (
	streamCost = 256 // for a stream: its record and its map entry
	slotCost   = 40  // for a frame: a slice header, and the rounding of a small frame
	minSlots   = 4
)

// newStreamCost returns the cost of a stream with one event, without the frame.
func newStreamCost(name string) int { return streamCost + len(name) + minSlots*slotCost }

// stream holds the events of one stream, in a ring that grows up to its bound. events.mu guards it.
type stream struct {
	name  string
	last  uint64   // number of the newest event
	ring  [][]byte // frames; the oldest is at head
	head  int
	count int
	bytes int           // size of all frames
	queue *queue        // the queue that contains the stream
	at    *list.Element // its element there
}

func (s *stream) cost() int { return streamCost + len(s.name) + s.bytes + len(s.ring)*slotCost }

// sizes is the number of size classes. Each class reaches from one power of four to the next.
const sizes = bits.UintSize / 2

// sizeOf returns the index of the size class for a cost.
func sizeOf(cost int) int { return (bits.Len(uint(cost)) - 1) / 2 }

// queue is a list of streams in the order they were added: after a new event, or after
// losing all events. The zero queue is empty.
type queue struct {
	streams list.List // elements are *stream
	bytes   int       // size of all its streams, bookkeeping included
}

// oldest returns the stream that was added first, or nil if the queue is empty.
func (q *queue) oldest() *stream {
	first := q.streams.Front()
	if first == nil {
		return nil
	}
	return first.Value.(*stream)
}

// push adds the newest event. It first drops the oldest events as far as the bounds require it.
func (s *stream) push(frame []byte, b *Bounds) {
	for s.count > 0 && (s.count >= b.StreamEvents || s.bytes+len(frame) > b.StreamBytes) {
		s.dropOldest()
	}
	if s.count == len(s.ring) {
		s.grow(b.StreamEvents)
	}
	s.ring[s.slot(s.count)] = frame
	s.count++
	s.bytes += len(frame)
	s.last++
}

// empty removes all events. The number stays.
func (s *stream) empty() { s.ring, s.head, s.count, s.bytes = nil, 0, 0, 0 }

// skip counts an event without keeping it, and removes all earlier events.
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

// slot returns the index in the ring of the i-th oldest event.
func (s *stream) slot(i int) int { return (s.head + i) % len(s.ring) }

// newest returns the newest n events, oldest first.
func (s *stream) newest(n int) []eventlog.Event {
	if n == 0 {
		return nil
	}
	out := make([]eventlog.Event, n)
	for i := range out {
		behind := n - 1 - i // number of events after this one
		out[i] = eventlog.Event{Seq: s.last - uint64(behind), Frame: s.ring[s.slot(s.count-1-behind)]}
	}
	return out
}
