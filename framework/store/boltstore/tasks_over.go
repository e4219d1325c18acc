package boltstore

import "bytes"

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

// upgradeTasks puts the terminal tasks of a file of format 1, where they had one order for
// all owners, in the order of each, and counts all anew.
func upgradeTasks(t *txn) {
	x := tasksIn(t, taskBounds{})
	was := x.counts
	x.counts = counts{rows: was.rows, bytes: was.goneSize, gone: was.gone, goneSize: was.goneSize}
	c := x.rows.b.Cursor()
	for key, row := c.First(); key != nil; key, row = c.Next() {
		k := openKept(string(key[1:]), row)
		if k.state == stateOver {
			x.over.remove(appendNumber(nil, k.over))
			x.over.put(ownerKey(k.owner, k.over), taskKey(k.id))
		}
		x.count(k, 1)
	}
	t.setCounts(tasksName, x.counts, was)
}
