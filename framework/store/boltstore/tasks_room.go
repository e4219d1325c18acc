package boltstore

import (
	"bytes"
	"fmt"

	"github.com/kagami-mcp/kagami/protocol/task"
)

// taskWeight is what the number of terminal tasks counts besides their bytes, where it is
// asked whose are the most: a task's share of the default bounds.
const taskWeight = 256 << 20 / 100_000

// weigh adds to what the terminal tasks of an owner weigh.
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

// countOpen adds to the tasks of an owner that are not terminal, and to their bytes.
func (x *taskRows) countOpen(owner []byte, records, bytes int) {
	n, size := x.openOf(owner)
	if n += records; n == 0 {
		x.open.remove(owner)
		return
	}
	x.open.put(owner, appendNumber(appendNumber(nil, uint64(n)), uint64(size+bytes)))
}

// openOf are an owner's tasks that are not terminal, and their bytes.
func (x *taskRows) openOf(owner []byte) (records, bytes int) {
	data := x.open.get(owner)
	if data == nil {
		return 0, 0
	}
	return int(numberOf(data)), int(numberOf(data[8:]))
}

// need is what a row needs more than the one in its place.
type need struct {
	records, bytes int
	open           int    // of the bytes, by a task that is not terminal
	owner          []byte // with its length in front
	keep           *kept  // must not go for it; nil: it is a new one
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

// makeRoom drops what may go until there is what is needed. If that is not enough, it drops
// only what has expired.
func (x *taskRows) makeRoom(n need) error {
	for !x.fits(n.records, n.bytes) || !x.fair(n) {
		if x.dropExpired() { // never n.keep, which is alive
			continue
		}
		return x.push(n)
	}
	return nil
}

// fits lets a row that shrinks be, where there is more than the bounds say now.
func (x *taskRows) fits(records, bytes int) bool {
	return (records <= 0 || x.counts.rows+records <= x.most.records) && (bytes <= 0 || x.counts.bytes+bytes <= x.most.bytes)
}

// fair says whether the owner has, by tasks that are not terminal, no more than a share of
// the room. For a new one that is as much as all such tasks leave: half of the room for who
// is alone, half of the rest for the next, and so on. One that grows has been
// accepted: its owner has a quarter of the room more.
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

// push drops terminal tasks: the one that ended first, of the owner who has most of them.
// It ends: each step takes a record away, or the trace of one.
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

// firstOver is the task to go, but for keep, which is not weighed: of the owner whose
// terminal tasks are the most, the one that ended first. There must be one.
func (x *taskRows) firstOver(keep *kept) *kept {
	rank, _ := x.ranks.b.Cursor().Last()
	c := x.over.b.Cursor()
	_, id := c.Seek(rank[8:])
	if keep != nil && bytes.Equal(id, taskKey(keep.id)) {
		_, id = c.Next()
	}
	return x.must(id)
}
