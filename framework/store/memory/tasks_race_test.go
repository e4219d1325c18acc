package memory_test

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/framework/store/memory"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/task"
)

// TestCancelRacesComplete: of each pair exactly one has its way, and both see which.
// In half of the pairs both have read the same version before either writes, so that
// one must meet a conflict.
func TestCancelRacesComplete(t *testing.T) {
	t.Parallel()
	pairs := 100_000
	if testing.Short() {
		pairs = 5_000
	}
	s := memory.New().Tasks()
	const rings = 2
	results := make([]raceResult, rings)
	var all sync.WaitGroup
	for ring := range rings {
		all.Go(func() { results[ring] = raceOn(t, s, fmt.Sprint("ring ", ring, " "), pairs/rings) })
	}
	all.Wait()
	var sum raceResult
	for _, r := range results {
		sum.cancelled += r.cancelled
		sum.completed += r.completed
		sum.conflicts += r.conflicts
	}
	t.Logf("%+v", sum)
	if sum.cancelled+sum.completed != pairs || sum.conflicts < pairs/2 {
		t.Errorf("%+v of %d pairs", sum, pairs)
	}
	if least := pairs / 100; sum.cancelled < least || sum.completed < least {
		t.Errorf("one has nearly always its way, that is no race: %+v", sum)
	}
}

type raceResult struct{ cancelled, completed, conflicts int }

// contender wants to end a task, and says what it saw in the end.
type contender struct {
	s         task.Store
	event     task.Event
	conflicts int
}

func (c *contender) end(t *testing.T, r task.Record) protocol.TaskStatus {
	for {
		next, err := task.Next(r, c.event, time.Now())
		if errors.Is(err, task.ErrTerminal) {
			return r.Status
		}
		if err != nil {
			t.Error(err)
			return ""
		}
		err = c.s.Update(t.Context(), next)
		if err == nil {
			return next.Status
		}
		if !errors.Is(err, task.ErrConflict) {
			t.Error(err)
			return ""
		}
		c.conflicts++
		r = get(t, c.s, r.ID)
	}
}

func get(t testing.TB, s task.Store, id string) task.Record {
	t.Helper()
	r, err := s.Get(t.Context(), id)
	if err != nil {
		t.Errorf("Get: %v", err)
	}
	return r
}

// raceOn runs pairs one after the other, each of two goroutines.
func raceOn(t *testing.T, s task.Store, prefix string, pairs int) raceResult {
	canceller := contender{s: s, event: task.Event{Kind: task.Cancel}}
	completer := contender{s: s, event: task.Event{Kind: task.Complete, Result: []byte(`{}`)}}
	tasks, saw := make(chan task.Record), make(chan protocol.TaskStatus)
	go func() {
		for r := range tasks {
			if r.Version == 0 { // it is to read it itself
				r = get(t, s, r.ID)
			}
			saw <- canceller.end(t, r)
		}
		close(saw)
	}()
	var sum raceResult
	for i := range pairs {
		r := record(fmt.Sprint(prefix, i))
		if err := s.Create(t.Context(), r); err != nil {
			t.Error(err)
		}
		given := r
		if i%2 == 0 {
			given = get(t, s, r.ID)
		}
		tasks <- given
		if i%4 < 2 { // the other one has to wake up first
			runtime.Gosched()
		}
		if i%2 == 1 {
			given = get(t, s, r.ID)
		}
		mine := completer.end(t, given)
		others := <-saw
		stored := get(t, s, r.ID)
		if mine != others || stored.Status != mine || stored.Version != 2 || stored.Validate() != nil {
			t.Fatalf("pair %d: %s and %s, stored is %+v", i, mine, others, stored)
		}
		if mine == protocol.TaskCancelled {
			sum.cancelled++
		} else {
			sum.completed++
		}
	}
	close(tasks)
	<-saw
	sum.conflicts = canceller.conflicts + completer.conflicts
	return sum
}
