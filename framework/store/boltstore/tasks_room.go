package boltstore

import (
	"bytes"
	"fmt"

	"github.com/kagami-mcp/kagami/protocol/task"
)

// taskWeight is added for each terminal task to its bytes when the owner with the most is
// sought: a task's share of the default bounds.
const taskWeight = 256 << 20 / 100_000

// weigh adds to the weight of an owner's terminal tasks.
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

// countOpen adds to the number and the bytes of an owner's tasks that are not terminal.
func (x *taskRows) countOpen(owner []byte, records, bytes int) {
	n, size := x.openOf(owner)
	if n += records; n == 0 {
		x.open.remove(owner)
		return
	}
	x.open.put(owner, appendNumber(appendNumber(nil, uint64(n)), uint64(size+bytes)))
}

// openOf is the number and the bytes of an owner's tasks that are not terminal.
func (x *taskRows) openOf(owner []byte) (records, bytes int) {
	data := x.open.get(owner)
	if data == nil {
		return 0, 0
	}
	return int(numberOf(data)), int(numberOf(data[8:]))
}

// need is by how much a row is larger than the one it replaces.
type need struct {
	records, bytes int
	open           int    // bytes, if the task is not terminal; else 0 or less
	owner          []byte // with its length in front
	keep           *kept  // the task being replaced, which must not be dropped; nil: the row is new
}

func (x *taskRows) needs(old, k *kept) need {
	n := need{bytes: k.cost(), owner: ownerPrefix(k.owner), keep: old}
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

// makeRoom drops tasks that may be dropped until there is enough room. If that is not possible,
// it drops only expired ones.
func (x *taskRows) makeRoom(n need) error {
	for !x.fits(n.records, n.bytes) || !x.fair(n) {
		if x.dropExpired() { // never n.keep, which has not expired
			continue
		}
		return x.push(n)
	}
	return nil
}

// fits also accepts a row that shrinks while the store is beyond its bounds, which may have
// been lowered.
func (x *taskRows) fits(records, bytes int) bool {
	return (records <= 0 || x.counts.rows+records <= x.most.records) && (bytes <= 0 || x.counts.bytes+bytes <= x.most.bytes)
}

// fair says whether the owner's tasks that are not terminal stay within its share of the room.
// For a new task the share is as much as all such tasks leave free: half of the room for a
// single owner, half of the rest for the next one, and so on. A task that grows has been
// accepted already: its owner may use another quarter of the room.
func (x *taskRows) fair(n need) bool {
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

// push drops terminal tasks, first the one that ended first, of the owner that has most of
// them. It terminates, because each step removes a record or a trace.
func (x *taskRows) push(n need) error {
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

// firstOver is the task to drop: of the owner with the greatest weight of terminal tasks, the
// one that ended first, except keep, whose weight is not counted. There must be one.
func (x *taskRows) firstOver(keep *kept) *kept {
	rank, _ := x.ranks.b.Cursor().Last()
	c := x.over.b.Cursor()
	_, id := c.Seek(rank[8:])
	if keep != nil && bytes.Equal(id, taskKey(keep.id)) {
		_, id = c.Next()
	}
	return x.must(id)
}
