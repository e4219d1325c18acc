package memory_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kagami-mcp/kagami/framework/store/memory"
	"github.com/kagami-mcp/kagami/protocol/claim"
	"github.com/kagami-mcp/kagami/testkit/storetest"
)

func TestClaims(t *testing.T) {
	t.Parallel()
	storetest.Claims(t, func(testing.TB) claim.Store { return memory.New().Claims() })
}

func TestOneClaimsPort(t *testing.T) {
	t.Parallel()
	s := memory.New()
	take(t, s.Claims(), "k", "x", time.Hour)
	if _, err := s.Claims().Get(t.Context(), "k"); err != nil {
		t.Errorf("each call of Claims has a store of its own: %v", err)
	}
}

// take claims what must be free.
func take(t testing.TB, c claim.Store, key, value string, life time.Duration) {
	t.Helper()
	if held, mine, err := c.Claim(t.Context(), key, []byte(value), life); !mine || err != nil {
		t.Errorf("Claim(%q): held %q, mine %v, %v", key, held, mine, err)
	}
}

func full(t testing.TB, c claim.Store, key, value string) {
	t.Helper()
	if held, mine, err := c.Claim(t.Context(), key, []byte(value), time.Hour); mine || held != nil || !errors.Is(err, memory.ErrFull) {
		t.Errorf("Claim(%q): held %q, mine %v, %v; want ErrFull", key, held, mine, err)
	}
}

func holds(t testing.TB, c claim.Store, key, value string) {
	t.Helper()
	if got, err := c.Get(t.Context(), key); err != nil || string(got) != value {
		t.Errorf("Get(%q) = %q, %v; want %q", key, got, err, value)
	}
}

func TestClaimEntries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, ctx := memory.Sized(memory.Bounds{ClaimEntries: 3}).Claims(), t.Context()
		take(t, c, "a", "a", time.Minute)
		take(t, c, "b", "b", time.Hour)
		if _, err := c.Add(ctx, "n", 1, time.Hour); err != nil {
			t.Error(err)
		}
		full(t, c, "c", "")
		if _, err := c.Add(ctx, "m", 1, time.Hour); !errors.Is(err, memory.ErrFull) {
			t.Errorf("a counter too many: %v", err)
		}
		// What is there can be used as ever.
		if held, mine, err := c.Claim(ctx, "a", []byte("x"), time.Hour); mine || string(held) != "a" || err != nil {
			t.Errorf("a claim again: held %q, mine %v, %v", held, mine, err)
		}
		if ok, err := c.Swap(ctx, "a", []byte("a"), []byte("a longer one"), time.Minute); !ok || err != nil {
			t.Errorf("Swap = %v, %v", ok, err)
		}
		if sum, err := c.Add(ctx, "n", 1, time.Hour); sum != 2 || err != nil {
			t.Errorf("Add = %d, %v", sum, err)
		}
		time.Sleep(time.Minute)
		take(t, c, "c", "c", time.Hour) // a has expired
		full(t, c, "a", "")
		if err := c.Delete(ctx, "c", nil); err != nil {
			t.Error(err)
		}
		take(t, c, "a", "a", time.Hour)
		holds(t, c, "b", "b")
	})
}

func TestClaimBytes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, ctx := memory.Sized(memory.Bounds{ClaimBytes: 13 * kilo}).Claims(), t.Context()
		text := string(make([]byte, 4*kilo))
		full(t, c, "a", string(make([]byte, 10*kilo)))
		full(t, c, string(make([]byte, 13*kilo)), "")
		take(t, c, "a", text, time.Minute)
		take(t, c, "b", text, time.Hour)
		full(t, c, "c", text)
		swap := func(key, old, value string, want error) {
			t.Helper()
			ok, err := c.Swap(ctx, key, []byte(old), []byte(value), time.Hour)
			if ok != (want == nil) || !errors.Is(err, want) {
				t.Errorf("Swap(%q) of %d for %d bytes = %v, %v; want %v", key, len(old), len(value), ok, err, want)
			}
		}
		swap("b", text, text, nil) // renewed
		swap("b", text, text+text, memory.ErrFull)
		holds(t, c, "b", text)
		swap("b", text, text[:kilo], nil)
		take(t, c, "c", text, time.Hour)
		full(t, c, "d", text)
		time.Sleep(time.Minute) // a expires
		swap("b", text[:kilo], text, nil)
		full(t, c, "d", text)
		if err := c.Delete(ctx, "c", nil); err != nil {
			t.Error(err)
		}
		take(t, c, "d", text, time.Hour)
		// Large values leave a quarter to small ones, whose room they do not need to stay.
		full(t, c, "e", text[:2*kilo])
		for i := range 10 {
			take(t, c, fmt.Sprint("s", i), "x", time.Hour)
		}
		swap("d", text, text, nil)
		swap("d", text, text[:2*kilo], nil)
	})
}

func TestClaimBoundsBelowOne(t *testing.T) {
	t.Parallel()
	full(t, memory.Sized(memory.Bounds{ClaimBytes: -1}).Claims(), "a", "")
	c := memory.Sized(memory.Bounds{ClaimEntries: -1}).Claims()
	take(t, c, "a", "", time.Hour)
	full(t, c, "b", "")
}

// A life ends when it is over, and not a nanosecond before.
func TestLifeIsExact(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := memory.New().Claims()
		for i, life := range []time.Duration{time.Nanosecond, time.Second, 1000 * time.Hour} {
			key := fmt.Sprint(i)
			take(t, c, key, "x", life)
			take(t, c, key+" for ever", "x", math.MaxInt64)
			time.Sleep(life - time.Nanosecond)
			holds(t, c, key, "x")
			time.Sleep(time.Nanosecond)
			if got, err := c.Get(t.Context(), key); !errors.Is(err, claim.ErrNotFound) {
				t.Errorf("after %v: %q, %v", life, got, err)
			}
			holds(t, c, key+" for ever", "x")
		}
	})
}

func TestCounterOverflow(t *testing.T) {
	t.Parallel()
	c, ctx := memory.New().Claims(), t.Context()
	for key, step := range map[string]int64{"up": math.MaxInt64, "down": math.MinInt64} {
		for i := range 2 {
			sum, err := c.Add(ctx, key, step, time.Hour)
			if i == 0 && (sum != step || err != nil) || i == 1 && err == nil {
				t.Errorf("%s: Add = %d, %v", key, sum, err)
			}
		}
		if sum, err := c.Add(ctx, key, 0, time.Hour); sum != step || err != nil {
			t.Errorf("%s: it is %d after a failed Add, %v", key, sum, err)
		}
	}
}

// Expired claims are removed even if no call asks for them and no space is needed. The test is not
// parallel, because it measures the heap.
func TestExpiredGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, before := memory.New().Claims(), heap()
		const batch = 1000
		for round := range 100 {
			for i := range batch {
				take(t, c, fmt.Sprint(round, " ", i), string(make([]byte, 100)), time.Second)
			}
			time.Sleep(time.Second)
		}
		if used := heap() - before; used > batch*1000 {
			t.Errorf("%d bytes in use for %d claims that have expired", used, batch)
		}
		for range batch { // reading helps
			if _, err := c.Get(t.Context(), "k"); !errors.Is(err, claim.ErrNotFound) {
				t.Error(err)
			}
		}
		used := heap() - before
		t.Logf("%d bytes in use when all have expired", used)
		if used > 200_000 { // the map and the heap keep their size; the claims took 300,000
			t.Errorf("%d bytes in use when all have expired", used)
		}
		take(t, c, "k", "x", time.Second) // it was in use all the time
	})
}

// Not in parallel: it measures the heap.
func TestClaimBookkeepingIsBounded(t *testing.T) {
	const total = 16 << 20
	for _, size := range []int{0, 1, 17, 100, 1000} {
		before := heap()
		c, n := memory.Sized(memory.Bounds{ClaimBytes: total}).Claims(), 0
		for ; ; n++ {
			_, _, err := c.Claim(t.Context(), fmt.Sprint(n), make([]byte, size), time.Hour)
			if errors.Is(err, memory.ErrFull) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		used := heap() - before
		t.Logf("%d claims of %d bytes: %d bytes in use, %d each", n, size, used, used/n)
		if used > total*5/4 {
			t.Errorf("%d claims of %d bytes: %d bytes in use, the bound is %d", n, size, used, total)
		}
		holds(t, c, "0", string(make([]byte, size)))
	}
}

// Nothing is allocated for claims that are not used.
func TestClaimsAreSmall(t *testing.T) {
	c := memory.New().Claims()
	got := testing.AllocsPerRun(100, func() {
		if _, err := c.Get(t.Context(), "k"); !errors.Is(err, claim.ErrNotFound) {
			t.Error(err)
		}
	})
	if got > 0 {
		t.Errorf("%g allocations to find nothing", got)
	}
}

// TestClaimsModel holds a small store against a map with times: it never forgets,
// and never remembers; only ErrFull may come between.
func TestClaimsModel(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m := claimsModel{
					t: t, r: rand.New(rand.NewPCG(seed, 1)), held: map[string]modelClaim{},
					c: memory.Sized(memory.Bounds{ClaimEntries: 12, ClaimBytes: 6 * kilo}).Claims(),
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

type modelClaim struct {
	value string
	sum   int64
	end   time.Time
}

type claimsModel struct {
	t    *testing.T
	r    *rand.Rand
	c    claim.Store
	held map[string]modelClaim
	full int
}

func (m *claimsModel) step() {
	key := fmt.Sprint("key ", m.r.IntN(20))
	life := time.Duration(m.r.IntN(50)+1) * time.Second
	value := string(make([]byte, m.r.IntN(4)*250))
	for key, h := range m.held {
		if !time.Now().Before(h.end) {
			delete(m.held, key)
		}
	}
	h, there := m.held[key]
	switch m.r.IntN(6) {
	case 0:
		time.Sleep(time.Duration(m.r.IntN(5)) * time.Second)
	case 1:
		got, err := m.c.Get(m.t.Context(), key)
		m.check(key, errors.Is(err, claim.ErrNotFound) == !there && string(got) == h.value)
	case 2:
		got, mine, err := m.c.Claim(m.t.Context(), key, []byte(value), life)
		switch {
		case m.isFull(err):
			m.check(key, !there && !mine)
		case mine:
			m.check(key, !there)
			m.held[key] = modelClaim{value: value, end: time.Now().Add(life)}
		default:
			m.check(key, there && string(got) == h.value)
		}
	case 3:
		swapped, err := m.c.Swap(m.t.Context(), key, []byte(h.value), []byte(value), life)
		if m.isFull(err) {
			m.check(key, there && len(value) > len(h.value))
			return
		}
		m.check(key, swapped == there)
		if swapped {
			m.held[key] = modelClaim{value: value, end: time.Now().Add(life)}
		}
	case 4:
		if err := m.c.Delete(m.t.Context(), key, []byte(value)); err != nil {
			m.t.Error(err)
		}
		if value == h.value {
			delete(m.held, key)
		}
	case 5:
		key = "counter " + key
		h, there = m.held[key]
		sum, err := m.c.Add(m.t.Context(), key[len("counter "):], int64(len(value)), life)
		if m.isFull(err) {
			m.check(key, !there)
			return
		}
		if !there {
			h.end = time.Now().Add(life)
		}
		h.sum += int64(len(value))
		m.check(key, sum == h.sum)
		m.held[key] = h
	}
}

// isFull says that there was no room, which is right only if the model is near the
// bounds, too.
func (m *claimsModel) isFull(err error) bool {
	if err == nil {
		return false
	}
	bytes := 1000 // the largest that may be missing
	for key, h := range m.held {
		bytes += 256 + len(key) + len(h.value)
	}
	if !errors.Is(err, memory.ErrFull) || len(m.held) < 12 && bytes < 6*kilo {
		m.t.Errorf("%v, with %d claims", err, len(m.held))
	}
	m.full++
	return true
}

func (m *claimsModel) check(key string, ok bool) {
	m.t.Helper()
	if !ok {
		m.t.Fatalf("%q: the store and the model differ", key)
	}
}
