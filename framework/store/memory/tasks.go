package memory

import (
	"cmp"
	"container/heap"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/task"
)

// tasks is the task.Store and the task.Queue. It reads the time while mu is held, so that
// operations see times in the order they run. A stored record is replaced and never changed in
// place. Therefore it can be copied after mu is released.
//
// insert, replace and forget change a task and all its indexes together. The indexes are the expiry
// heap (ends), the queue of working tasks (queue), the owner's tasks, and the totals. A task that
// forget removes leaves a trace in gone, so that a list can continue after it.
type tasks struct {
	bounds Bounds

	mu     sync.Mutex // guards all below
	held   map[string]*taskEntry
	owners map[string]*taskOwner
	ends   expiryHeap[*taskEntry]
	queue  taskQueue
	over   heapOf[*taskOwner] // owners with terminal tasks; the owner with the most of them is first
	gone   goneTasks
	last   uint64 // number of the newest record
	bytes  int    // total size, including bookkeeping
	ended  int    // number of terminal tasks
	loose  int    // size of the terminal tasks
}

// Create copies the record.
func (s *tasks) Create(_ context.Context, r task.Record) error {
	r = plain(&r)
	r.Version = 1
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	if s.find(r.ID, now) != nil {
		return fmt.Errorf("memory: %w", task.ErrExists)
	}
	h := &taskEntry{record: &r, born: now.Add(-now.Round(0).Sub(r.Created))}
	if err := s.makeSpace(s.spaceFor(nil, &r), now); err != nil {
		return err
	}
	s.insert(h, now)
	return nil
}

// plain returns a copy without readings of the monotonic clock, as if it had come from the network.
func plain(r *task.Record) task.Record {
	c := r.Clone()
	c.Created, c.Updated = c.Created.Round(0), c.Updated.Round(0)
	return c
}

// Get returns a copy.
func (s *tasks) Get(_ context.Context, id string) (task.Record, error) {
	s.mu.Lock()
	h := s.find(id, s.now())
	if h == nil {
		s.mu.Unlock()
		return task.Record{}, fmt.Errorf("memory: %w", task.ErrNotFound)
	}
	r := h.record
	s.mu.Unlock()
	return r.Clone(), nil
}

// Update copies the record.
func (s *tasks) Update(_ context.Context, r task.Record) error {
	r = plain(&r)
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	h := s.find(r.ID, now)
	if h == nil {
		return fmt.Errorf("memory: %w", task.ErrNotFound)
	}
	if stored := h.record.Version; r.Version != stored {
		return fmt.Errorf("memory: %w: version %d, %d is stored", task.ErrConflict, r.Version, stored)
	}
	r.ID, r.Owner, r.Created = h.record.ID, h.record.Owner, h.record.Created
	r.Version++
	if err := s.makeSpace(s.spaceFor(h, &r), now); err != nil {
		return err
	}
	s.replace(h, &r, now)
	return nil
}

// Delete frees the space at once.
func (s *tasks) Delete(_ context.Context, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h := s.find(id, s.now()); h != nil {
		s.forget(h)
	}
	return nil
}

// List returns copies.
func (s *tasks) List(_ context.Context, owner, after string, limit int) ([]task.Record, error) {
	records := s.list(owner, after, limit)
	if len(records) == 0 {
		return nil, nil
	}
	out := make([]task.Record, len(records))
	for i, r := range records {
		out[i] = r.Clone()
	}
	return out, nil
}

func (s *tasks) list(owner, after string, limit int) []*task.Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	o, number := s.owners[owner], s.number(owner, after)
	if o == nil || number == unknown {
		return nil
	}
	var out []*task.Record
	for _, e := range o.after(number) {
		if len(out) >= limit {
			break
		}
		if e.task != nil && e.task.alive(now) {
			out = append(out, e.task.record)
		}
	}
	return out
}

// unknown is the number for an ID after which a list cannot continue.
const unknown = ^uint64(0)

// number returns the number of the record with this ID, or of its trace if the record is gone. For
// an empty ID it returns 0, which is before all records.
func (s *tasks) number(owner, id string) uint64 {
	if id == "" {
		return 0
	}
	if h := s.held[id]; h != nil {
		if h.record.Owner == owner {
			return h.number
		}
		return unknown
	}
	if g := s.gone.find(id); g != nil && g.owner == owner {
		return g.number
	}
	return unknown
}

// Count returns the number of the owner's tasks that have not ended. It releases the mutex
// repeatedly while it drops tasks that expired in a quiet hour.
func (s *tasks) Count(_ context.Context, owner string) (int, error) {
	for {
		if n, ok := s.working(owner); ok {
			return n, nil
		}
	}
}

// working counts the owner's tasks that are not terminal. If expired tasks may be among them, ok is
// false.
func (s *tasks) working(owner string) (n int, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	for range 32 * sweep {
		if !s.dropExpired(now) {
			if o := s.owners[owner]; o != nil {
				n = o.live - o.over.Len()
			}
			return n, true
		}
	}
	return 0, false
}

// now returns the current time, and drops up to sweep expired tasks.
func (s *tasks) now() time.Time { return sweptNow(s.dropExpired) }

// dropExpired drops the task that expired first. If no task has expired, it returns false.
func (s *tasks) dropExpired(now time.Time) bool {
	h, ok := s.ends.expired(now)
	if ok {
		s.forget(h)
	}
	return ok
}

// find returns the task, or nil. It removes the task if it has expired, and returns nil.
func (s *tasks) find(id string, now time.Time) *taskEntry {
	h := s.held[id]
	if h == nil || h.alive(now) {
		return h
	}
	s.forget(h)
	return nil
}

// insert stores a new task. The caller has made space for it.
func (s *tasks) insert(h *taskEntry, now time.Time) {
	if s.held == nil {
		s.held, s.owners = make(map[string]*taskEntry), make(map[string]*taskOwner)
	}
	r := h.record
	o := s.owners[r.Owner]
	if o == nil {
		o = &taskOwner{name: r.Owner}
		s.owners[r.Owner] = o
		s.bytes += ownerCost + len(o.name)
	}
	r.Owner = o.name // all tasks of an owner share one string
	s.last++
	h.number = s.last
	s.held[r.ID] = h
	o.add(h)
	s.reindex(h, now)
}

// replace stores another record for the same task.
func (s *tasks) replace(h *taskEntry, r *task.Record, now time.Time) {
	s.count(h, -1)
	h.record = r
	s.reindex(h, now)
}

// reindex updates the indexes for the task's status: the expiry heap, the queue of working tasks, and
// its owner's list of terminal tasks. It also adds the task to the totals.
func (s *tasks) reindex(h *taskEntry, now time.Time) {
	s.ends.set(h, h.expires())
	if h.record.Status == protocol.TaskWorking {
		s.queue.enter(h, now)
	} else {
		s.queue.leave(h)
	}
	o := s.owners[h.record.Owner]
	switch terminal := h.record.Terminal(); {
	case terminal && h.over == nil:
		h.over = o.over.PushBack(h)
	case !terminal && h.over != nil:
		o.over.Remove(h.over)
		h.over = nil
	}
	s.count(h, 1)
}

// count adds the task's size to the totals, multiplied by sign.
func (s *tasks) count(h *taskEntry, sign int) {
	s.bytes += sign * h.cost()
	o := s.owners[h.record.Owner]
	if h.over == nil {
		o.open += sign * h.cost()
		return
	}
	s.ended += sign
	s.loose += sign * h.cost()
	o.weight += sign * (h.cost() + taskWeight)
	switch {
	case o.weight == 0:
		heap.Remove(&s.over, o.rank-1)
	case o.rank == 0:
		heap.Push(&s.over, o)
	default:
		heap.Fix(&s.over, o.rank-1)
	}
}

// forget removes a task and leaves a trace of it.
func (s *tasks) forget(h *taskEntry) {
	r := h.record
	s.ends.remove(h)
	s.queue.leave(h)
	s.count(h, -1)
	delete(s.held, r.ID)
	o := s.owners[r.Owner]
	if h.over != nil {
		o.over.Remove(h.over)
		h.over = nil
	}
	if o.remove(h.number); o.live == 0 {
		delete(s.owners, o.name)
		s.bytes -= ownerCost + len(o.name)
	}
	s.bytes += s.gone.add(goneTask{id: r.ID, owner: r.Owner, number: h.number})
	for s.gone.len() > cmp.Or(s.bounds.TaskRecords/goneShare, 1) {
		s.bytes -= s.gone.dropOldest()
	}
}
