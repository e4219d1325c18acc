package memory

import (
	"cmp"
	"container/list"
	"slices"
	"time"

	"github.com/kagami-mcp/kagami/protocol/task"
)

// Bookkeeping that counts toward TaskBytes. It is about the memory that the allocator uses.
const (
	taskCost     = 576 // for a task: its record, its entries in the map, heaps and lists, and the rounding of its strings
	questionCost = 64  // for a question
	ownerCost    = 256 // for an owner: the map entry, and the entries of a few removed tasks
	goneCost     = 192 // for the trace of a removed task
	goneShare    = 8   // the number of traces is at most TaskRecords divided by this
)

// taskWeight is added for each terminal task to its size, to find the owner with the most. It is
// the average size of a task under the default bounds.
const taskWeight = 256 << 20 / 100_000

// taskEntry is a task in the store.
type taskEntry struct {
	expiring
	queued queueEntry
	record *task.Record  // replaced, never changed in place
	number uint64        // grows in the order of creation
	born   time.Time     // Created, on the monotonic clock
	over   *list.Element // element of taskOwner.over; nil if the task is not terminal
}

func (h *taskEntry) before(other *taskEntry) bool { return h.end.Before(other.end) }

// expires returns the time at which the task expires; zero means never.
func (h *taskEntry) expires() time.Time {
	if ttl := h.record.TTL; ttl > 0 {
		return h.born.Add(ttl)
	}
	return time.Time{}
}

func (h *taskEntry) cost() int { return recordCost(h.record) }

// recordCost returns the size of a record. It includes the owner's name, although all tasks of an
// owner share the string.
func recordCost(r *task.Record) int {
	n := taskCost + len(r.ID) + len(r.Owner) + len(r.Message) + len(r.Call) + len(r.Journal) + len(r.Result) + len(r.Error)
	for _, q := range r.Questions {
		n += questionCost + len(q.Key) + len(q.Request)
	}
	return n + 8*len(r.Asked)
}

// taskOwner has the entries of its tasks in the order of creation. Entries of removed tasks stay
// until they are the majority.
type taskOwner struct {
	name    string
	entries []ownerEntry
	live    int
	open    int       // size of the tasks that are not terminal
	over    list.List // elements are terminal *taskEntry; the task that ended first is at the front
	weight  int       // weight of the terminal tasks; 0 if there are none
	rank    int       // index in tasks.over + 1; 0 if not in it
}

func (o *taskOwner) before(other *taskOwner) bool { return o.weight > other.weight }

func (o *taskOwner) moved(index int) { o.rank = index + 1 }

// firstOver returns the terminal task that ended first, other than keep. There must be one.
func (o *taskOwner) firstOver(keep *taskEntry) *taskEntry {
	first := o.over.Front()
	if first.Value.(*taskEntry) == keep {
		first = first.Next()
	}
	return first.Value.(*taskEntry)
}

type ownerEntry struct {
	number uint64
	task   *taskEntry // nil if removed
}

func (o *taskOwner) add(h *taskEntry) {
	o.entries = append(o.entries, ownerEntry{h.number, h})
	o.live++
}

// after returns the entries after the number.
func (o *taskOwner) after(number uint64) []ownerEntry {
	i, found := o.find(number)
	if found {
		i++
	}
	return o.entries[i:]
}

func (o *taskOwner) find(number uint64) (int, bool) {
	return slices.BinarySearchFunc(o.entries, number, func(p ownerEntry, n uint64) int { return cmp.Compare(p.number, n) })
}

// remove marks an entry as removed. Apart from the search, it takes amortized constant time.
func (o *taskOwner) remove(number uint64) {
	if i, found := o.find(number); found {
		o.entries[i].task = nil
		o.live--
	}
	if len(o.entries) <= 2*o.live+8 {
		return
	}
	kept := make([]ownerEntry, 0, o.live+o.live/4)
	for _, p := range o.entries {
		if p.task != nil {
			kept = append(kept, p)
		}
	}
	o.entries = kept
}
