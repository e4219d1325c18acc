package boltstore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/kagami-mcp/kagami/protocol/task"
)

// tasks is the task.Store and the task.Queue. The file has the records; queue has the order and the
// leases in memory.
//
// Its methods hold no lock of their own: the file orders the writes, and taskQueue has its mutex.
type tasks struct {
	file   *file
	queue  *taskQueue
	most   taskBounds
	closed <-chan struct{}
}

type taskBounds struct{ records, bytes int }

// write runs change in a transaction, see [write]. It also drops a few expired tasks.
func (s *tasks) write(change func(x *taskRows) error) error {
	return s.file.write(func(t *txn) error {
		x := tasksIn(t, s.most)
		was := x.counts
		sweep(few, x.dropExpired)
		err := change(x)
		t.setCounts(tasksName, x.counts, was)
		return err
	})
}

// Create returns after the task is on the disk. If the task does not fit, Create returns [ErrFull].
func (s *tasks) Create(_ context.Context, r task.Record) error {
	if err := errors.Join(checkName("a task id", r.ID), checkName("an owner", r.Owner)); err != nil {
		return err
	}
	r.Version = 1
	return s.write(func(x *taskRows) error {
		if k := x.get(r.ID); k != nil {
			if k.alive(x.t.now) {
				return fmt.Errorf("boltstore: %w", task.ErrExists)
			}
			x.drop(k)
		}
		k := newKept(&r)
		if err := x.makeSpace(x.spaceFor(nil, k)); err != nil {
			return err
		}
		x.insert(k)
		return nil
	})
}

// Get reads a committed state.
func (s *tasks) Get(_ context.Context, id string) (r task.Record, err error) {
	err = s.file.view(func(t *txn) error {
		k, err := tasksIn(t, s.most).find(id)
		if err == nil {
			r, err = k.parse()
		}
		return err
	})
	return r, err
}

// Update returns after the change is on the disk. If the record does not fit, Update returns
// [ErrFull].
func (s *tasks) Update(_ context.Context, r task.Record) error {
	return s.write(func(x *taskRows) error {
		k, err := x.find(r.ID)
		if err != nil {
			return err
		}
		stored, err := k.parse()
		if err != nil {
			return err
		}
		if r.Version != stored.Version {
			return fmt.Errorf("boltstore: %w: version %d, %d is stored", task.ErrConflict, r.Version, stored.Version)
		}
		next := r
		next.Owner, next.Created = stored.Owner, stored.Created
		next.Version++
		n := newKept(&next)
		if err := x.makeSpace(x.spaceFor(k, n)); err != nil {
			return err
		}
		x.replace(k, n)
		return nil
	})
}

// Delete returns after the deletion is on the disk.
func (s *tasks) Delete(_ context.Context, id string) error {
	return s.write(func(x *taskRows) error {
		if k := x.get(id); k != nil {
			x.drop(k)
		}
		return nil
	})
}

// List reads one committed state.
func (s *tasks) List(_ context.Context, owner, after string, limit int) (out []task.Record, err error) {
	err = s.file.view(func(t *txn) error {
		x := tasksIn(t, s.most)
		number, ok := x.number(owner, after)
		if !ok {
			return nil
		}
		for id := range x.ofOwner(owner, number) {
			if len(out) >= limit {
				return nil
			}
			k, err := x.find(id)
			if err != nil {
				continue
			}
			r, err := k.parse()
			if err != nil { // one unreadable record must not hide the others
				r = task.Record{ID: k.id, Owner: string(k.owner)}
			}
			out = append(out, r)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Count returns the number of the owner's tasks that have not ended. It writes only if the file
// still contains expired tasks, which may be the owner's.
func (s *tasks) Count(_ context.Context, owner string) (n int, err error) {
	for {
		expired := false
		err = s.file.view(func(t *txn) error {
			x := tasksIn(t, s.most)
			n, _ = x.openOf(ownerPrefix([]byte(owner)))
			expired = n > 0 && x.ends.firstEnd(t.now) != nil
			return nil
		})
		if err != nil || !expired {
			return n, err
		}
		if _, err = s.sweep(); err != nil {
			return 0, err
		}
	}
}

// errNotWorking is returned by lease if a task in the queue is not working any more.
var errNotWorking = errors.New("boltstore: the task is not working")

// Take returns after the file records that the task was taken, so that a restart does not forget
// it. If the store is closed, Take returns [ErrClosed].
func (s *tasks) Take(ctx context.Context) (task.Lease, error) {
	for {
		if err := ctx.Err(); err != nil {
			s.queue.passOn() // await may have taken the signal that a task waits
			return task.Lease{}, err
		}
		p, wait := s.queue.next()
		if p == nil {
			if err := s.queue.await(ctx, wait, s.closed); err != nil {
				return task.Lease{}, err
			}
			continue
		}
		lease, err := s.lease(p.id)
		switch {
		case err == nil:
			return lease, nil
		case !errors.Is(err, errNotWorking):
			s.queue.giveBack(p)
			return task.Lease{}, err
		}
	}
}

// lease records in the file that the task was taken, and notes the lease for the queue. The caller
// has reserved the task with next. After errNotWorking the queue has forgotten the task; after
// another error the caller gives it back.
func (s *tasks) lease(id string) (task.Lease, error) {
	l := task.Lease{Task: id, Token: rand.Text(), Life: s.queue.life}
	err := s.write(func(x *taskRows) error {
		k := x.get(id)
		if k == nil || k.state != stateWorking || !k.alive(x.t.now) {
			x.move(leaves, id, "")
			return errNotWorking
		}
		if l.Again = x.wasTaken(id); !l.Again {
			x.taken.put(taskKey(id), []byte{1})
		}
		x.move(taken, id, l.Token)
		return nil
	})
	return l, err
}

// Renew does not write to the file, because leases end with the process.
func (s *tasks) Renew(_ context.Context, l task.Lease) error {
	if err := s.working(l.Task); err != nil {
		return err
	}
	if !s.queue.renew(l.Task, l.Token) {
		return fmt.Errorf("boltstore: %w", task.ErrLost)
	}
	return nil
}

// working returns ErrLost if the task is not working. The queue may still contain an expired task.
func (s *tasks) working(id string) error {
	return s.file.view(func(t *txn) error {
		k, err := tasksIn(t, s.most).find(id)
		if errors.Is(err, task.ErrNotFound) || err == nil && k.state != stateWorking {
			return fmt.Errorf("boltstore: %w: it is no longer working", task.ErrLost)
		}
		return err
	})
}

// Release returns after the change is on the disk. If the lease is lost, it does nothing.
func (s *tasks) Release(_ context.Context, l task.Lease) error {
	if !s.queue.holds(l.Task, l.Token) { // most tasks have ended by now, so there is nothing to write
		return nil
	}
	return s.write(func(x *taskRows) error {
		if !s.queue.holds(l.Task, l.Token) {
			return nil
		}
		x.untake(l.Task)
		x.move(back, l.Task, l.Token)
		return nil
	})
}
