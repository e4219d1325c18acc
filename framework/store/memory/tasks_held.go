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
	taskCost     = 576 // a task: its record, its map entry, its places, and what its texts are rounded up by
	questionCost = 64  // a question, likewise
	ownerCost    = 256 // an owner: the map entry, and the places of a few that are gone
	goneCost     = 192 // a task that is gone, of which only the place is left
	goneShare    = 8   // of TaskRecords, there may be so many of these
)

// taskWeight is what the number of terminal tasks counts besides their bytes, where it is
// asked whose are the most: a task's share of the default bounds.
const taskWeight = 256 << 20 / 100_000

// heldTask is a task until its end.
type heldTask struct {
	mortal
	turn   turn
	record *task.Record  // never changed
	number uint64        // in the order of creation
	born   time.Time     // Created, as the monotonic clock has it
	over   *list.Element // in taskOwner.over; nil: it is not terminal
}

func (h *heldTask) before(other *heldTask) bool { return h.end.Before(other.end) }

// expires is when it does; zero: never.
func (h *heldTask) expires() time.Time {
	if ttl := h.record.TTL; ttl > 0 {
		return h.born.Add(ttl)
	}
	return time.Time{}
}

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
	open   int       // bytes of those that are not terminal
	over   list.List // of *heldTask that are terminal, the one that ended first at the front
	weight int       // of these; 0: there are none
	rank   int       // in tasks.over, from 1; 0: it is not there
}

func (o *taskOwner) before(other *taskOwner) bool { return o.weight > other.weight }

func (o *taskOwner) moved(place int) { o.rank = place + 1 }

// firstOver is the terminal task that ended first, but for keep. There must be one.
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
