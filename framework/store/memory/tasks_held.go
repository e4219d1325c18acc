package memory

import (
	"cmp"
	"container/list"
	"slices"
	"time"

	"github.com/kagami-mcp/kagami/protocol/task"
)

// Bookkeeping as TaskBytes counts it: about what the allocator takes.
const (
	taskCost     = 512 // a task: its record, its map entry, its places, and what its texts are rounded up by
	questionCost = 64  // a question, likewise
	ownerCost    = 256 // an owner: the map entry, and the places of a few that are gone
	goneCost     = 192 // a task that is gone, of which only the place is left
	goneShare    = 8   // of TaskRecords, there may be so many of these
)

// heldTask is a task until its end.
type heldTask struct {
	record *task.Record // never changed
	number uint64       // in the order of creation
	born   time.Time    // Created, as the monotonic clock has it
	end    time.Time    // zero: never
	place  int          // in tasks.ends, or -1
	over   *list.Element
}

func (h *heldTask) setEnd() {
	h.end = time.Time{}
	if ttl := h.record.TTL; ttl > 0 {
		h.end = h.born.Add(ttl)
	}
}

func (h *heldTask) alive(now time.Time) bool { return h.end.IsZero() || now.Before(h.end) }

func (h *heldTask) cost() int { return recordCost(h.record) }

// recordCost has the owner once, though all tasks of one share the text.
func recordCost(r *task.Record) int {
	n := taskCost + len(r.ID) + len(r.Owner) + len(r.Message) + len(r.Call) + len(r.Journal) + len(r.Result) + len(r.Error)
	for _, q := range r.Questions {
		n += questionCost + len(q.Key) + len(q.Request)
	}
	return n + 8*len(r.Asked)
}

// taskOwner has the places of its tasks in the order of creation. Those of tasks
// that are gone stay until they are the most.
type taskOwner struct {
	name   string
	places []taskPlace
	live   int
	over   int // of these, terminal
}

type taskPlace struct {
	number uint64
	task   *heldTask // nil: gone
}

func (o *taskOwner) add(h *heldTask) {
	o.places = append(o.places, taskPlace{h.number, h})
	o.live++
}

// after is what follows the number.
func (o *taskOwner) after(number uint64) []taskPlace {
	i, found := o.find(number)
	if found {
		i++
	}
	return o.places[i:]
}

func (o *taskOwner) find(number uint64) (int, bool) {
	return slices.BinarySearchFunc(o.places, number, func(p taskPlace, n uint64) int { return cmp.Compare(p.number, n) })
}

// remove takes constant time on average, besides the search.
func (o *taskOwner) remove(number uint64) {
	if i, found := o.find(number); found {
		o.places[i].task = nil
		o.live--
	}
	if len(o.places) <= 2*o.live+8 {
		return
	}
	kept := make([]taskPlace, 0, o.live+o.live/4)
	for _, p := range o.places {
		if p.task != nil {
			kept = append(kept, p)
		}
	}
	o.places = kept
}

// taskEnds is a heap (container/heap): the one that expires first is at 0.
type taskEnds []*heldTask

// Len is for container/heap.
func (e taskEnds) Len() int { return len(e) }

// Less is for container/heap.
func (e taskEnds) Less(i, j int) bool { return e[i].end.Before(e[j].end) }

// Swap is for container/heap.
func (e taskEnds) Swap(i, j int) {
	e[i], e[j] = e[j], e[i]
	e[i].place, e[j].place = i, j
}

// Push is for container/heap.
func (e *taskEnds) Push(x any) {
	h := x.(*heldTask)
	h.place = len(*e)
	*e = append(*e, h)
}

// Pop is for container/heap.
func (e *taskEnds) Pop() any {
	last := len(*e) - 1
	h := (*e)[last]
	(*e)[last] = nil // for the garbage collector
	*e = (*e)[:last]
	h.place = -1
	return h
}
