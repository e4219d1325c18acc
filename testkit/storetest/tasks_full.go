package storetest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/task"
)

// TasksFull runs the suite for stores with two properties, in parallel. When they are full, they
// evict terminal tasks, and they limit the unfinished tasks of an owner to a share. open returns an
// empty store each time, and registers its cleanup with t.Cleanup. most and bytes bound the number
// and the size of the tasks, of all owners together or of each.
func TasksFull(t *testing.T, open func(t testing.TB, most, bytes int) task.Store, opts ...Option) {
	t.Helper()
	set := settle(opts)
	const roomy = 1 << 20
	tests := []struct {
		name, rule  string
		most, bytes int
		run         func(t *testing.T, s tasks)
	}{
		{"FirstEndedFirst", "Of the tasks of one owner, the one that ended first is dropped first.", 8, roomy, tasksFirstEnded},
		{"Number", "An owner with many terminal tasks does not evict the tasks of an owner with few.", 16, roomy, tasksManyEnded},
		{"Bytes", "An owner with large terminal tasks does not evict the tasks of an owner with small ones.", 1000, 64 << 10, tasksLargeEnded},
		{"Open", "An owner with large tasks that are not terminal leaves space for the tasks of others.", 1000, 64 << 10, tasksOpen},
		{"Growth", "A task that is not terminal can grow within its owner's share, and can always end.", 1000, 64 << 10, tasksGrow},
		{"Expiry", "An expired task does not count against its owner's share.", 1000, 64 << 10, tasksExpireOpen},
		{"Shares", "Owners with equally many terminal tasks have the same room.", 16, roomy, tasksSameEnded},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if set.advance == nil {
				t.Parallel()
			}
			told(t, tt.rule)
			tt.run(t, tasks{t, open(t, tt.most, tt.bytes), &clock{advance: set.advance}, set.now})
		})
	}
}

// end creates a task and completes it, with a result of the size.
func (s tasks) end(owner, id string, size int) {
	s.t.Helper()
	s.create(s.record(id, owner))
	s.change(id, func(r *task.Record) { r.Status, r.Result = protocol.TaskCompleted, make([]byte, size) })
}

// left returns the IDs of the tasks that still exist.
func (s tasks) left(format string, n int) (ids []string) {
	s.t.Helper()
	for i := range n {
		id := fmt.Sprintf(format, i)
		if _, ok := s.get(id); ok {
			ids = append(ids, id)
		}
	}
	return ids
}

func tasksFirstEnded(t *testing.T, s tasks) {
	for i := range 10 {
		s.create(s.record(fmt.Sprint("t", i), "x"))
		if i%2 == 0 {
			continue
		}
		for _, id := range []string{fmt.Sprint("t", i), fmt.Sprint("t", i-1)} { // the later one first
			s.change(id, func(r *task.Record) { r.Status = protocol.TaskFailed })
		}
	}
	if _, ok := s.get("t1"); ok {
		t.Error("t1, which ended first, is there")
	}
	if got := s.left("t%d", 10); len(got) < 6 || got[len(got)-2] != "t8" {
		t.Errorf("%q are left", got)
	}
}

func tasksManyEnded(t *testing.T, s tasks) {
	for i := range 3 {
		s.end("quiet", fmt.Sprint("quiet", i), 2000)
	}
	for i := range 60 {
		s.end("loud", fmt.Sprint("loud", i), 10)
	}
	s.end("", "nobody's", 10)
	s.wantList("quiet", "", 9, "quiet0", "quiet1", "quiet2")
	s.wantList("", "", 9, "nobody's")
	if got := s.left("loud%d", 60); len(got) == 0 || len(got) > 16 || got[len(got)-1] != "loud59" {
		t.Errorf("of the loud one %q are left", got)
	}
}

func tasksLargeEnded(t *testing.T, s tasks) {
	for i := range 6 {
		s.end("quiet", fmt.Sprint("quiet", i), 100)
	}
	for i := range 30 {
		s.end("loud", fmt.Sprint("loud", i), 12<<10)
	}
	if got := s.left("quiet%d", 6); len(got) != 6 {
		t.Errorf("of the quiet one %q are left", got)
	}
	if got := s.left("loud%d", 30); len(got) < 2 || len(got) > 6 || got[len(got)-1] != "loud29" {
		t.Errorf("of the loud one %q are left", got)
	}
}

func tasksSameEnded(t *testing.T, s tasks) {
	for i := range 40 {
		s.end("a", fmt.Sprint("a", i), 10)
		s.end("b", fmt.Sprint("b", i), 10)
	}
	for _, format := range []string{"a%d", "b%d"} {
		if got := s.left(format, 40); len(got) < 7 || len(got) > 16 {
			t.Errorf("%q are left", got)
		}
	}
}

// crowd creates tasks of an owner with calls of the size, until the store refuses one. It returns
// the number of tasks that it created.
func (s tasks) crowd(owner string, size int) (n int) {
	s.t.Helper()
	for ; n < 100; n++ {
		r := s.record(fmt.Sprint(owner, n), owner)
		r.Call = make([]byte, size)
		err := s.store.Create(s.t.Context(), r)
		if errors.Is(err, task.ErrFull) {
			return n
		}
		if err != nil {
			s.t.Fatal(err)
		}
	}
	return n
}

func tasksOpen(t *testing.T, s tasks) {
	most := s.crowd("loud", 4<<10)
	if most < 5 || most > 16 {
		t.Fatalf("one owner has %d tasks of 4 KiB in 64 KiB", most)
	}
	if n := s.crowd("quiet", 4<<10); n < 2 {
		t.Errorf("another one has %d", n)
	}
	s.create(s.record("third", "third"))
	for i := range most {
		s.change(fmt.Sprint("loud", i), func(r *task.Record) { r.Status = protocol.TaskCancelled })
	}
	again := s.record("again", "loud")
	again.Call = make([]byte, 4<<10)
	s.create(again) // ended tasks are not counted
	if err := s.store.Delete(t.Context(), "again"); err != nil {
		t.Error(err)
	}
	s.create(again)
}

func tasksGrow(t *testing.T, s tasks) {
	s.create(s.record("grows", "loud"))
	s.create(s.record("other", "loud"))
	s.change("grows", func(r *task.Record) { r.Journal = make([]byte, 24<<10) })
	for _, status := range []protocol.TaskStatus{protocol.TaskWorking, protocol.TaskInputRequired} {
		r, _ := s.get("other")
		r.Status, r.Journal = status, make([]byte, 48<<10)
		if err := s.store.Update(t.Context(), r); !errors.Is(err, task.ErrFull) {
			t.Errorf("%s, and with a larger journal than there is room for: %v", status, err)
		}
	}
	s.change("grows", func(r *task.Record) { r.Message = "" }) // the record does not grow
	s.change("other", func(r *task.Record) { r.Status, r.Result = protocol.TaskCompleted, make([]byte, 24<<10) })
	s.change("grows", func(r *task.Record) { r.Status, r.Result = protocol.TaskCompleted, make([]byte, 24<<10) })
	s.create(s.record("new", "loud"))
}

func tasksExpireOpen(t *testing.T, s tasks) {
	create := func(id string, ttl time.Duration) error {
		r := s.record(id, "x")
		r.TTL, r.Call = ttl, make([]byte, 28<<10)
		return s.store.Create(t.Context(), r)
	}
	m := s.clock.young(t, func(key string, life time.Duration) error { return create(key, life) })
	s.clock.end(t, m, func() bool {
		err := create("next", time.Hour)
		if err != nil && !errors.Is(err, task.ErrFull) {
			t.Fatal(err)
		}
		return err == nil
	})
}
