package memory

import (
	"cmp"
	"container/list"
	"slices"
	"time"

	"github.com/kagami-mcp/kagami/protocol/task"
)

// Bookkeeping as TaskBytes counts it, about what the allocator uses.
const (
	taskCost     = 576 // a task: its record, its map entry, its places in heaps and lists, and rounding up its strings
	questionCost = 64  // a question, likewise
	ownerCost    = 256 // an owner: the map entry, and the places of a few tasks that are gone
	goneCost     = 192 // a trace of a task that is gone
	goneShare    = 8   // there may be TaskRecords divided by this many traces
)

// taskWeight is added for each terminal task to its bytes when the owner with the most is
// sought: a task's share of the default bounds.
const taskWeight = 256 << 20 / 100_000

// heldTask is a task that has not expired.
type heldTask struct {
	mortal
	turn   turn
	record *task.Record  // replaced, never changed in place
	number uint64        // in the order of creation
	born   time.Time     // Created on the monotonic clock
	over   *list.Element // in taskOwner.over; nil: it is not terminal
}

func (h *heldTask) before(other *heldTask) bool { return h.end.Before(other.end) }

// expires is when it expires; zero: never.
func (h *heldTask) expires() time.Time {
	if ttl := h.record.TTL; ttl > 0 {
		return h.born.Add(ttl)
	}
	return time.Time{}
}

func (h *heldTask) cost() int { return recordCost(h.record) }

// recordCost includes the owner's name, though all tasks of an owner share the string.
func recordCost(r *task.Record) int {
	n := taskCost + len(r.ID) + len(r.Owner) + len(r.Message) + len(r.Call) + len(r.Journal) + len(r.Result) + len(r.Error)
	for _, q := range r.Questions {
		n += questionCost + len(q.Key) + len(q.Request)
	}
	return n + 8*len(r.Asked)
}

// taskOwner has the places of its tasks in the order of creation. Places of tasks that are gone
// stay until they are the majority.
type taskOwner struct {
	name   string
	places []taskPlace
	live   int
	open   int       // bytes of the tasks that are not terminal
	over   list.List // terminal tasks (*heldTask), the one that ended first at the front
	weight int       // of the terminal tasks; 0: there are none
	rank   int       // index in tasks.over + 1; 0: it is not there
}

func (o *taskOwner) before(other *taskOwner) bool { return o.weight > other.weight }

func (o *taskOwner) moved(place int) { o.rank = place + 1 }

// firstOver is the terminal task that ended first, keep excepted. There must be one.
func (o *taskOwner) firstOver(keep *heldTask) *heldTask {
	first := o.over.Front()
	if first.Value.(*heldTask) == keep {
		first = first.Next()
	}
	return first.Value.(*heldTask)
}

type taskPlace struct {
	number uint64
	task   *heldTask // nil: gone
}

func (o *taskOwner) add(h *heldTask) {
	o.places = append(o.places, taskPlace{h.number, h})
	o.live++
}

// after are the places behind the number.
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

// remove takes amortized constant time, apart from the search.
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
