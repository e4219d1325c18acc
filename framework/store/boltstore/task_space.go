package boltstore

import (
	"bytes"
	"fmt"

	"github.com/kagami-mcp/kagami/protocol/task"
)

// taskWeight is added for each terminal task to its size, to find the owner with the most. It is
// the average size of a task under the default bounds.
const taskWeight = 256 << 20 / 100_000

// weigh adds more to the weight of an owner's terminal tasks.
func (x *taskRows) weigh(owner []byte, more int) {
	var weight uint64
	if share := x.shares.get(owner); share != nil {
		weight = numberOf(share)
		x.ranks.remove(append(appendNumber(nil, weight), owner...))
	}
	if weight += uint64(more); weight == 0 {
		x.shares.remove(owner)
		return
	}
	x.shares.put(owner, appendNumber(nil, weight))
	x.ranks.put(append(appendNumber(nil, weight), owner...), nil)
}

// countOpen adds to the number and the size of an owner's tasks that are not terminal.
func (x *taskRows) countOpen(owner []byte, records, bytes int) {
	n, size := x.openOf(owner)
	if n += records; n == 0 {
		x.open.remove(owner)
		return
	}
	x.open.put(owner, appendNumber(appendNumber(nil, uint64(n)), uint64(size+bytes)))
}

// openOf returns the number and the size of an owner's tasks that are not terminal.
func (x *taskRows) openOf(owner []byte) (records, bytes int) {
	data := x.open.get(owner)
	if data == nil {
		return 0, 0
	}
	return int(numberOf(data)), int(numberOf(data[8:]))
}

// spaceNeeded is the space that a new row needs, or the growth of a row that replaces another.
type spaceNeeded struct {
	records, bytes int
	open           int        // growth of the owner's unfinished tasks in bytes; 0 or less if the new row is terminal
	owner          []byte     // with its length in front
	keep           *taskEntry // the task to replace, which must not be dropped; nil for a new row
}

// spaceFor returns the space that k needs. k replaces old; for a new task, old is nil.
func (x *taskRows) spaceFor(old, k *taskEntry) spaceNeeded {
	n := spaceNeeded{bytes: k.cost(), owner: ownerPrefix(k.owner), keep: old}
	if k.state != stateOver {
		n.open = n.bytes
	}
	if old == nil {
		n.records = 1
		return n
	}
	n.bytes -= old.cost()
	if old.state != stateOver {
		n.open -= old.cost()
	}
	return n
}

// makeSpace evicts tasks until the need is met. If that is not possible, it drops only expired tasks
// and returns an error.
func (x *taskRows) makeSpace(n spaceNeeded) error {
	for !x.fits(n.records, n.bytes) || !x.fair(n) {
		if x.dropExpired() { // never n.keep, which has not expired
			continue
		}
		return x.push(n)
	}
	return nil
}

// fits reports whether the additional rows and bytes fit. It always accepts a row that shrinks,
// because the store may be beyond bounds that have been lowered.
func (x *taskRows) fits(records, bytes int) bool {
	return (records <= 0 || x.counts.rows+records <= x.most.records) && (bytes <= 0 || x.counts.bytes+bytes <= x.most.bytes)
}

// fair reports whether the owner's unfinished tasks stay within the owner's quota. For a new task,
// the quota is as much as all unfinished tasks leave free. A single owner can thus use half of the
// space, the next owner half of the rest, and so on. For a task that grows, the quota is three
// quarters of the space, because the task was already accepted.
func (x *taskRows) fair(n spaceNeeded) bool {
	if n.open <= 0 {
		return true
	}
	_, own := x.openOf(n.owner)
	share := x.most.bytes / 4 * 3
	if n.keep == nil {
		share = x.most.bytes - (x.counts.bytes - x.counts.endedSize - x.counts.goneSize) - n.open
	}
	return own+n.open <= share
}

// push evicts terminal tasks of the owner that has the most of them; the task that ended first goes
// first. It terminates, because each step removes a record or a trace.
func (x *taskRows) push(n spaceNeeded) error {
	if n.keep != nil && n.keep.state == stateOver {
		n.bytes += n.keep.cost()
		x.count(n.keep, -1)
		defer x.count(n.keep, 1)
	}
	if x.counts.rows+n.records-x.counts.ended > x.most.records && n.records > 0 ||
		x.counts.bytes+n.bytes-x.counts.endedSize-x.counts.goneSize > x.most.bytes || !x.fair(n) {
		return fmt.Errorf("%w for the task (%w): %d tasks in %d bytes are held, %d bytes more are needed",
			ErrFull, task.ErrFull, x.counts.rows, x.counts.bytes, n.bytes)
	}
	for !x.fits(n.records, n.bytes) {
		if x.counts.bytes+n.bytes > x.most.bytes && x.counts.gone > 0 {
			x.dropTrace()
			continue
		}
		x.drop(x.firstOver(n.keep))
	}
	return nil
}

// firstOver returns the task to evict. It belongs to the owner with the greatest weight of terminal
// tasks, and is the owner's task that ended first. It is never keep, which has no weight then.
// There must be such a task.
func (x *taskRows) firstOver(keep *taskEntry) *taskEntry {
	rank, _ := x.ranks.b.Cursor().Last()
	c := x.over.b.Cursor()
	_, id := c.Seek(rank[8:])
	if keep != nil && bytes.Equal(id, taskKey(keep.id)) {
		_, id = c.Next()
	}
	return x.must(id)
}
