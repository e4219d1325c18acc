package storetest_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/framework/store/memory"
	"github.com/kagami-mcp/kagami/protocol/task"
	"github.com/kagami-mcp/kagami/testkit/storetest"
)

func TestTasks(t *testing.T) {
	t.Parallel()
	storetest.Tasks(t, func(testing.TB) task.Store { return memory.New().Tasks() }, nil, storetest.Now(nil))
}

// TestTasksClock: a store whose time stands still passes, and not by waiting.
func TestTasksClock(t *testing.T) {
	t.Parallel()
	var opened *stillTasks
	open := func(testing.TB) task.Store {
		opened = &stillTasks{now: time.Date(1999, 12, 31, 23, 59, 59, 0, time.UTC)}
		return opened
	}
	advanced := time.Duration(0)
	advance := storetest.Clock(func(d time.Duration) {
		opened.now = opened.now.Add(d)
		advanced += d
	})
	storetest.Tasks(t, open, advance, storetest.Now(func() time.Time { return opened.now }))
	if advanced < time.Minute {
		t.Errorf("the clock was advanced by %v only", advanced)
	}
}

// stillTasks is the simplest store: it keeps what is gone, too.
type stillTasks struct {
	now time.Time

	mu   sync.Mutex // guards kept
	kept []stillTask
}

type stillTask struct {
	task.Record
	deleted bool
}

func (s *stillTasks) alive(k *stillTask) bool {
	return !k.deleted && (k.TTL == 0 || s.now.Before(k.Expires()))
}

func (s *stillTasks) find(id string) *stillTask {
	for i := range s.kept {
		if k := &s.kept[i]; k.ID == id && s.alive(k) {
			return k
		}
	}
	return nil
}

func (s *stillTasks) Create(_ context.Context, r task.Record) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.find(r.ID) != nil {
		return task.ErrExists
	}
	r = r.Clone()
	r.Version = 1
	s.kept = append(s.kept, stillTask{Record: r})
	return nil
}

func (s *stillTasks) Get(_ context.Context, id string) (task.Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if k := s.find(id); k != nil {
		return k.Clone(), nil
	}
	return task.Record{}, task.ErrNotFound
}

func (s *stillTasks) Update(_ context.Context, r task.Record) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.find(r.ID)
	if k == nil {
		return task.ErrNotFound
	}
	if k.Version != r.Version {
		return task.ErrConflict
	}
	owner, created := k.Owner, k.Created
	k.Record = r.Clone()
	k.Owner, k.Created = owner, created
	k.Version++
	return nil
}

func (s *stillTasks) Delete(_ context.Context, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if k := s.find(id); k != nil {
		k.deleted = true
	}
	return nil
}

func (s *stillTasks) List(_ context.Context, owner, after string, limit int) ([]task.Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := 0
	if after != "" {
		for i, k := range slices.Backward(s.kept) { // the newest with that id
			if k.ID == after && k.Owner == owner {
				first = i + 1
				break
			}
		}
		if first == 0 {
			return nil, nil
		}
	}
	var out []task.Record
	for i := first; i < len(s.kept) && len(out) < limit; i++ {
		if k := &s.kept[i]; k.Owner == owner && s.alive(k) {
			out = append(out, k.Clone())
		}
	}
	return out, nil
}

func (s *stillTasks) Count(_ context.Context, owner string) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for i := range s.kept {
		if k := &s.kept[i]; k.Owner == owner && s.alive(k) && !k.Terminal() {
			n++
		}
	}
	return n, nil
}
