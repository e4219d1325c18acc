package memory_test

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
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

// bout is one pair's: both begin when both are there.
type bout struct {
	task  task.Record
	stale bool // both have read it before
	there atomic.Int32
}

// end is what one of both sees in the end, and how many conflicts it met.
func (b *bout) end(t *testing.T, s task.Store, e task.Event) (protocol.TaskStatus, int) {
	r := b.task
	for b.there.Add(1); b.there.Load() < 2; {
		runtime.Gosched()
	}
	if !b.stale {
		r = get(t, s, r.ID)
	}
	for conflicts := 0; ; conflicts++ {
		next, err := task.Next(r, e, time.Now())
		if errors.Is(err, task.ErrTerminal) {
			return r.Status, conflicts
		}
		if err == nil {
			err = s.Update(t.Context(), next)
		}
		if err == nil {
			return next.Status, conflicts
		}
		if !errors.Is(err, task.ErrConflict) {
			t.Error(err)
			return "", conflicts
		}
		r = get(t, s, r.ID)
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

// raceOn runs pairs one after the other, each of two goroutines, which take turns
// in what they want.
func raceOn(t *testing.T, s task.Store, prefix string, pairs int) raceResult {
	type view struct {
		status    protocol.TaskStatus
		conflicts int
	}
	events := [2]task.Event{{Kind: task.Cancel}, {Kind: task.Complete, Result: []byte(`{}`)}}
	bouts, views := make(chan *bout), make(chan view)
	defer close(bouts)
	go func() {
		i := 0
		for b := range bouts {
			status, conflicts := b.end(t, s, events[i/2%2])
			views <- view{status, conflicts}
			i++
		}
	}()
	var sum raceResult
	for i := range pairs {
		id := fmt.Sprint(prefix, i)
		begin(t, s, id)
		b := &bout{task: get(t, s, id), stale: i/4%2 == 0}
		bouts <- b
		mine, conflicts := b.end(t, s, events[1-i/2%2])
		other := <-views
		stored := get(t, s, id)
		if mine != other.status || stored.Status != mine || stored.Version != 2 || stored.Validate() != nil {
			t.Errorf("pair %d: %s and %s, stored is %s", i, mine, other.status, stored.Status)
			return sum
		}
		if mine == protocol.TaskCancelled {
			sum.cancelled++
		} else {
			sum.completed++
		}
		sum.conflicts += conflicts + other.conflicts
	}
	return sum
}
