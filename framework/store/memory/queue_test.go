package memory_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kagami-mcp/kagami/framework/store/memory"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/task"
	"github.com/kagami-mcp/kagami/testkit/storetest"
)

func queue(life time.Duration) storetest.QueueStore {
	return memory.Sized(memory.Bounds{LeaseLife: life}).Tasks().(storetest.QueueStore)
}

func TestQueue(t *testing.T) {
	t.Parallel()
	storetest.Queue(t, func(_ testing.TB, life time.Duration) (a, b storetest.QueueStore) {
		s := queue(life)
		return s, s
	})
}

// leased takes what must be there.
func leased(t testing.TB, q storetest.QueueStore, id string, again bool) task.Lease {
	t.Helper()
	l, err := q.Take(t.Context())
	if err != nil || l.Task != id || l.Again != again {
		t.Errorf("Take: %q, again %v, %v; want %q, again %v", l.Task, l.Again, err, id, again)
	}
	return l
}

// A lease is over when its life is, and not a nanosecond before.
func TestLeaseLifeIsExact(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name        string
		bound, life time.Duration
	}{
		{"none", 0, 30 * time.Second},
		{"negative", -1, 30 * time.Second},
		{"short", time.Nanosecond, time.Nanosecond},
		{"long", 1000 * time.Hour, 1000 * time.Hour},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				q := queue(tt.bound)
				r := record("a")
				r.TTL = 0
				if err := q.Create(t.Context(), r); err != nil {
					t.Fatal(err)
				}
				start := time.Now()
				first := leased(t, q, "a", false)
				second := leased(t, q, "a", true)
				if age := time.Since(start); age != tt.life || first.Life != tt.life {
					t.Errorf("a lease of %v was over after %v", first.Life, age)
				}
				time.Sleep(tt.life / 2)
				if err := q.Renew(t.Context(), second); err != nil {
					t.Error(err)
				}
				start = time.Now()
				leased(t, q, "a", true)
				if age := time.Since(start); age != tt.life {
					t.Errorf("renewed, it was over after %v", age)
				}
				if err := q.Renew(t.Context(), second); !errors.Is(err, task.ErrLost) {
					t.Errorf("Renew: %v", err)
				}
			})
		})
	}
}

// A worker can renew an expired lease if no other worker has taken the task.
func TestRenewAfterTheEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := queue(time.Second)
		begin(t, q, "a", "b")
		a, b := leased(t, q, "a", false), leased(t, q, "b", false)
		time.Sleep(time.Minute)
		if err := q.Renew(t.Context(), a); err != nil {
			t.Errorf("Renew: %v", err)
		}
		if err := q.Release(t.Context(), b); err != nil {
			t.Errorf("Release: %v", err)
		}
		leased(t, q, "b", false)
		leased(t, q, "a", true)
	})
}

// Who waits longer comes first: what ran out, as well as what was never taken.
func TestLineIsInOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := queue(10 * time.Second)
		begin(t, q, "a", "b", "c") // at the same time
		leased(t, q, "a", false)
		b := leased(t, q, "b", false)
		time.Sleep(5 * time.Second)
		begin(t, q, "d")
		if err := q.Release(t.Context(), b); err != nil {
			t.Error(err)
		}
		time.Sleep(6 * time.Second)
		begin(t, q, "e")
		for _, want := range []string{"c", "d", "b", "a", "e"} {
			leased(t, q, want, want == "a")
		}
	})
}

// Many wait: each task wakes one of them, a lease that runs out, too, and who waits
// longest has it, also when others have gone.
func TestManyWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := queue(time.Minute)
		const many = 100
		var (
			mu    sync.Mutex // guards taken
			taken []string
			all   sync.WaitGroup
		)
		for i := range many {
			ctx, cancel := context.WithCancel(t.Context())
			all.Go(func() {
				l, err := q.Take(ctx)
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					taken = append(taken, fmt.Sprint(l.Task, " by ", i))
				}
			})
			synctest.Wait()
			if i%2 == 0 {
				defer cancel()
			} else {
				cancel()
				synctest.Wait()
			}
		}
		want := []string{"a by 0", "b by 2", "a by 4", "c by 6", "b by 8"}
		begin(t, q, "a")
		synctest.Wait()
		time.Sleep(30 * time.Second)
		begin(t, q, "b")
		time.Sleep(45 * time.Second) // a runs out
		begin(t, q, "c")
		synctest.Wait()
		end(t, q, "a", "c")
		time.Sleep(30 * time.Second) // b runs out
		synctest.Wait()
		end(t, q, "b")
		mu.Lock()
		if !slices.Equal(taken, want) {
			t.Errorf("%q, want %q", taken, want)
		}
		mu.Unlock()
		for i := range many/2 - len(want) {
			begin(t, q, fmt.Sprint(i))
		}
		all.Wait()
	})
}

// TestQueueModel holds a queue against a list: who is first, who has it, who has lost it.
func TestQueueModel(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m := queueModel{t: t, r: rand.New(rand.NewPCG(seed, 1)), q: queue(modelLife)}
				for range 3000 {
					m.step()
				}
				for what, n := range map[string]int{"taken": m.taken, "taken again": m.again, "lost": m.lost, "renewed": m.renewed} {
					if n < 20 {
						t.Errorf("%s: %d times only", what, n)
					}
				}
			})
		})
	}
}

const modelLife = 20 * time.Second

type queueModel struct {
	t      *testing.T
	r      *rand.Rand
	q      storetest.QueueStore
	turns  []modelTurn // of what works, in no order
	number int
	leases []task.Lease // all that ever were

	taken, again, lost, renewed int
}

type modelTurn struct {
	id     string
	due    time.Time
	number int
	token  string // empty: no worker has the task
}

func (m *queueModel) next() int {
	m.number++
	return m.number
}

func (m *queueModel) step() {
	id := fmt.Sprint("task ", m.r.IntN(12))
	switch m.r.IntN(8) {
	case 0:
		time.Sleep(time.Duration(m.r.IntN(8)) * time.Second)
	case 1, 2:
		m.turn(id, protocol.TaskWorking)
	case 3:
		if m.r.IntN(2) == 0 {
			m.turn(id, protocol.TaskInputRequired)
			return
		}
		if err := m.q.Delete(m.t.Context(), id); err != nil {
			m.t.Error(err)
		}
		m.drop(id)
	case 4, 5:
		m.take()
	case 6:
		m.renew()
	case 7:
		m.release()
	}
}

// turn creates or updates.
func (m *queueModel) turn(id string, to protocol.TaskStatus) {
	r, err := m.q.Get(m.t.Context(), id)
	if err != nil {
		r = record(id)
		r.Status, r.TTL = to, 0
		err = m.q.Create(m.t.Context(), r)
	} else {
		r.Status = to
		err = m.q.Update(m.t.Context(), r)
	}
	if err != nil {
		m.t.Error(err)
	}
	if to != protocol.TaskWorking {
		m.drop(id)
		return
	}
	if !slices.ContainsFunc(m.turns, func(u modelTurn) bool { return u.id == id }) {
		m.turns = append(m.turns, modelTurn{id: id, due: time.Now(), number: m.next()})
	}
}

func (m *queueModel) drop(id string) {
	m.turns = slices.DeleteFunc(m.turns, func(u modelTurn) bool { return u.id == id })
}

// take waits a little, in which a lease may run out.
func (m *queueModel) take() {
	ctx, cancel := context.WithTimeout(m.t.Context(), 3*time.Second)
	defer cancel()
	l, err := m.q.Take(ctx)
	now := time.Now()
	var first *modelTurn
	for i := range m.turns {
		u := &m.turns[i]
		if u.due.After(now) || err != nil && u.due.Equal(now) {
			continue // or it expired when no call waited any more
		}
		if first == nil || u.due.Before(first.due) || u.due.Equal(first.due) && u.number < first.number {
			first = u
		}
	}
	if first == nil {
		if !errors.Is(err, context.DeadlineExceeded) {
			m.t.Fatalf("Take: %q, %v; want nothing", l.Task, err)
		}
		return
	}
	if err != nil || l.Task != first.id || l.Again != (first.token != "") || l.Life != modelLife {
		m.t.Fatalf("Take: %q, again %v, %v; want %q, held under %q", l.Task, l.Again, err, first.id, first.token)
	}
	m.taken++
	if l.Again {
		m.again++
	}
	first.due, first.number, first.token = now.Add(modelLife), m.next(), l.Token
	m.leases = append(m.leases, l)
}

// lease is one that was given out not long ago, and its turn if it is not lost.
func (m *queueModel) lease() (task.Lease, *modelTurn) {
	if len(m.leases) == 0 {
		return task.Lease{}, nil
	}
	l := m.leases[max(0, len(m.leases)-1-m.r.IntN(10))]
	for i := range m.turns {
		if u := &m.turns[i]; u.id == l.Task && u.token == l.Token {
			return l, u
		}
	}
	return l, nil
}

func (m *queueModel) renew() {
	l, u := m.lease()
	err := m.q.Renew(m.t.Context(), l)
	if u == nil {
		if m.lost++; !errors.Is(err, task.ErrLost) {
			m.t.Fatalf("Renew(%q): %v, want ErrLost", l.Task, err)
		}
		return
	}
	if m.renewed++; err != nil {
		m.t.Fatalf("Renew(%q): %v", l.Task, err)
	}
	u.due = time.Now().Add(modelLife)
}

func (m *queueModel) release() {
	l, u := m.lease()
	if err := m.q.Release(m.t.Context(), l); err != nil {
		m.t.Fatalf("Release(%q): %v", l.Task, err)
	}
	if u != nil {
		u.due, u.number, u.token = time.Now(), m.next(), ""
	}
}
