package memory

import (
	"container/heap"
	"time"
)

// placed is what a heap holds. It knows where it is, so that it can be moved and
// removed.
type placed[T any] interface {
	before(other T) bool
	moved(place int) // -1: it is in the heap no more
}

// heapOf is for container/heap: the one that is before all others is at 0.
type heapOf[T placed[T]] []T

// Len is for container/heap.
func (h heapOf[T]) Len() int { return len(h) }

// Less is for container/heap.
func (h heapOf[T]) Less(i, j int) bool { return h[i].before(h[j]) }

// Swap is for container/heap.
func (h heapOf[T]) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].moved(i)
	h[j].moved(j)
}

// Push is for container/heap.
func (h *heapOf[T]) Push(x any) {
	item := x.(T)
	item.moved(len(*h))
	*h = append(*h, item)
}

// Pop is for container/heap.
func (h *heapOf[T]) Pop() any {
	last := len(*h) - 1
	item := (*h)[last]
	clear((*h)[last:]) // for the garbage collector
	*h = (*h)[:last]
	item.moved(-1)
	return item
}

// mortal is what ends, and its place in the heap of those that do.
type mortal struct {
	end   time.Time // zero: never
	place int       // from 1; 0: it is not in the heap
}

func (m *mortal) alive(now time.Time) bool { return m.end.IsZero() || now.Before(m.end) }

func (m *mortal) moved(place int) { m.place = place + 1 }

func (m *mortal) life() *mortal { return m }

// ending is what has a mortal.
type ending[T any] interface {
	placed[T]
	life() *mortal
}

// ends are those that have an end.
type ends[T ending[T]] struct{ heap heapOf[T] }

// set says when it goes; zero: never.
func (e *ends[T]) set(item T, end time.Time) {
	m := item.life()
	m.end = end
	switch in, should := m.place > 0, !end.IsZero(); {
	case in && should:
		heap.Fix(&e.heap, m.place-1)
	case in:
		heap.Remove(&e.heap, m.place-1)
	case should:
		heap.Push(&e.heap, item)
	}
}

// remove forgets it, also if it has no end.
func (e *ends[T]) remove(item T) { e.set(item, time.Time{}) }

// expired is the one that expired first, if any has.
func (e *ends[T]) expired(now time.Time) (item T, ok bool) {
	if len(e.heap) == 0 || e.heap[0].life().alive(now) {
		return item, false
	}
	return e.heap[0], true
}
