package boltstore_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kagami-mcp/kagami/framework/store/boltstore"
	"github.com/kagami-mcp/kagami/framework/store/memory"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/claim"
	"github.com/kagami-mcp/kagami/protocol/eventlog"
	"github.com/kagami-mcp/kagami/protocol/session"
	"github.com/kagami-mcp/kagami/protocol/task"
)

// TestTaskRecords: those that ended go first, in that order; others are kept.
func TestTaskRecords(t *testing.T) {
	t.Parallel()
	s := open(t, boltstore.Sized(memory.Bounds{TaskRecords: 4}))
	tasks := s.Tasks()
	creates(t, tasks, "a", "b", "c", "d")
	if err := tasks.Create(t.Context(), working("e")); !errors.Is(err, boltstore.ErrFull) {
		t.Errorf("a fifth: %v", err)
	}
	turns(t, tasks, "c", protocol.TaskCompleted)
	turns(t, tasks, "a", protocol.TaskFailed)
	creates(t, tasks, "e")
	if _, err := tasks.Get(t.Context(), "c"); !errors.Is(err, task.ErrNotFound) {
		t.Errorf("c, which ended first: %v", err)
	}
	if _, err := tasks.Get(t.Context(), "a"); err != nil {
		t.Errorf("a, which ended then: %v", err)
	}
	creates(t, tasks, "f")
	if err := tasks.Create(t.Context(), working("g")); !errors.Is(err, boltstore.ErrFull) {
		t.Errorf("one more: %v", err)
	}
	turns(t, tasks, "b", protocol.TaskInputRequired) // what is there may change
	if err := boltstore.Verify(s); err != nil {
		t.Error(err)
	}
}

// TestTaskBytes: one that grows pushes those that ended, and not itself.
func TestTaskBytes(t *testing.T) {
	t.Parallel()
	s := open(t, boltstore.Sized(memory.Bounds{TaskBytes: 100 << 10}))
	tasks, ctx := s.Tasks(), t.Context()
	creates(t, tasks, "a", "b")
	grow := func(id string, status protocol.TaskStatus, size int) error {
		r, err := tasks.Get(ctx, id)
		if err != nil {
			return err
		}
		r.Status, r.Call = status, make([]byte, size)
		return tasks.Update(ctx, r)
	}
	if err := errors.Join(grow("a", protocol.TaskCompleted, 60<<10), grow("a", protocol.TaskCompleted, 90<<10)); err != nil {
		t.Error(err)
	}
	if err := grow("a", protocol.TaskCompleted, 110<<10); !errors.Is(err, boltstore.ErrFull) {
		t.Errorf("more than all: %v", err)
	}
	if _, err := tasks.Get(ctx, "a"); err != nil {
		t.Errorf("a, which did not fit: %v", err)
	}
	if err := grow("b", protocol.TaskWorking, 40<<10); err != nil {
		t.Error(err)
	}
	if _, err := tasks.Get(ctx, "a"); !errors.Is(err, task.ErrNotFound) {
		t.Errorf("a, which was over: %v", err)
	}
	if err := boltstore.Verify(s); err != nil {
		t.Error(err)
	}
}

func TestClaimAndSessionBounds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := open(t, boltstore.Sized(memory.Bounds{ClaimEntries: 2, SessionRecords: 2, SessionBytes: 2000, ClaimBytes: 2000}))
		claims, sessions, ctx := s.Claims(), s.Sessions(), t.Context()
		_, _, err := claims.Claim(ctx, "a", []byte("a"), time.Hour)
		_, errAdd := claims.Add(ctx, "b", 1, 50*time.Millisecond)
		if err := errors.Join(err, errAdd, sessions.Create(ctx, session.Record{ID: "a"}),
			sessions.Create(ctx, session.Record{ID: "b", Expires: time.Now().Add(50 * time.Millisecond)})); err != nil {
			t.Fatal(err)
		}
		if _, mine, err := claims.Claim(ctx, "c", nil, time.Hour); mine || !errors.Is(err, claim.ErrFull) {
			t.Errorf("a third claim: %v, %v", mine, err)
		}
		if err := sessions.Create(ctx, session.Record{ID: "c"}); !errors.Is(err, session.ErrFull) {
			t.Errorf("a third session: %v", err)
		}
		if swapped, err := claims.Swap(ctx, "a", []byte("a"), []byte("b"), time.Hour); !swapped || err != nil {
			t.Errorf("renewing in a full store: %v, %v", swapped, err)
		}
		if swapped, err := claims.Swap(ctx, "a", []byte("b"), make([]byte, 3000), time.Hour); swapped || !errors.Is(err, claim.ErrFull) {
			t.Errorf("a value that is larger than all: %v, %v", swapped, err)
		}
		if err := sessions.Update(ctx, session.Record{ID: "a", Version: 1, Data: make([]byte, 3000)}); !errors.Is(err, session.ErrFull) {
			t.Errorf("data larger than all: %v", err)
		}
		time.Sleep(60 * time.Millisecond) // b expires
		if _, mine, err := claims.Claim(ctx, "c", nil, time.Hour); !mine || err != nil {
			t.Errorf("a claim in the place of an expired one: %v, %v", mine, err)
		}
		if err := sessions.Create(ctx, session.Record{ID: "c"}); err != nil {
			t.Errorf("a session in the place of an expired one: %v", err)
		}
		if err := boltstore.Verify(s); err != nil {
			t.Error(err)
		}
	})
}

// TestLargeClaimsLeaveRoom: large values leave a quarter of the room to small ones.
func TestLargeClaimsLeaveRoom(t *testing.T) {
	t.Parallel()
	s := open(t, boltstore.Sized(memory.Bounds{ClaimBytes: 20_000}))
	claims, ctx, large := s.Claims(), t.Context(), make([]byte, 4000)
	n := 0
	for ; ; n++ {
		_, mine, err := claims.Claim(ctx, fmt.Sprint("large ", n), large, time.Hour)
		if errors.Is(err, claim.ErrFull) {
			break
		} else if !mine || err != nil {
			t.Fatal(mine, err)
		}
	}
	for i := range 20 {
		if _, mine, err := claims.Claim(ctx, fmt.Sprint("small ", i), []byte("x"), time.Hour); !mine || err != nil {
			t.Errorf("small claim %d beside %d large ones: %v, %v", i, n, mine, err)
		}
	}
	if swapped, err := claims.Swap(ctx, "large 0", large, large, time.Hour); !swapped || err != nil {
		t.Errorf("renewing a large one: %v, %v", swapped, err)
	}
	if swapped, err := claims.Swap(ctx, "small 0", []byte("x"), large, time.Hour); swapped || !errors.Is(err, claim.ErrFull) {
		t.Errorf("a small one becomes large: %v, %v", swapped, err)
	}
}

// TestFarEnds: lives of centuries, and sums at their ends.
func TestFarEnds(t *testing.T) {
	t.Parallel()
	s, ctx := open(t), t.Context()
	if sum, err := s.Claims().Add(ctx, "k", math.MaxInt64, math.MaxInt64); sum != math.MaxInt64 || err != nil {
		t.Errorf("Add: %d, %v", sum, err)
	}
	if sum, err := s.Claims().Add(ctx, "k", 1, time.Hour); err == nil {
		t.Errorf("a sum that is too large is %d", sum)
	}
	if sum, err := s.Claims().Add(ctx, "k", -1, time.Hour); sum != math.MaxInt64-1 || err != nil {
		t.Errorf("Add: %d, %v", sum, err)
	}
	for i, end := range []time.Time{time.Unix(1<<40, 0), time.Unix(-1<<40, 0)} {
		id := fmt.Sprint(i)
		if err := s.Sessions().Create(ctx, session.Record{ID: id, Expires: end}); err != nil {
			t.Error(err)
		}
		if _, err := s.Sessions().Get(ctx, id); errors.Is(err, session.ErrNotFound) != end.Before(time.Now()) {
			t.Errorf("a session until %v: %v", end, err)
		}
	}
	if err := boltstore.Verify(s); err != nil {
		t.Error(err)
	}
}

func TestEventBounds(t *testing.T) {
	t.Parallel()
	s := open(t, boltstore.Sized(memory.Bounds{StreamEvents: 3, StreamBytes: 1000, TotalBytes: 4000}))
	e, ctx := s.Events(), t.Context()
	appends := func(stream string, size int) uint64 {
		t.Helper()
		seq, err := e.Append(ctx, stream, make([]byte, size))
		if err != nil {
			t.Fatal(err)
		}
		if err := boltstore.Verify(s); err != nil {
			t.Fatal(err)
		}
		return seq
	}
	has := func(stream string, after uint64, n int) {
		t.Helper()
		events, err := e.After(ctx, stream, after)
		if n < 0 && !errors.Is(err, eventlog.ErrExpired) || n >= 0 && (err != nil || len(events) != n) {
			t.Errorf("%s after %d: %d events, %v; want %d", stream, after, len(events), err, n)
		}
	}
	for range 5 {
		appends("a", 10)
	}
	has("a", 1, -1)
	has("a", 2, 3)
	appends("a", 995)
	has("a", 4, -1)
	has("a", 5, 1)
	appends("a", 2000) // larger than a stream may be
	has("a", 6, 1)
	appends("b", 900)
	appends("c", 900) // the total is full: a was longest without a new one
	has("a", 6, -1)
	has("a", 7, 0)
	has("b", 0, 1)
	if seq := appends("a", 10); seq != 8 {
		t.Errorf("a goes on with number %d", seq)
	}
	if seq := appends("a", 5000); seq != 9 { // larger than everything may be
		t.Errorf("number %d", seq)
	}
	has("a", 8, -1)
	has("a", 9, 0)
	has("b", 0, 1)
	for i := range 100 {
		appends(fmt.Sprint("stream ", i), 10)
	}
	has("a", 9, -1) // the number, too
}

// TestEventsModel: nothing contradicts itself whatever happens, also after a restart.
func TestEventsModel(t *testing.T) {
	t.Parallel()
	path, random := filepath.Join(t.TempDir(), "store"), rand.New(rand.NewPCG(3, 4))
	opts := []boltstore.Option{boltstore.Sized(memory.Bounds{StreamEvents: 20, StreamBytes: 5000, TotalBytes: 20000})}
	s := reopen(t, path, opts...)
	last := map[string]uint64{}
	for i := range 3000 {
		name := fmt.Sprint("stream ", random.IntN(30))
		if random.IntN(20) == 0 {
			if err := s.Events().Drop(t.Context(), name); err != nil {
				t.Fatal(err)
			}
			delete(last, name)
		}
		seq, err := s.Events().Append(t.Context(), name, make([]byte, random.IntN(1<<random.IntN(14))))
		if err != nil || seq != last[name]+1 && seq != 1 {
			t.Fatalf("%s: number %d after %d, %v", name, seq, last[name], err)
		}
		last[name] = seq
		if i%300 == 0 {
			closes(t, s)
			s = reopen(t, path, opts...)
			if err := boltstore.Verify(s); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestTasksModel: the buckets of a store that is full, whose tasks end, expire and go,
// agree; so they do after a restart.
func TestTasksModel(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store")
	opts := []boltstore.Option{boltstore.Sized(memory.Bounds{TaskRecords: 40, TaskBytes: 60 << 10, LeaseLife: 10 * time.Millisecond})}
	for round := range 5 {
		s := reopen(t, path, opts...)
		var all sync.WaitGroup
		for w := range 8 {
			all.Go(func() { anything(t, s, rand.New(rand.NewPCG(uint64(round), uint64(w)))) })
		}
		all.Wait()
		if err := boltstore.Verify(s); err != nil {
			t.Fatal(err)
		}
		closes(t, s)
	}
}

// anything happens to tasks. Full, gone and changed by another is what is expected.
func anything(t *testing.T, s *boltstore.Store, random *rand.Rand) {
	q, ctx := queue(s), t.Context()
	statuses := []protocol.TaskStatus{protocol.TaskWorking, protocol.TaskInputRequired, protocol.TaskCompleted, protocol.TaskFailed}
	for range 150 {
		id := fmt.Sprint("task ", random.IntN(80))
		var err error
		switch random.IntN(6) {
		case 0, 1:
			r := working(id)
			r.Owner = strings.Repeat("x", random.IntN(3))
			r.TTL = []time.Duration{0, time.Hour, 30 * time.Millisecond}[random.IntN(3)]
			err = q.Create(ctx, r)
		case 2, 3:
			var r task.Record
			if r, err = q.Get(ctx, id); err == nil {
				r.Status, r.Call = statuses[random.IntN(4)], make([]byte, random.IntN(5000))
				err = q.Update(ctx, r)
			}
		case 4:
			err = q.Delete(ctx, id)
		default:
			err = takeBriefly(ctx, q, random.IntN(2) == 0)
		}
		for _, ok := range []error{boltstore.ErrFull, task.ErrExists, task.ErrNotFound, task.ErrConflict, context.DeadlineExceeded} {
			if errors.Is(err, ok) {
				err = nil
			}
		}
		if err != nil {
			t.Error(err)
		}
	}
}

func takeBriefly(ctx context.Context, q task.Queue, release bool) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Millisecond)
	defer cancel()
	l, err := q.Take(ctx)
	if err == nil && release {
		err = q.Release(ctx, l)
	}
	return err
}

// TestExpireInTheQuiet: what expired in a quiet time goes a few at a time, and is not
// seen before.
func TestExpireInTheQuiet(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store")
	synctest.Test(t, func(t *testing.T) {
		s, err := boltstore.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 50 {
			creates(t, s.Tasks(), fmt.Sprint(i))
		}
		time.Sleep(2 * time.Hour)
		if n, err := s.Tasks().Count(t.Context(), "owner"); n != 0 || err != nil {
			t.Errorf("Count = %d, %v", n, err)
		}
		if list, err := s.Tasks().List(t.Context(), "owner", "", 99); len(list) != 0 || err != nil {
			t.Errorf("List: %d, %v", len(list), err)
		}
		for i := range 10 {
			creates(t, s.Tasks(), fmt.Sprint("new ", i))
		}
		if n := boltstore.Rows(s); n != 30 { // a row, an end and a place in the list for each
			t.Errorf("%d are left", n)
		}
		if err := errors.Join(boltstore.Verify(s), s.Close()); err != nil {
			t.Error(err)
		}
	})
}

// TestLifeOfALease is exact by the clock of the test.
func TestLifeOfALease(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store")
	synctest.Test(t, func(t *testing.T) {
		s, err := boltstore.Open(path, boltstore.Sized(memory.Bounds{LeaseLife: time.Minute}))
		if err != nil {
			t.Fatal(err)
		}
		q := queue(s)
		creates(t, q, "a")
		old := takesIn(t, q, 0)
		time.Sleep(59 * time.Second)
		if err := q.Renew(t.Context(), old); err != nil {
			t.Error(err)
		}
		next := takesIn(t, q, time.Minute)
		if !next.Again || next.Task != "a" {
			t.Errorf("%+v", next)
		}
		if err := q.Renew(t.Context(), old); !errors.Is(err, task.ErrLost) {
			t.Errorf("renewing what somebody else has: %v", err)
		}
		time.Sleep(2 * time.Minute)
		if err := q.Renew(t.Context(), next); err != nil {
			t.Errorf("renewing what ran out and nobody has taken: %v", err)
		}
		takesIn(t, q, time.Minute)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

// ending is a context whose end is visible in Err before Done is closed, as in the moment in
// which any context ends.
type ending struct {
	context.Context
	over atomic.Bool
}

func (e *ending) Err() error {
	if e.over.Load() {
		return context.Canceled
	}
	return nil
}

// TestTakeEndsAsATaskComes: a Take that ends when a task has just woken it leaves the task to
// another one that waits, at once and not when a lease could have expired.
func TestTakeEndsAsATaskComes(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store")
	synctest.Test(t, func(t *testing.T) {
		s, err := boltstore.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		q, over := queue(s), &ending{Context: t.Context()}
		ended, taken := make(chan error, 1), make(chan time.Duration, 1)
		go func() {
			_, err := q.Take(over)
			ended <- err
		}()
		synctest.Wait()
		start := time.Now()
		go func() {
			if _, err := q.Take(t.Context()); err != nil {
				t.Errorf("the other Take: %v", err)
			}
			taken <- time.Since(start)
		}()
		synctest.Wait()
		over.over.Store(true)
		creates(t, q, "a")
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("the Take that ended: %v", err)
		}
		if waited := <-taken; waited != 0 {
			t.Errorf("the other Take got the task after %v", waited)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

func takesIn(t *testing.T, q task.Queue, want time.Duration) task.Lease {
	t.Helper()
	start := time.Now()
	l, err := q.Take(t.Context())
	if waited := time.Since(start); err != nil || waited != want {
		t.Errorf("Take: %v after %v, want %v", err, waited, want)
	}
	return l
}
