package memory_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kagami-mcp/kagami/framework/store/memory"
	"github.com/kagami-mcp/kagami/protocol/session"
	"github.com/kagami-mcp/kagami/testkit/storetest"
)

func TestSessions(t *testing.T) {
	t.Parallel()
	storetest.Sessions(t, func(testing.TB) session.Store { return memory.New().Sessions() })
}

func TestOneSessionsPort(t *testing.T) {
	t.Parallel()
	s := memory.New()
	open(t, s.Sessions(), "a", "", time.Hour)
	if _, err := s.Sessions().Get(t.Context(), "a"); err != nil {
		t.Errorf("each call of Sessions has a store of its own: %v", err)
	}
}

// opened is a session that lives so long; 0: for ever.
func opened(id, data string, life time.Duration) session.Record {
	r := session.Record{ID: id, Principal: "x", Version: 1, Data: []byte(data)}
	if life != 0 {
		r.Expires = time.Now().Add(life)
	}
	return r
}

func open(t testing.TB, s session.Store, id, data string, life time.Duration) {
	t.Helper()
	if err := s.Create(t.Context(), opened(id, data, life)); err != nil {
		t.Errorf("Create(%q): %v", id, err)
	}
}

// tooMany is an error of both packages.
func tooMany(t testing.TB, err error) {
	t.Helper()
	if !errors.Is(err, memory.ErrFull) || !errors.Is(err, session.ErrFull) {
		t.Errorf("%v; want ErrFull", err)
	}
}

func isGone(t testing.TB, s session.Store, id string) {
	t.Helper()
	if r, err := s.Get(t.Context(), id); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("%q is of version %d, %v; want ErrNotFound", id, r.Version, err)
	}
}

func TestSessionRecords(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, ctx := memory.Sized(memory.Bounds{SessionRecords: 3}).Sessions(), t.Context()
		open(t, s, "a", "", time.Minute)
		open(t, s, "b", "", time.Hour)
		open(t, s, "c", "", 0)
		tooMany(t, s.Create(ctx, opened("d", "", time.Hour)))
		if err := s.Create(ctx, opened("a", "", time.Hour)); !errors.Is(err, session.ErrExists) {
			t.Errorf("one that exists: %v", err)
		}
		// What is there can be used as ever.
		if err := s.Update(ctx, opened("a", "longer", time.Minute)); err != nil {
			t.Error(err)
		}
		if err := s.Touch(ctx, "b", time.Time{}); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Minute)
		open(t, s, "d", "", time.Hour) // a has expired
		tooMany(t, s.Create(ctx, opened("a", "", time.Hour)))
		if err := s.Delete(ctx, "c"); err != nil {
			t.Error(err)
		}
		open(t, s, "a", "", time.Hour)
		tooMany(t, s.Create(ctx, opened("c", "", time.Hour)))
	})
}

func TestSessionBytes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, ctx := memory.Sized(memory.Bounds{SessionBytes: 10 * kilo}).Sessions(), t.Context()
		text, all := string(make([]byte, 4*kilo)), string(make([]byte, 10*kilo))
		large := opened("a", "", time.Hour)
		large.Principal = all
		for _, r := range []session.Record{opened("a", all, time.Hour), opened(all, "", time.Hour), large} {
			tooMany(t, s.Create(ctx, r))
		}
		open(t, s, "a", text, time.Minute)
		open(t, s, "b", text, time.Hour)
		tooMany(t, s.Create(ctx, opened("c", text, time.Hour)))
		update := func(id string, version uint64, data string) error {
			r := opened(id, data, time.Hour)
			r.Version = version
			return s.Update(ctx, r)
		}
		if err := update("b", 1, text); err != nil {
			t.Error(err)
		}
		tooMany(t, update("b", 2, text+text))
		if r, err := s.Get(ctx, "b"); err != nil || r.Version != 2 || len(r.Data) != len(text) {
			t.Errorf("after ErrFull it is of version %d, with %d bytes, %v", r.Version, len(r.Data), err)
		}
		if err := update("b", 2, text[:kilo]); err != nil {
			t.Error(err)
		}
		open(t, s, "c", text, time.Hour)
		tooMany(t, s.Create(ctx, opened("d", text, time.Hour)))
		time.Sleep(time.Minute) // a expires
		if err := update("b", 3, text); err != nil {
			t.Error(err)
		}
		if err := s.Delete(ctx, "c"); err != nil {
			t.Error(err)
		}
		open(t, s, "d", text, time.Hour)
	})
}

func TestSessionBoundsBelowOne(t *testing.T) {
	t.Parallel()
	tooMany(t, memory.Sized(memory.Bounds{SessionBytes: -1}).Sessions().Create(t.Context(), opened("a", "", 0)))
	s := memory.Sized(memory.Bounds{SessionRecords: -1}).Sessions()
	open(t, s, "a", "", time.Hour)
	tooMany(t, s.Create(t.Context(), opened("b", "", 0)))
}

// A session ends when it is over, and not a nanosecond before.
func TestSessionEndIsExact(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := memory.New().Sessions()
		for i, life := range []time.Duration{time.Nanosecond, time.Second, 1000 * time.Hour} {
			id := fmt.Sprint(i)
			open(t, s, id, "", life)
			time.Sleep(life - time.Nanosecond)
			if _, err := s.Get(t.Context(), id); err != nil {
				t.Error(err)
			}
			if err := s.Touch(t.Context(), id, time.Now().Add(life)); err != nil {
				t.Error(err)
			}
			time.Sleep(life)
			isGone(t, s, id)
		}
	})
}

// More expire at once than an operation drops: none of them is to be seen.
func TestManySessionsEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const many = 100
		s, ctx := memory.New().Sessions(), t.Context()
		for i := range many {
			open(t, s, fmt.Sprint(i), "", time.Duration(i+1)*time.Second)
		}
		time.Sleep(many * time.Second)
		isGone(t, s, "99")
		if err := s.Touch(ctx, "98", time.Time{}); !errors.Is(err, session.ErrNotFound) {
			t.Errorf("Touch: %v", err)
		}
		if err := s.Update(ctx, opened("97", "", 0)); !errors.Is(err, session.ErrNotFound) {
			t.Errorf("Update: %v", err)
		}
		open(t, s, "96", "another life", 0)
		for i := range many {
			if i != 96 {
				isGone(t, s, fmt.Sprint(i))
			}
		}
	})
}

// Expired sessions are removed even if no call asks for them and no space is needed. The test is not
// parallel, because it measures the heap.
func TestSessionsExpireInTheQuiet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, before := memory.New().Sessions(), heap()
		const batch = 1000
		for round := range 50 {
			for i := range batch {
				open(t, s, fmt.Sprint(round, " ", i), string(make([]byte, 200)), time.Second)
			}
			time.Sleep(time.Second)
		}
		for range batch { // reading helps
			isGone(t, s, "k")
		}
		used := heap() - before
		t.Logf("%d bytes in use when all have expired", used)
		if used > 250_000 { // the map and the heap keep their size; the sessions took 600,000
			t.Errorf("%d bytes in use when all have expired", used)
		}
		open(t, s, "k", "x", time.Second) // it was in use all the time
	})
}

// Not in parallel: it measures the heap.
func TestSessionBookkeepingIsBounded(t *testing.T) {
	const total = 16 << 20
	for _, size := range []int{0, 1, 17, 100, 1000} {
		before := heap()
		s, n := memory.Sized(memory.Bounds{SessionBytes: total}).Sessions(), 0
		for ; ; n++ {
			r := opened(fmt.Sprint(n), string(make([]byte, size)), time.Hour)
			if r.Principal = fmt.Sprint("of ", n); s.Create(t.Context(), r) != nil {
				break
			}
		}
		used := heap() - before
		t.Logf("%d sessions of %d bytes: %d bytes in use, %d each", n, size, used, used/n)
		if used > total*5/4 {
			t.Errorf("%d sessions of %d bytes: %d bytes in use, the bound is %d", n, size, used, total)
		}
		if _, err := s.Get(t.Context(), "0"); err != nil {
			t.Error(err)
		}
	}
}

// TestSessionsModel holds a small store against a map with times: it never forgets,
// and never remembers; only ErrFull may come between.
func TestSessionsModel(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m := sessionsModel{
					t: t, r: rand.New(rand.NewPCG(seed, 1)), held: map[string]session.Record{},
					s: memory.Sized(memory.Bounds{SessionRecords: 12, SessionBytes: 8 * kilo}).Sessions(),
				}
				for range 3000 {
					m.step()
				}
				if m.full == 0 || m.full > 2000 {
					t.Errorf("%d of 3000 steps found it full", m.full)
				}
			})
		})
	}
}

type sessionsModel struct {
	t    *testing.T
	r    *rand.Rand
	s    session.Store
	held map[string]session.Record
	full int
}

func (m *sessionsModel) step() {
	for id, r := range m.held {
		if !r.Expires.IsZero() && !time.Now().Before(r.Expires) {
			delete(m.held, id)
		}
	}
	ctx, id := m.t.Context(), fmt.Sprint("session ", m.r.IntN(20))
	stored, there := m.held[id]
	next := opened(id, string(make([]byte, m.r.IntN(4)*250)), time.Duration(m.r.IntN(50)-2)*time.Second)
	switch m.r.IntN(6) {
	case 0:
		time.Sleep(time.Duration(m.r.IntN(5)) * time.Second)
	case 1:
		got, err := m.s.Get(ctx, id)
		m.check(id, errors.Is(err, session.ErrNotFound) == !there && got.Version == stored.Version &&
			string(got.Data) == string(stored.Data) && got.Expires.Equal(stored.Expires))
	case 2:
		err := m.s.Create(ctx, next)
		if m.isFull(err) {
			m.check(id, !there)
			return
		}
		m.check(id, (err == nil) == !there && errors.Is(err, session.ErrExists) == there)
		if err == nil {
			m.held[id] = next
		}
	case 3:
		next.Version = stored.Version
		err := m.s.Update(ctx, next)
		if m.isFull(err) {
			m.check(id, there && len(next.Data) > len(stored.Data))
			return
		}
		m.check(id, (err == nil) == there && errors.Is(err, session.ErrNotFound) == !there)
		if next.Version++; there {
			m.held[id] = next
		}
	case 4:
		err := m.s.Touch(ctx, id, next.Expires)
		m.check(id, (err == nil) == there)
		if stored.Expires = next.Expires; there {
			m.held[id] = stored
		}
	case 5:
		if err := m.s.Delete(ctx, id); err != nil {
			m.t.Error(err)
		}
		delete(m.held, id)
	}
}

// isFull says that there was no room, which is right only if the model is near the
// bounds, too.
func (m *sessionsModel) isFull(err error) bool {
	if !errors.Is(err, session.ErrFull) {
		return false
	}
	bytes := 1500 // the largest that may be missing
	for id, r := range m.held {
		bytes += 400 + len(id) + len(r.Data)
	}
	if len(m.held) < 12 && bytes < 8*kilo {
		m.t.Errorf("%v, with %d sessions", err, len(m.held))
	}
	m.full++
	return true
}

func (m *sessionsModel) check(id string, ok bool) {
	m.t.Helper()
	if !ok {
		m.t.Fatalf("%q: the store and the model differ", id)
	}
}
