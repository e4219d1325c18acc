package boltstore

import (
	"bytes"
	"cmp"
	"fmt"
	"iter"
	"slices"

	"github.com/kagami-mcp/kagami/protocol/task"
)

// Buckets of the tasks. Each comment gives key and value. A key that is an ID begins with a letter,
// because a key must not be empty.
const (
	tasksName  = "tasks"       // ID: the row, see taskEntry
	endsName   = "tasks.ends"  // expiry, ID: nothing; tasks that expire
	ownersName = "tasks.owner" // owner, number: entry in the list; in the order of creation
	overName   = "tasks.over"  // owner, number of the end: ID; terminal tasks
	sharesName = "tasks.share" // owner: weight of its terminal tasks, if it has any
	ranksName  = "tasks.rank"  // weight in tasks.share, owner: nothing
	openName   = "tasks.open"  // owner: number and size of its tasks that are not terminal, if it has any
	takenName  = "tasks.taken" // ID: tasks that a worker has taken and not given back
	goneName   = "tasks.gone"  // ID: trace of a removed task, so that a list can continue after it
	tracesName = "tasks.trace" // number of the trace: ID
)

// goneShare: the number of traces is at most TaskRecords divided by goneShare.
const goneShare = 8

// taskRows gives access to the tasks in a transaction.
//
// It belongs to one transaction. Every change of a row goes through insert, replace or drop, which
// keep the other buckets, the totals and the moves consistent.
type taskRows struct {
	t      *txn
	most   taskBounds
	counts counts

	rows, ends, owners, over, shares, ranks, open, taken, gone, traces bucket
}

// tasksIn opens the tasks in a transaction. A writer writes counts back at the end; see
// tasks.write.
func tasksIn(t *txn, most taskBounds) *taskRows {
	return &taskRows{
		t: t, most: most, counts: t.counts(tasksName),
		rows: t.bucket(tasksName), ends: t.bucket(endsName), owners: t.bucket(ownersName),
		over: t.bucket(overName), shares: t.bucket(sharesName), ranks: t.bucket(ranksName),
		open: t.bucket(openName), taken: t.bucket(takenName), gone: t.bucket(goneName), traces: t.bucket(tracesName),
	}
}

func taskKey(id string) []byte { return append([]byte{'t'}, id...) }

// get returns the task, even if it has expired, or nil if there is none.
func (x *taskRows) get(id string) *taskEntry {
	row := x.rows.get(taskKey(id))
	if row == nil {
		return nil
	}
	return openTaskEntry(id, row)
}

// find is like get, but returns ErrNotFound if there is no task or it has expired.
func (x *taskRows) find(id string) (*taskEntry, error) {
	k := x.get(id)
	if k == nil || !k.alive(x.t.now) {
		return nil, fmt.Errorf("boltstore: %w", task.ErrNotFound)
	}
	return k, nil
}

// move notes a move, for after the commit.
func (x *taskRows) move(kind moveKind, id, token string) {
	x.t.moves = append(x.t.moves, move{kind, id, token})
}

// insert stores a new task. The caller has made space for it.
func (x *taskRows) insert(k *taskEntry) {
	k.number = x.rows.next()
	x.reindex(k)
	x.ends.putEnd(k.end, taskKey(k.id))
	if k.state == stateWorking {
		x.move(comes, k.id, "")
	}
	x.counts.rows++
}

// replace stores another record for the same task.
//
// old must not be used afterwards, because its row is overwritten.
func (x *taskRows) replace(old, k *taskEntry) {
	k.number = old.number
	x.count(old, -1)
	if k.end != old.end {
		x.ends.removeEnd(old.end, taskKey(k.id))
		x.ends.putEnd(k.end, taskKey(k.id))
	}
	if old.state == stateOver {
		k.over = old.over
		if k.state != stateOver {
			x.over.remove(ownerKey(old.owner, old.over))
			k.over = 0
		}
	}
	x.reindex(k)
	switch was, is := old.state == stateWorking, k.state == stateWorking; {
	case was && !is:
		x.untake(k.id)
		x.move(leaves, k.id, "")
	case !was && is:
		x.move(comes, k.id, "")
	}
}

// reindex writes the row and its entries in the other buckets, and adds its size to the totals.
func (x *taskRows) reindex(k *taskEntry) {
	if k.state == stateOver && k.over == 0 {
		k.over = x.over.next()
		x.over.put(ownerKey(k.owner, k.over), taskKey(k.id))
	}
	x.rows.put(taskKey(k.id), k.row())
	x.owners.put(ownerKey(k.owner, k.number), k.listEntry())
	x.count(k, 1)
}

// count adds the task's size to the totals, multiplied by sign.
func (x *taskRows) count(k *taskEntry, sign int) {
	x.counts.bytes += sign * k.cost()
	if k.state != stateOver {
		x.countOpen(ownerPrefix(k.owner), sign, sign*k.cost())
		return
	}
	x.counts.ended += sign
	x.counts.endedSize += sign * k.cost()
	x.weigh(ownerPrefix(k.owner), sign*(k.cost()+taskWeight))
}

func (x *taskRows) wasTaken(id string) bool { return x.taken.get(taskKey(id)) != nil }

// untake forgets that a worker has taken the task.
func (x *taskRows) untake(id string) {
	if x.wasTaken(id) {
		x.taken.remove(taskKey(id))
	}
}

// drop removes a task and leaves a trace of it.
//
// k must not be used afterwards.
func (x *taskRows) drop(k *taskEntry) {
	owner := bytes.Clone(k.owner)
	x.count(k, -1)
	x.counts.rows--
	x.ends.removeEnd(k.end, taskKey(k.id))
	if k.state == stateOver {
		x.over.remove(ownerKey(owner, k.over))
	}
	x.untake(k.id)
	x.owners.remove(ownerKey(owner, k.number))
	x.rows.remove(taskKey(k.id))
	x.move(leaves, k.id, "")
	x.leaveTrace(k.id, owner, k.number)
}

// dropExpired drops the task that expired first. If no task has expired, it returns false.
func (x *taskRows) dropExpired() bool {
	key := x.ends.firstEnd(x.t.now)
	if key == nil {
		return false
	}
	x.drop(x.must(key))
	return true
}

// must returns a row that another bucket refers to. If the row is missing, the file is damaged:
// must panics, and the panic fails the transaction.
func (x *taskRows) must(key []byte) *taskEntry {
	id := string(key[1:])
	k := x.get(id)
	if k == nil {
		panic(fmt.Sprintf("a task of %d bytes of id is not where it should be", len(id)))
	}
	return k
}

// ofOwner returns the IDs of the owner's tasks after the number, in order.
func (x *taskRows) ofOwner(owner string, number uint64) iter.Seq[string] {
	return func(yield func(string) bool) {
		prefix := ownerPrefix([]byte(owner))
		c := x.owners.b.Cursor()
		for key, v := c.Seek(ownerKey([]byte(owner), number+1)); bytes.HasPrefix(key, prefix); key, v = c.Next() {
			if !yield(string(v[9:])) {
				return
			}
		}
	}
}

// number returns the number of the owner's task with this ID, or of its trace if the task is gone.
// For an empty ID it returns 0, which is before all tasks.
func (x *taskRows) number(owner, id string) (n uint64, ok bool) {
	if id == "" {
		return 0, true
	}
	if k := x.get(id); k != nil && string(k.owner) == owner {
		return k.number, true
	}
	if trace := x.gone.get(taskKey(id)); trace != nil && string(trace[16:]) == owner {
		return numberOf(trace), true
	}
	return 0, false
}

// enqueueWorking puts the working tasks into the queue, in the order of creation. It is called before Open
// returns the store.
func (s *tasks) enqueueWorking() error {
	type spot struct {
		number uint64
		id     string
	}
	var working []spot
	err := s.file.view(func(t *txn) error {
		x := tasksIn(t, s.most)
		c := x.owners.b.Cursor()
		for key, v := c.First(); key != nil; key, v = c.Next() {
			if state(v[0]) == stateWorking {
				working = append(working, spot{numberOf(key[len(key)-8:]), string(v[9:])})
			}
		}
		return nil
	})
	slices.SortFunc(working, func(a, b spot) int { return cmp.Compare(a.number, b.number) })
	moves := make([]move, len(working))
	for i, w := range working {
		moves[i] = move{comes, w.id, ""}
	}
	s.queue.apply(moves)
	return err
}
