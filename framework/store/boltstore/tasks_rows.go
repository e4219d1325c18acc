package boltstore

import (
	"bytes"
	"cmp"
	"fmt"
	"iter"
	"slices"

	"github.com/kagami-mcp/kagami/protocol/task"
)

// Buckets of the tasks. A key of an id begins with a letter, because a key must not be
// empty.
const (
	tasksName  = "tasks"       // id: the row, see kept
	endsName   = "tasks.ends"  // end, id: those that expire
	ownersName = "tasks.owner" // owner, number: place, in the order of creation
	overName   = "tasks.over"  // owner, number of the end: id, of those that are terminal
	sharesName = "tasks.share" // owner: weight of those that are terminal, if it has any
	ranksName  = "tasks.rank"  // that weight, owner: nothing
	openName   = "tasks.open"  // owner: number and bytes of those that are not terminal, if it has any
	takenName  = "tasks.taken" // id: of those that a worker has had and not given back
	goneName   = "tasks.gone"  // id: trace of one that is gone: a list may go on after it
	tracesName = "tasks.trace" // number of the trace: id
)

// goneShare of the records there may be so many traces.
const goneShare = 8

// taskRows are the tasks in a transaction.
type taskRows struct {
	t      *txn
	most   taskBounds
	counts counts

	rows, ends, owners, over, shares, ranks, open, taken, gone, traces bucket
}

func tasksIn(t *txn, most taskBounds) *taskRows {
	return &taskRows{
		t: t, most: most, counts: t.counts(tasksName),
		rows: t.bucket(tasksName), ends: t.bucket(endsName), owners: t.bucket(ownersName),
		over: t.bucket(overName), shares: t.bucket(sharesName), ranks: t.bucket(ranksName),
		open: t.bucket(openName), taken: t.bucket(takenName), gone: t.bucket(goneName), traces: t.bucket(tracesName),
	}
}

func taskKey(id string) []byte { return append([]byte{'t'}, id...) }

// get gives expired ones, too; nil where nothing is.
func (x *taskRows) get(id string) *kept {
	row := x.rows.get(taskKey(id))
	if row == nil {
		return nil
	}
	return openKept(id, row)
}

func (x *taskRows) find(id string) (*kept, error) {
	k := x.get(id)
	if k == nil || !k.alive(x.t.now) {
		return nil, fmt.Errorf("boltstore: %w", task.ErrNotFound)
	}
	return k, nil
}

func (x *taskRows) move(kind moveKind, id, token string) {
	x.t.moves = append(x.t.moves, move{kind, id, token})
}

// insert keeps the task, for which there is room.
func (x *taskRows) insert(k *kept) {
	k.number = x.rows.next()
	x.place(k)
	if k.end != never {
		x.ends.put(endKey(k.end, taskKey(k.id)), nil)
	}
	if k.state == stateWorking {
		x.move(comes, k.id, "")
	}
	x.counts.rows++
}

// replace keeps another record for the same task.
func (x *taskRows) replace(old, k *kept) {
	k.number = old.number
	x.count(old, -1)
	if k.end != old.end {
		x.removeEnd(old)
		if k.end != never {
			x.ends.put(endKey(k.end, taskKey(k.id)), nil)
		}
	}
	if old.state == stateOver {
		k.over = old.over
		if k.state != stateOver {
			x.over.remove(ownerKey(old.owner, old.over))
			k.over = 0
		}
	}
	x.place(k)
	switch was, is := old.state == stateWorking, k.state == stateWorking; {
	case was && !is:
		x.untake(k.id)
		x.move(leaves, k.id, "")
	case !was && is:
		x.move(comes, k.id, "")
	}
}

// place writes the row and where it is found, and counts its bytes.
func (x *taskRows) place(k *kept) {
	if k.state == stateOver && k.over == 0 {
		k.over = x.over.next()
		x.over.put(ownerKey(k.owner, k.over), taskKey(k.id))
	}
	x.rows.put(taskKey(k.id), k.row())
	x.owners.put(ownerKey(k.owner, k.number), k.placeInList())
	x.count(k, 1)
}

// count changes the counts by sign times what the task takes.
func (x *taskRows) count(k *kept, sign int) {
	x.counts.bytes += sign * k.cost()
	if k.state != stateOver {
		x.countOpen(ownerPrefix(k.owner), sign, sign*k.cost())
		return
	}
	x.counts.ended += sign
	x.counts.endedSize += sign * k.cost()
	x.weigh(ownerPrefix(k.owner), sign*(k.cost()+taskWeight))
}

func (x *taskRows) removeEnd(k *kept) {
	if k.end != never {
		x.ends.remove(endKey(k.end, taskKey(k.id)))
	}
}

func (x *taskRows) wasTaken(id string) bool { return x.taken.get(taskKey(id)) != nil }

func (x *taskRows) untake(id string) {
	if x.wasTaken(id) {
		x.taken.remove(taskKey(id))
	}
}

// drop leaves a trace.
func (x *taskRows) drop(k *kept) {
	owner := bytes.Clone(k.owner)
	x.count(k, -1)
	x.counts.rows--
	x.removeEnd(k)
	if k.state == stateOver {
		x.over.remove(ownerKey(owner, k.over))
	}
	x.untake(k.id)
	x.owners.remove(ownerKey(owner, k.number))
	x.rows.remove(taskKey(k.id))
	x.move(leaves, k.id, "")
	x.leaveTrace(k.id, owner, k.number)
}

// dropExpired drops the one that expired first, if any has.
func (x *taskRows) dropExpired() bool {
	key, _ := x.ends.first()
	if key == nil || endOf(key) > x.t.now {
		return false
	}
	x.drop(x.must(key[8:]))
	return true
}

// must be there, because another bucket says so. Where it is not, the file is damaged,
// which whoever runs a transaction finds out by the panic.
func (x *taskRows) must(key []byte) *kept {
	id := string(key[1:])
	k := x.get(id)
	if k == nil {
		panic(fmt.Sprintf("a task of %d bytes of id is not where it should be", len(id)))
	}
	return k
}

// listed is the place of a task in its owner's list.
type listed struct {
	state state
	end   int64
	id    string
}

// ofOwner are the places behind the number, in order.
func (x *taskRows) ofOwner(owner string, number uint64) iter.Seq[listed] {
	return func(yield func(listed) bool) {
		prefix := ownerPrefix([]byte(owner))
		c := x.owners.b.Cursor()
		for key, v := c.Seek(ownerKey([]byte(owner), number+1)); bytes.HasPrefix(key, prefix); key, v = c.Next() {
			if !yield(listed{state(v[0]), endOf(v[1:]), string(v[9:])}) {
				return
			}
		}
	}
}

// number of the record with that id, or of the one that was there, if it is the owner's;
// 0 is before all.
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

// lineUp puts those that are working in line, in the order of creation. Called before
// anybody else has the store.
func (s *tasks) lineUp() error {
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
	s.line.apply(moves)
	return err
}
