package storetest_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/framework/store/memory"
	"github.com/kagami-mcp/kagami/protocol/claim"
	"github.com/kagami-mcp/kagami/protocol/client/oauth"
	"github.com/kagami-mcp/kagami/protocol/eventlog"
	"github.com/kagami-mcp/kagami/protocol/session"
	"github.com/kagami-mcp/kagami/protocol/task"
	"github.com/kagami-mcp/kagami/testkit/storetest"
)

// asBroken makes the test binary run a suite that fails.
const asBroken = "STORETEST_BROKEN"

// lastWins overwrites what others have written.
type lastWins struct{ session.Store }

func (s lastWins) Update(ctx context.Context, r session.Record) error {
	for {
		err := s.Store.Update(ctx, r)
		if !errors.Is(err, session.ErrConflict) {
			return err
		}
		now, err := s.Get(ctx, r.ID)
		if err != nil {
			return err
		}
		r.Version = now.Version
	}
}

// wrapping is a store with counters that wrap around.
type wrapping struct {
	claim.Store
	sums sync.Map // *atomic.Int64 by key
}

func (s *wrapping) Add(ctx context.Context, key string, n int64, life time.Duration) (int64, error) {
	if life <= 0 {
		return s.Store.Add(ctx, key, n, life)
	}
	sum, _ := s.sums.LoadOrStore(key, new(atomic.Int64))
	return sum.(*atomic.Int64).Add(n), nil
}

// undying is a store that deletes nothing.
type undying struct{ claim.Store }

func (undying) Delete(context.Context, string, []byte) error { return nil }

// forgetful is a store of streams that end before their last events.
type forgetful struct{ eventlog.Store }

// Append forgets the frame of the 100th event and of all that follow.
func (s forgetful) Append(ctx context.Context, stream string, frame []byte) (uint64, error) {
	if seen, err := s.After(ctx, stream, 0); err == nil && len(seen) >= 99 {
		return 100, nil
	}
	return s.Store.Append(ctx, stream, frame)
}

// conflicting is a store that refuses every update.
type conflicting struct{ task.Store }

func (conflicting) Update(context.Context, task.Record) error { return task.ErrConflict }

// vanishing is a store of claims that claims and reads in two steps, as a database may do. The value of
// the holder may be deleted in between.
type vanishing struct{ claim.Store }

func (s vanishing) Claim(ctx context.Context, key string, value []byte, life time.Duration) ([]byte, bool, error) {
	_, mine, err := s.Store.Claim(ctx, key, value, life)
	if mine || err != nil {
		return nil, mine, err
	}
	time.Sleep(time.Millisecond) // the latency of the database
	held, err := s.Get(ctx, key)
	if errors.Is(err, claim.ErrNotFound) {
		return nil, false, nil
	}
	return held, false, err
}

// ownMutex is a node of a store that protects shared data with a lock of its own process only. Claim
// reads, and then writes.
type ownMutex struct {
	claim.Store
	mu *sync.Mutex
}

func (s ownMutex) Claim(ctx context.Context, key string, value []byte, life time.Duration) ([]byte, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if held, err := s.Get(ctx, key); err == nil {
		return held, false, nil
	}
	runtime.Gosched()
	if _, mine, err := s.Store.Claim(ctx, key, value, life); mine || err != nil {
		return nil, mine, err
	}
	return nil, true, s.overwrite(ctx, key, value, life)
}

// overwrite replaces the value that another node has stored meanwhile.
func (s ownMutex) overwrite(ctx context.Context, key string, value []byte, life time.Duration) error {
	held, err := s.Get(ctx, key)
	if err != nil {
		return err
	}
	_, err = s.Swap(ctx, key, held, value, life)
	return err
}

// bounded is a store of records with at most 1 MiB of data.
type bounded struct{ session.Store }

func (s bounded) Create(ctx context.Context, r session.Record) error {
	if len(r.Data) > 1<<20 {
		return errors.New("the data is too large")
	}
	return s.Store.Create(ctx, r)
}

func (s bounded) Update(ctx context.Context, r session.Record) error {
	if len(r.Data) > 1<<20 {
		return errors.New("the data is too large")
	}
	return s.Store.Update(ctx, r)
}

// A store may refuse more data than the suite requires.
func TestSessionsOfABoundedStore(t *testing.T) {
	t.Parallel()
	storetest.Sessions(t, func(testing.TB) session.Store { return bounded{memory.New().Sessions()} })
}

// deafQueue is a queue with a Take that ignores the end of its context.
type deafQueue struct{ storetest.QueueStore }

func (s deafQueue) Take(ctx context.Context) (task.Lease, error) {
	return s.QueueStore.Take(context.WithoutCancel(ctx))
}

// deafLock is a store with a Lock that ignores its context.
type deafLock struct {
	oauth.Store
	mu *sync.Mutex
}

func (s deafLock) Lock(context.Context, oauth.Key) (func(), error) {
	s.mu.Lock()
	return sync.OnceFunc(s.mu.Unlock), nil
}

// broken returns the suites that fail, by the value of asBroken.
func broken() map[string]func(t *testing.T) {
	return map[string]func(t *testing.T){
		"lastWins": func(t *testing.T) {
			t.Helper()
			storetest.Sessions(t, func(testing.TB) session.Store { return lastWins{memory.New().Sessions()} })
		},
		"wrapping": func(t *testing.T) {
			t.Helper()
			storetest.Claims(t, func(testing.TB) claim.Store { return &wrapping{Store: memory.New().Claims()} })
		},
		"undying": func(t *testing.T) {
			t.Helper()
			storetest.Claims(t, func(testing.TB) claim.Store { return undying{memory.New().Claims()} })
		},
		"vanishing": func(t *testing.T) {
			t.Helper()
			storetest.Claims(t, func(testing.TB) claim.Store { return vanishing{memory.New().Claims()} })
		},
		"ownMutex": func(t *testing.T) {
			t.Helper()
			storetest.Claims(t, storetest.ClaimNodes(func(testing.TB) (a, b claim.Store) {
				all := memory.New().Claims()
				return ownMutex{all, new(sync.Mutex)}, ownMutex{all, new(sync.Mutex)}
			}))
		},
		"ownRecords": func(t *testing.T) {
			t.Helper()
			storetest.Sessions(t, storetest.SessionNodes(func(testing.TB) (a, b session.Store) {
				return memory.New().Sessions(), memory.New().Sessions()
			}))
		},
		"lockless": func(t *testing.T) {
			t.Helper()
			storetest.RunOAuthNodes(t, func(*testing.T) (a, b oauth.Store) {
				all := oauth.Memory()
				return all, all
			})
		},
		"deafLock": func(t *testing.T) {
			t.Helper()
			storetest.RunOAuthNodes(t, func(*testing.T) (a, b oauth.Store) {
				all := deafLock{oauth.Memory(), new(sync.Mutex)}
				return all, all
			})
		},
		"deafQueue": func(t *testing.T) {
			t.Helper()
			storetest.Queue(t, func(_ testing.TB, life time.Duration) (a, b storetest.QueueStore) {
				s := deafQueue{memory.Sized(memory.Bounds{LeaseLife: life}).Tasks().(storetest.QueueStore)}
				return s, s
			})
		},
		"forgetful": func(t *testing.T) {
			t.Helper()
			storetest.Events(t, func(testing.TB) eventlog.Store { return forgetful{memory.New().Events()} })
		},
		"conflicting": func(t *testing.T) {
			t.Helper()
			storetest.Tasks(t, func(testing.TB) task.Store { return conflicting{memory.New().Tasks()} })
		},
	}
}

func TestBrokenStore(t *testing.T) {
	t.Parallel()
	run := broken()[os.Getenv(asBroken)]
	if run == nil {
		t.Skip("it fails: see TestFailuresTellTheRule and TestBrokenStoresFail")
	}
	storetest.HurryUp()
	run(t)
}

// runBroken returns what the tests of a suite report about a broken store. They must fail, and end.
func runBroken(t *testing.T, store, tests string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.timeout=20s", "-test.run=^TestBrokenStore$/"+tests)
	cmd.Env = append(os.Environ(), asBroken+"="+store)
	out, err := cmd.CombinedOutput()
	if err == nil {
		t.Fatalf("a store that is broken passes:\n%s", out)
	}
	return string(out)
}

// A suite reports a broken store and ends, instead of waiting for what the store will never do.
func TestBrokenStoresFail(t *testing.T) {
	t.Parallel()
	for store, tt := range map[string]struct{ tests, want string }{
		"wrapping":    {"^CounterOverflows$", "--- FAIL: TestBrokenStore/CounterOverflows"},
		"undying":     {"^MutualExclusion$", "it is still there after Delete"},
		"vanishing":   {"^HolderLeaves$", "want the value of the holder"},
		"ownMutex":    {"^RaceOfClaims$", "--- FAIL: TestBrokenStore/RaceOfClaims"},
		"ownRecords":  {"^Create$", "--- FAIL: TestBrokenStore/Create"},
		"lockless":    {"", "two processes have the lock"},
		"deafLock":    {"", "Lock goes on"},
		"deafQueue":   {"^TakeEnds$", "Take goes on"},
		"forgetful":   {"^ReadWhileAppending$", "99 of 500 events"},
		"conflicting": {"^RaceOfEnds$", "conflicts"},
	} {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			out := runBroken(t, store, tt.tests)
			if !strings.Contains(out, tt.want) || strings.Contains(out, "panic:") {
				t.Errorf("no %q in\n%.3000s", tt.want, out)
			}
		})
	}
}

// The failure of a suite names the rule that the store breaks, and the place in the suite.
func TestFailuresTellTheRule(t *testing.T) {
	t.Parallel()
	out := runBroken(t, "lastWins", "")
	for _, want := range []string{
		"--- FAIL: TestBrokenStore/Conflict", "sessions.go:", "Update of version 1, 3 is stored: <nil>; want ErrConflict",
		"storetest: the rule: Update of another version than the stored one is ErrConflict, and changes nothing.",
		"--- FAIL: TestBrokenStore/RaceOfUpdates", "have won, want exactly one",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if strings.Contains(out, "the rule: Touch") {
		t.Errorf("a rule that is kept is told:\n%s", out)
	}
}
