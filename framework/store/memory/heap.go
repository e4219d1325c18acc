package memory

import (
	"container/heap"
	"time"
)

// heapItem is an element of a heap. The heap reports the element's index to it, so that the element
// can be moved and removed.
type heapItem[T any] interface {
	before(other T) bool
	moved(index int) // -1 if it has left the heap
}

// heapOf implements heap.Interface. The element that is before all others has index 0.
type heapOf[T heapItem[T]] []T

// Len is part of heap.Interface.
func (h heapOf[T]) Len() int { return len(h) }

// Less is part of heap.Interface.
func (h heapOf[T]) Less(i, j int) bool { return h[i].before(h[j]) }

// Swap is part of heap.Interface.
func (h heapOf[T]) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].moved(i)
	h[j].moved(j)
}

// Push is part of heap.Interface.
func (h *heapOf[T]) Push(x any) {
	item := x.(T)
	item.moved(len(*h))
	*h = append(*h, item)
}

// Pop is part of heap.Interface.
func (h *heapOf[T]) Pop() any {
	last := len(*h) - 1
	item := (*h)[last]
	clear((*h)[last:]) // let the garbage collector have it
	*h = (*h)[:last]
	item.moved(-1)
	return item
}

// expiring is embedded in items that expire. It has the time of expiry and the index in the expiry
// heap.
type expiring struct {
	end   time.Time // zero for never
	index int       // index + 1; 0 if not in the heap
}

func (m *expiring) alive(now time.Time) bool { return m.end.IsZero() || now.Before(m.end) }

func (m *expiring) moved(index int) { m.index = index + 1 }

func (m *expiring) life() *expiring { return m }

// expiringItem is an element with an embedded expiring.
type expiringItem[T any] interface {
	heapItem[T]
	life() *expiring
}

// expiryHeap has all items that expire.
type expiryHeap[T expiringItem[T]] struct{ heap heapOf[T] }

// set sets the time at which item expires; zero means never.
func (e *expiryHeap[T]) set(item T, end time.Time) {
	m := item.life()
	m.end = end
	switch in, should := m.index > 0, !end.IsZero(); {
	case in && should:
		heap.Fix(&e.heap, m.index-1)
	case in:
		heap.Remove(&e.heap, m.index-1)
	case should:
		heap.Push(&e.heap, item)
	}
}

// remove removes item from the heap, if it is there.
func (e *expiryHeap[T]) remove(item T) { e.set(item, time.Time{}) }

// expired returns the item that expired first. If none has expired, ok is false.
func (e *expiryHeap[T]) expired(now time.Time) (item T, ok bool) {
	if len(e.heap) == 0 || e.heap[0].life().alive(now) {
		return item, false
	}
	return e.heap[0], true
}
