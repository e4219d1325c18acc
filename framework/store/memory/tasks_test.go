package memory_test

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kagami-mcp/kagami/framework/store/memory"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/task"
	"github.com/kagami-mcp/kagami/testkit/storetest"
)

func TestTasks(t *testing.T) {
	t.Parallel()
	storetest.Tasks(t, func(testing.TB) task.Store { return memory.New().Tasks() })
}

func TestTasksFull(t *testing.T) {
	t.Parallel()
	storetest.TasksFull(t, func(_ testing.TB, most, bytes int) task.Store {
		return memory.Sized(memory.Bounds{TaskRecords: most, TaskBytes: bytes}).Tasks()
	})
}

func TestOneTasksPort(t *testing.T) {
	t.Parallel()
	s := memory.New()
	begin(t, s.Tasks(), "a")
	if _, err := s.Tasks().Get(t.Context(), "a"); err != nil {
		t.Errorf("each call of Tasks has a store of its own: %v", err)
	}
}

func record(id string) task.Record {
	now := time.Now()
	return task.Record{ID: id, Owner: "x", Status: protocol.TaskWorking, Created: now, Updated: now, TTL: time.Hour}
}

func begin(t testing.TB, s task.Store, ids ...string) {
	t.Helper()
	for _, id := range ids {
		if err := s.Create(t.Context(), record(id)); err != nil {
			t.Errorf("Create(%q): %v", id, err)
		}
	}
}

func happens(t testing.TB, s task.Store, id string, e task.Event) error {
	t.Helper()
	r, err := s.Get(t.Context(), id)
	if err != nil {
		return fmt.Errorf("getting: %w", err)
	}
	next, err := task.Next(r, e, time.Now())
	if err != nil {
		return err
	}
	return s.Update(t.Context(), next)
}

func end(t testing.TB, s task.Store, ids ...string) {
	t.Helper()
	for _, id := range ids {
		if err := happens(t, s, id, task.Event{Kind: task.Cancel}); err != nil {
			t.Errorf("%q does not end: %v", id, err)
		}
	}
}

func listed(t testing.TB, s task.Store, after string, want ...string) {
	t.Helper()
	list, err := s.List(t.Context(), "x", after, 1000)
	if err != nil {
		t.Error(err)
	}
	got := make([]string, len(list))
	for i, r := range list {
		got[i] = r.ID
	}
	if !slices.Equal(got, want) {
		t.Errorf("after %q: %q, want %q", after, got, want)
	}
}

func TestTaskRecords(t *testing.T) {
	t.Parallel()
	s := memory.Sized(memory.Bounds{TaskRecords: 3}).Tasks()
	begin(t, s, "a", "b", "c")
	if err := s.Create(t.Context(), record("d")); !errors.Is(err, memory.ErrFull) {
		t.Errorf("one too many: %v", err)
	}
	if err := s.Create(t.Context(), record("a")); !errors.Is(err, task.ErrExists) {
		t.Errorf("one that exists: %v", err)
	}
	listed(t, s, "", "a", "b", "c")
	if err := happens(t, s, "b", task.Event{Kind: task.Progress, Message: "m"}); err != nil {
		t.Error(err)
	}
	end(t, s, "c", "a") // c ended first
	begin(t, s, "d")
	listed(t, s, "", "a", "b", "d")
	begin(t, s, "e")
	listed(t, s, "", "b", "d", "e")
	if err := s.Create(t.Context(), record("f")); !errors.Is(err, memory.ErrFull) {
		t.Errorf("one too many: %v", err)
	}
	if n, err := s.Count(t.Context(), "x"); n != 3 || err != nil {
		t.Errorf("Count = %d, %v", n, err)
	}
}

// A task that has expired makes room before one that has ended.
func TestTaskExpiredFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := memory.Sized(memory.Bounds{TaskRecords: 3}).Tasks()
		begin(t, s, "done", "b")
		end(t, s, "done")
		short := record("short")
		short.TTL = time.Minute
		if err := s.Create(t.Context(), short); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute - 1)
		listed(t, s, "", "done", "b", "short")
		time.Sleep(time.Nanosecond)
		begin(t, s, "c")
		listed(t, s, "", "done", "b", "c")
	})
}

func TestTaskBytes(t *testing.T) {
	t.Parallel()
	s := memory.Sized(memory.Bounds{TaskBytes: 20 * kilo}).Tasks()
	begin(t, s, "a", "b", "c", "d")
	large := make([]byte, 30*kilo)
	if err := happens(t, s, "a", task.Event{Kind: task.Complete, Result: large[:6*kilo]}); err != nil {
		t.Fatal(err)
	}
	end(t, s, "b")
	tooLarge := record("too large")
	tooLarge.Call = large
	if err := s.Create(t.Context(), tooLarge); !errors.Is(err, memory.ErrFull) {
		t.Errorf("larger than the store: %v", err)
	}
	for _, e := range []task.Event{{Kind: task.Complete, Result: large}, {Kind: task.Progress, Journal: large}} {
		if err := happens(t, s, "c", e); !errors.Is(err, memory.ErrFull) {
			t.Errorf("growing larger than the store: %v", err)
		}
	}
	if err := happens(t, s, "c", task.Event{Kind: task.Progress, Journal: large[:8*kilo]}); err != nil {
		t.Errorf("growing: %v", err)
	}
	if err := happens(t, s, "d", task.Event{Kind: task.Progress, Journal: large[:8*kilo]}); !errors.Is(err, task.ErrFull) {
		t.Errorf("growing beyond the owner's share: %v", err)
	}
	listed(t, s, "", "a", "b", "c", "d") // nothing went in vain
	other := record("e")
	other.Owner, other.Call = "other", large[:4*kilo]
	if err := s.Create(t.Context(), other); err != nil {
		t.Error(err)
	}
	listed(t, s, "", "b", "c", "d") // what could stay stays
	// The task that grows may be the one that ended first.
	r, err := s.Get(t.Context(), "b")
	if err != nil {
		t.Fatal(err)
	}
	r.Result = large[:10*kilo]
	if err := s.Update(t.Context(), r); !errors.Is(err, memory.ErrFull) {
		t.Errorf("a terminal one grows: %v", err)
	}
	if err := happens(t, s, "c", task.Event{Kind: task.Complete, Result: large[:kilo]}); err != nil {
		t.Errorf("shrinking: %v", err)
	}
	if err := s.Update(t.Context(), r); err != nil {
		t.Errorf("a terminal one grows: %v", err)
	}
	listed(t, s, "", "b", "c", "d")
}

// A terminal task that grows pushes out others, but not itself.
func TestTaskThatGrowsStays(t *testing.T) {
	t.Parallel()
	s := memory.Sized(memory.Bounds{TaskBytes: 20 * kilo}).Tasks()
	begin(t, s, "grows", "other", "works")
	for _, id := range []string{"grows", "other"} {
		if err := happens(t, s, id, task.Event{Kind: task.Complete, Result: make([]byte, 6*kilo)}); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		size int
		full bool
		want []string
	}{
		{19 * kilo, true, []string{"grows", "other", "works"}},
		{17 * kilo, false, []string{"grows", "works"}},
		{19 * kilo, true, []string{"grows", "works"}},
	} {
		r, err := s.Get(t.Context(), "grows")
		if err != nil {
			t.Fatal(err)
		}
		r.Result = make([]byte, tt.size)
		if err := s.Update(t.Context(), r); errors.Is(err, memory.ErrFull) != tt.full {
			t.Errorf("growing to %d: %v", tt.size, err)
		}
		listed(t, s, "", tt.want...)
	}
}

// What comes and goes leaves nothing behind. Not in parallel: it measures the heap.
func TestTasksLeaveNothing(t *testing.T) {
	before := heap()
	s := memory.Sized(memory.Bounds{TaskRecords: 80, TaskBytes: 10 * kilo}).Tasks()
	begin(t, s, "stays")
	for i := range 50_000 {
		r := record(fmt.Sprint(i))
		if i%2 == 0 {
			r.Owner = r.ID
		}
		if err := s.Create(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		if err := s.Delete(t.Context(), r.ID); err != nil {
			t.Fatal(err)
		}
	}
	used := heap() - before
	t.Logf("%d bytes in use", used)
	if used > 100_000 {
		t.Errorf("%d bytes in use for one task", used)
	}
	large := record("large") // as large as there is room without what is remembered
	large.Status, large.Result = protocol.TaskCompleted, make([]byte, 8*kilo)
	if err := s.Create(t.Context(), large); err != nil {
		t.Error(err)
	}
	listed(t, s, "", "stays", "large")
}

func TestTaskBoundsBelowOne(t *testing.T) {
	t.Parallel()
	for _, n := range []int{-1, math.MinInt} {
		begin(t, memory.Sized(memory.Bounds{TaskRecords: n}).Tasks(), "a")
		if err := memory.Sized(memory.Bounds{TaskBytes: n}).Tasks().Create(t.Context(), record("a")); !errors.Is(err, memory.ErrFull) {
			t.Errorf("a task in a byte: %v", err)
		}
	}
}

func TestTTLIsExact(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := memory.New().Tasks()
		for i, ttl := range []time.Duration{1, time.Second, time.Hour, 365 * 24 * time.Hour} {
			r := record(fmt.Sprint(i))
			r.TTL = ttl
			r.Created = r.Created.Round(0)
			if err := s.Create(t.Context(), r); err != nil {
				t.Fatal(err)
			}
			time.Sleep(ttl - 1)
			if _, err := s.Get(t.Context(), r.ID); err != nil {
				t.Errorf("before %v: %v", ttl, err)
			}
			time.Sleep(time.Nanosecond)
			if err := s.Update(t.Context(), r); !errors.Is(err, task.ErrNotFound) {
				t.Errorf("after %v: %v", ttl, err)
			}
		}
		old := record("old")
		old.Created = old.Created.Add(-time.Hour)
		if err := s.Create(t.Context(), old); err != nil {
			t.Error(err)
		}
		if _, err := s.Get(t.Context(), "old"); !errors.Is(err, task.ErrNotFound) {
			t.Errorf("created an hour ago: %v", err)
		}
		for i, created := range []time.Time{{}, time.Unix(0, 0), time.Now().AddDate(500, 0, 0)} {
			r := record(fmt.Sprint("odd ", i))
			r.Created, r.TTL = created, math.MaxInt64
			if err := s.Create(t.Context(), r); err != nil {
				t.Error(err)
			}
			got, err := s.Get(t.Context(), r.ID)
			if err == nil && !got.Created.Equal(created) || err != nil && !errors.Is(err, task.ErrNotFound) {
				t.Errorf("created at %v: %v, %v", created, got.Created, err)
			}
		}
	})
}

// A quiet hour in which very many expire: Count is right at once.
func TestTasksExpireInTheQuiet(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := memory.New().Tasks()
		const many = 5000
		for i := range many {
			begin(t, s, fmt.Sprint(i))
		}
		stays := record("stays")
		stays.TTL = 0
		if err := s.Create(t.Context(), stays); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		if _, err := s.Get(t.Context(), fmt.Sprint(many/2)); !errors.Is(err, task.ErrNotFound) {
			t.Errorf("it has expired: %v", err)
		}
		begin(t, s, fmt.Sprint(many/2+100)) // so has this
		if err := s.Delete(t.Context(), fmt.Sprint(many/2+100)); err != nil {
			t.Error(err)
		}
		listed(t, s, "", "stays")
		listed(t, s, "4990", "stays")
		if n, err := s.Count(t.Context(), "x"); n != 1 || err != nil {
			t.Errorf("Count = %d, %v", n, err)
		}
	})
}

// Where a list may go on is remembered of the last that are gone, an eighth of all.
func TestTasksGoneAreBounded(t *testing.T) {
	t.Parallel()
	s := memory.Sized(memory.Bounds{TaskRecords: 80}).Tasks()
	var ids []string
	for i := range 30 {
		ids = append(ids, fmt.Sprint(i))
	}
	begin(t, s, ids...)
	for _, id := range ids[:20] {
		if err := s.Delete(t.Context(), id); err != nil {
			t.Error(err)
		}
	}
	listed(t, s, "9") // forgotten
	listed(t, s, "10", ids[20:]...)
	listed(t, s, "19", ids[20:]...)
	listed(t, s, "", ids[20:]...)
	for range 20 { // one that is gone again and again is remembered once
		begin(t, s, "again")
		if err := s.Delete(t.Context(), "again"); err != nil {
			t.Error(err)
		}
	}
	listed(t, s, "19", ids[20:]...)
}

// What ten thousand waiting tasks take. Not in parallel: it measures the heap.
func TestWaitingTasksAreSmall(t *testing.T) {
	const many = 10_000
	question := task.Question{Key: "city", Request: []byte(strings.Repeat("q", 400))}
	before := heap()
	s := memory.New().Tasks()
	for i := range many {
		r := record(fmt.Sprintf("%032d", i))
		r.Owner = fmt.Sprintf("https://issuer.example/%d", i%1000)
		r.Call, r.Journal = make([]byte, 300), make([]byte, 300)
		if err := s.Create(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		if err := happens(t, s, r.ID, task.Event{Kind: task.Ask, Questions: []task.Question{question}}); err != nil {
			t.Fatal(err)
		}
	}
	each := (heap() - before) / many
	t.Logf("%d bytes each, with 1000 bytes of call, journal and question", each)
	if each > 3000 {
		t.Errorf("a waiting task takes %d bytes", each)
	}
	if n, err := s.Count(t.Context(), "https://issuer.example/7"); n != many/1000 || err != nil {
		t.Errorf("Count = %d, %v", n, err)
	}
}

// Not in parallel: it measures the heap.
func TestTaskBookkeepingIsBounded(t *testing.T) {
	const total = 8 << 20
	fill := func(name string, change func(r *task.Record, i int)) {
		before := heap()
		s, n := memory.Sized(memory.Bounds{TaskBytes: total}).Tasks(), 0
		var err error
		for ; err == nil && n < 50_000; n++ { // terminal ones make room for ever
			r := record(fmt.Sprint(n))
			change(&r, n)
			err = s.Create(t.Context(), r)
		}
		if err != nil && !errors.Is(err, memory.ErrFull) {
			t.Fatal(err)
		}
		used := heap() - before
		t.Logf("%s: %d created, %d bytes in use", name, n, used)
		if used > total*5/4 || used < total/4 {
			t.Errorf("%s: %d bytes in use, the bound is %d", name, used, total)
		}
		if _, err := s.Get(t.Context(), "0"); (err == nil) != (n < 50_000) {
			t.Errorf("%s: the first: %v", name, err)
		}
	}
	fill("bare", func(*task.Record, int) {})
	fill("each of another owner", func(r *task.Record, i int) { r.Owner = fmt.Sprint(i) })
	fill("with texts", func(r *task.Record, _ int) {
		r.Call, r.Journal, r.Message, r.Asked = make([]byte, 17), make([]byte, 17), "message", make([]uint64, 3)
		r.Questions = []task.Question{{Key: "a", Request: make([]byte, 17)}, {Key: "b", Request: make([]byte, 1)}}
	})
	fill("with many questions", func(r *task.Record, _ int) {
		for i := range 30 {
			r.Questions = append(r.Questions, task.Question{Key: fmt.Sprint(i), Request: make([]byte, 9)})
		}
	})
	fill("large", func(r *task.Record, _ int) { r.Call = make([]byte, 3*kilo) })
	fill("ended", func(r *task.Record, i int) { r.Status, r.Owner = protocol.TaskCancelled, fmt.Sprint(i%100) })
}

// Nothing is allocated for tasks that are not used.
func TestTasksAreSmall(t *testing.T) {
	s := memory.New().Tasks()
	if got := testing.AllocsPerRun(100, func() {
		if n, err := s.Count(t.Context(), "x"); n != 0 || err != nil {
			t.Error(n, err)
		}
	}); got > 0 {
		t.Errorf("%g allocations to count nothing", got)
	}
}

// TestTasksModel holds a small store against a list with times: it forgets nothing
// but what has ended, of the owner with most, in that order, and only if it must; versions
// rise by one.
func TestTasksModel(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m := &tasksModel{t: t, r: rand.New(rand.NewPCG(seed, 1)), s: memory.Sized(memory.Bounds{TaskRecords: 12, TaskBytes: 25 * kilo}).Tasks()}
				for range 2000 {
					m.step()
				}
				if m.full == 0 || m.pushed == 0 || m.full > 1500 {
					t.Errorf("%d of 2000 steps found it full, %d tasks were pushed out", m.full, m.pushed)
				}
			})
		})
	}
}

type tasksModel struct {
	t            *testing.T
	r            *rand.Rand
	s            task.Store
	held         []task.Record // in the order of creation
	ended        []string      // in the order of ending
	full, pushed int
}

func (m *tasksModel) step() {
	ctx := m.t.Context()
	m.dropExpired()
	id := fmt.Sprint("task ", m.r.IntN(30))
	i := slices.IndexFunc(m.held, func(r task.Record) bool { return r.ID == id })
	switch op := m.r.IntN(10); {
	case op == 0:
		time.Sleep(time.Duration(m.r.IntN(10)) * time.Second)
	case op == 1:
		if err := m.s.Delete(ctx, id); err != nil {
			m.t.Error(err)
		}
		m.drop(func(r *task.Record) bool { return r.ID == id })
	case i < 0:
		r := record(id)
		r.Owner, r.TTL = fmt.Sprint(m.r.IntN(3)), time.Duration(m.r.IntN(100)+1)*time.Second
		r.Call = make([]byte, m.r.IntN(4)*500)
		if err := m.s.Create(ctx, r); m.isDone(err) {
			r.Version = 1
			m.held = append(m.held, r)
		}
	default:
		m.change(i)
	}
	m.check()
}

func (m *tasksModel) change(i int) {
	size := m.r.IntN(4) * 500
	e := []task.Event{
		{Kind: task.Progress, Journal: make([]byte, size)},
		{Kind: task.Progress, Journal: make([]byte, 2*size)},
		{Kind: task.Cancel},
		{Kind: task.Complete, Result: make([]byte, size+1)},
	}[m.r.IntN(4)]
	next, err := task.Next(m.held[i], e, time.Now())
	if errors.Is(err, task.ErrTerminal) {
		return
	}
	if err != nil {
		m.t.Fatal(err)
	}
	if err := m.s.Update(m.t.Context(), next); m.isDone(err) {
		m.dropPushed()
		next.Version++
		m.held[slices.IndexFunc(m.held, func(r task.Record) bool { return r.ID == next.ID })] = next
		if next.Terminal() {
			m.ended = append(m.ended, next.ID)
		}
	}
}

func (m *tasksModel) isDone(err error) bool {
	m.t.Helper()
	if err != nil && !errors.Is(err, memory.ErrFull) {
		m.t.Errorf("an error: %v", err)
	}
	if err != nil {
		m.full++
	}
	return err == nil
}

func (m *tasksModel) drop(which func(r *task.Record) bool) {
	m.held = slices.DeleteFunc(m.held, func(r task.Record) bool {
		if !which(&r) {
			return false
		}
		m.ended = slices.DeleteFunc(m.ended, func(id string) bool { return id == r.ID })
		return true
	})
}

func (m *tasksModel) dropExpired() {
	now := time.Now()
	m.drop(func(r *task.Record) bool { return !now.Before(r.Expires()) })
}

// dropPushed drops from the model what the store has pushed out, which must be what ended
// first of an owner with most.
func (m *tasksModel) dropPushed() {
	for {
		first, weight, most := map[string]string{}, map[string]int{}, 0
		for _, id := range m.ended {
			r := m.held[slices.IndexFunc(m.held, func(r task.Record) bool { return r.ID == id })]
			first[r.Owner] = cmp.Or(first[r.Owner], id)
			weight[r.Owner] += 576 + 2684 + len(r.ID) + len(r.Owner) + len(r.Call) + len(r.Result)
			most = max(most, weight[r.Owner])
		}
		maps.DeleteFunc(first, func(owner, id string) bool {
			_, err := m.s.Get(m.t.Context(), id)
			return err == nil || weight[owner] < most
		})
		if len(first) == 0 {
			return
		}
		m.drop(func(r *task.Record) bool { return first[r.Owner] == r.ID })
		m.pushed++
	}
}

func (m *tasksModel) check() {
	ctx := m.t.Context()
	m.dropExpired()
	m.dropPushed()
	live, lists := map[string]int{}, map[string][]string{}
	for _, want := range m.held {
		got, err := m.s.Get(ctx, want.ID)
		if err != nil || got.Version != want.Version || got.Status != want.Status || len(got.Journal) != len(want.Journal) {
			m.t.Fatalf("%q is %s in version %d, %v; want %s in version %d", want.ID, got.Status, got.Version, err, want.Status, want.Version)
		}
		lists[want.Owner] = append(lists[want.Owner], want.ID)
		if !want.Terminal() {
			live[want.Owner]++
		}
	}
	for i := range 3 {
		owner := fmt.Sprint(i)
		if n, err := m.s.Count(ctx, owner); n != live[owner] || err != nil {
			m.t.Fatalf("Count(%s) = %d, %v; want %d", owner, n, err, live[owner])
		}
		list, err := m.s.List(ctx, owner, "", 100)
		if err != nil || !slices.EqualFunc(list, lists[owner], func(r task.Record, id string) bool { return r.ID == id }) {
			m.t.Fatalf("List(%s): %d records, %v; want %q", owner, len(list), err, lists[owner])
		}
	}
}
