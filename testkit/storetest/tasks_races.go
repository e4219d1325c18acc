package storetest

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/task"
)

// only returns the index of the only element that is true. If there is not exactly one, it ends the
// test.
func only(t testing.TB, won []bool) int {
	t.Helper()
	winner, n := -1, 0
	for i, one := range won {
		if one {
			winner, n = i, n+1
		}
	}
	if n != 1 {
		t.Fatalf("%d of %d have won, want exactly one", n, len(won))
	}
	return winner
}

func tasksCreateRace(t *testing.T, s tasks) {
	for round := range 10 {
		id := fmt.Sprint("task ", round)
		var won [racers]bool
		race(func(i int) {
			r := s.record(id, fmt.Sprint("owner ", i))
			err := s.store.Create(t.Context(), r)
			if won[i] = err == nil; err != nil && !errors.Is(err, task.ErrExists) {
				t.Errorf("Create: %v", err)
			}
		})
		winner := only(t, won[:])
		for i := range racers {
			owner := fmt.Sprint("owner ", i)
			want := 0
			if i == winner {
				want = 1
			}
			if list := ids(s.list(owner, "", 9)); len(list) != want || want == 1 && list[0] != id {
				t.Errorf("%s of %d has %q, %d has won", owner, racers, list, winner)
			}
			s.wantCount(owner, want)
		}
		s.remove(id)
	}
}

// tasksUpdateRace: if several goroutines have read the same version, exactly one writes the next.
func tasksUpdateRace(t *testing.T, s tasks) {
	s.fill("x", "a")
	for round := range uint64(20) {
		r, _ := s.get("a")
		if r.Version != round+1 {
			t.Fatalf("version %d in round %d", r.Version, round)
		}
		var won [racers]bool
		race(func(i int) {
			mine := r.Clone()
			mine.Journal = fmt.Append(nil, round, " by ", i)
			err := s.store.Update(t.Context(), mine)
			if won[i] = err == nil; err != nil && !errors.Is(err, task.ErrConflict) {
				t.Errorf("Update: %v", err)
			}
		})
		winner := only(t, won[:])
		got, _ := s.get("a")
		if want := fmt.Sprint(round, " by ", winner); string(got.Journal) != want {
			t.Errorf("%q is stored, %q has won", got.Journal, want)
		}
	}
}

// tasksRetryRace: no change is lost if each goroutine tries again until it succeeds.
func tasksRetryRace(t *testing.T, s tasks) {
	s.fill("x", "a")
	var wrote [racers]uint64 // the version that it made
	race(func(i int) {
		for tries := 0; wrote[i] == 0; tries++ {
			if tries > racers {
				t.Errorf("%d conflicts, there are %d others", tries, racers-1)
				return
			}
			r, _ := s.get("a")
			r.Journal = append(r.Journal, byte(i))
			switch err := s.store.Update(t.Context(), r); {
			case err == nil:
				wrote[i] = r.Version + 1
			case !errors.Is(err, task.ErrConflict):
				t.Errorf("Update: %v", err)
				return
			}
		}
	})
	r, _ := s.get("a")
	if r.Version != racers+1 || len(r.Journal) != racers {
		t.Fatalf("version %d, %d entries; want %d and %d", r.Version, len(r.Journal), racers+1, racers)
	}
	for at, i := range r.Journal {
		if int(i) >= racers || wrote[i] != uint64(at)+2 {
			t.Fatalf("entry %d is %d's, who wrote version %d", at, i, wrote[min(int(i), racers-1)])
		}
	}
}

// tasksEndRace: all goroutines that try to end a task see the same end.
func tasksEndRace(t *testing.T, s tasks) {
	events := []task.Event{
		{Kind: task.Cancel},
		{Kind: task.Complete, Result: []byte(`{}`)},
		{Kind: task.Fail, Error: []byte(`{}`)},
		{Kind: task.Progress, Message: "still here"},
		{Kind: task.Resume},
	}
	for round := range 10 {
		id := fmt.Sprint("task ", round)
		s.fill("x", id)
		var saw [racers]protocol.TaskStatus
		race(func(i int) { saw[i] = s.until(id, events[i%len(events)]) })
		r, _ := s.get(id)
		for i := range racers {
			if e := events[i%len(events)]; saw[i] != r.Status && (e.Kind != task.Progress && e.Kind != task.Resume) {
				t.Errorf("it is %s, %d saw %s", r.Status, i, saw[i])
			}
		}
		if err := r.Validate(); err != nil || !r.Terminal() {
			t.Errorf("%s: %v", r.Status, err)
		}
	}
	s.wantCount("x", 0)
}

// until applies the event to the task, and returns the task's status. If the task has already
// ended, it returns that status. Each conflict is the update of another racer.
func (s tasks) until(id string, e task.Event) protocol.TaskStatus {
	s.t.Helper()
	for range racers {
		r, _ := s.get(id)
		next, err := task.Next(r, e, s.now())
		if err != nil {
			if !errors.Is(err, task.ErrTerminal) {
				s.t.Errorf("Next: %v", err)
			}
			return r.Status
		}
		err = s.store.Update(s.t.Context(), next)
		if err == nil {
			return next.Status
		}
		if !errors.Is(err, task.ErrConflict) {
			s.t.Errorf("Update: %v", err)
			return ""
		}
	}
	s.t.Errorf("%d conflicts of %d racers", racers, racers)
	return ""
}

// tasksListRace: while tasks come, change and go, a list is in order and contains each task that
// stays.
func tasksListRace(t *testing.T, s tasks) {
	const workers, each = 4, 20
	var all sync.WaitGroup
	s.fill("x", "first", "second")
	for w := range workers {
		all.Go(func() {
			for i := range each {
				s.comeAndGo(fmt.Sprint(w, " made ", i), i%2 == 0)
				if n := s.count("x"); n < 2 || n > 2+workers {
					t.Errorf("Count = %d", n)
				}
			}
		})
	}
	all.Wait()
	if n := len(s.list("x", "", math.MaxInt)); n != 2+workers*each/2 {
		t.Errorf("%d are left", n)
	}
	s.wantCount("x", 2)
}

// comeAndGo creates a task, ends it, may delete it, and lists the tasks after the first and after
// the second.
func (s tasks) comeAndGo(id string, remove bool) {
	s.t.Helper()
	s.fill("x", id)
	s.change(id, func(r *task.Record) { r.Status = protocol.TaskCompleted })
	if remove {
		s.remove(id)
	}
	list := ids(s.list("x", "", math.MaxInt))
	if len(list) < 2 || list[0] != "first" || list[1] != "second" {
		s.t.Errorf("the list begins otherwise: %q", list)
	}
	if at := slices.Index(list, id); (at >= 0) == remove {
		s.t.Errorf("%s is at %d, removed: %v", id, at, remove)
	}
}
