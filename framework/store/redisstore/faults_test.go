package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/kagami-mcp/kagami/framework/internal/redisserver"
	"github.com/kagami-mcp/kagami/framework/store/redisstore"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/claim"
	"github.com/kagami-mcp/kagami/protocol/eventlog"
	"github.com/kagami-mcp/kagami/protocol/session"
	"github.com/kagami-mcp/kagami/protocol/task"
	"github.com/kagami-mcp/kagami/testkit/storetest"
)

var errFault = errors.New("a fault of the test's")

// faults is a hook: of a hundred commands, so many fail, half of them after they were done,
// and as many stall.
type faults struct {
	percent int
	n       atomic.Int64
}

func (f *faults) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		if f.hits() {
			return nil, errFault
		}
		return next(ctx, network, addr)
	}
}

func (f *faults) hits() bool { return rand.IntN(100) < f.percent }

func (f *faults) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if f.hits() {
			time.Sleep(time.Duration(rand.IntN(300)) * time.Millisecond)
		}
		if !f.hits() {
			return next(ctx, cmd)
		}
		f.n.Add(1)
		if rand.IntN(2) == 0 {
			_ = next(ctx, cmd) // the command has run, and its result is lost
		}
		cmd.SetErr(errFault)
		return errFault
	}
}

func (f *faults) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// insist does it until it succeeds, or is done already.
func insist(ctx context.Context, do func() error, done ...error) error {
	for {
		err := do()
		for _, d := range done {
			if errors.Is(err, d) {
				return nil
			}
		}
		if !errors.Is(err, errFault) || ctx.Err() != nil {
			return err
		}
	}
}

// complete ends a task whatever comes between.
func complete(ctx context.Context, s task.Store, id string) error {
	return insist(ctx, func() error {
		r, err := s.Get(ctx, id)
		if err != nil {
			return err
		}
		next, err := task.Next(r, task.Event{Kind: task.Complete, Result: []byte(`{}`)}, time.Now())
		if err != nil {
			return err
		}
		if err := s.Update(ctx, next); !errors.Is(err, task.ErrConflict) {
			return err
		}
		return errFault // again
	}, task.ErrTerminal)
}

// TestFaults: two stores with takers, all connections of which are bad. Every task that was
// accepted is completed, and nothing is left in the line.
func TestFaults(t *testing.T) {
	t.Parallel()
	const tasks, takers = 200, 5
	server := redisserver.Start(t)
	hook := &faults{percent: 5}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	var stores []storetest.QueueStore
	for range 2 {
		client := clientOf(t, server.Addr())
		client.AddHook(hook)
		stores = append(stores, queueOf(storeWith(t, client, redisstore.LeaseLife(300*time.Millisecond), redisstore.Sweep(100*time.Millisecond))))
	}
	taking, stop := context.WithCancel(ctx)
	defer stop()
	var makers, workers sync.WaitGroup
	for i, s := range stores {
		makers.Go(func() {
			for n := range tasks {
				r := working(fmt.Sprint(i, " made ", n))
				if err := insist(ctx, func() error { return s.Create(ctx, r) }, task.ErrExists); err != nil {
					t.Errorf("Create: %v", err)
				}
			}
		})
		for range takers {
			workers.Go(func() {
				for taking.Err() == nil {
					l, err := s.Take(taking)
					if err != nil {
						continue
					}
					if err := complete(ctx, s, l.Task); err != nil {
						t.Errorf("completing: %v", err)
					}
					_ = s.Release(ctx, l) // if it fails, the lease runs out
				}
			})
		}
	}
	makers.Wait()
	store := storeOn(t, server.Addr())
	for left := -1; left != 0; {
		var err error
		if left, err = store.Tasks().Count(ctx, "x"); err != nil {
			t.Fatalf("%d are left: %v", left, err)
		}
		time.Sleep(20 * time.Millisecond)
	}
	stop()
	workers.Wait()
	if n := clientOf(t, server.Addr()).XLen(t.Context(), store.LineKey()).Val(); n != 0 {
		t.Errorf("%d entries are left in the line", n)
	}
	if list, err := store.Tasks().List(t.Context(), "x", "", 1000); len(list) != 2*tasks || err != nil {
		t.Errorf("%d tasks, %v", len(list), err)
	}
	t.Logf("%d faults", hook.n.Load())
}

// TestTwoStores: without faults, every task is run once.
func TestTwoStores(t *testing.T) {
	t.Parallel()
	const tasks = 500
	server := redisserver.Start(t)
	var runs sync.Map
	var left atomic.Int64
	left.Store(tasks)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var workers sync.WaitGroup
	first := queueOf(storeOn(t, server.Addr()))
	for _, s := range []storetest.QueueStore{first, queueOf(storeOn(t, server.Addr()))} {
		for range 4 {
			workers.Go(func() {
				for {
					l, err := s.Take(ctx)
					if err != nil {
						return
					}
					if _, again := runs.LoadOrStore(l.Task, true); again || l.Again {
						t.Errorf("%+v: again", l)
					}
					if err := errors.Join(complete(t.Context(), s, l.Task), s.Release(t.Context(), l)); err != nil {
						t.Error(err)
					}
					if left.Add(-1) == 0 {
						stop()
					}
				}
			})
		}
	}
	for i := range tasks {
		create(t, first, fmt.Sprint(i))
	}
	workers.Wait()
	if n := left.Load(); n != 0 {
		t.Errorf("%d were not run", n)
	}
}

// TestFull: Redis may take no more.
func TestFull(t *testing.T) {
	t.Parallel()
	server := redisserver.Start(t)
	client := clientOf(t, server.Addr())
	s, ctx := storeWith(t, client), t.Context()
	create(t, queueOf(s), "before")
	over, expired := working("over"), working("expired")
	over.Status, over.Result, expired.Created = protocol.TaskCompleted, []byte(`{}`), time.Now().Add(-2*time.Hour)
	used := session.Record{ID: "used", Expires: time.Now().Add(time.Minute)}
	if err := errors.Join(s.Tasks().Create(ctx, over), s.Tasks().Create(ctx, expired), s.Sessions().Create(ctx, used)); err != nil {
		t.Fatal(err)
	}
	lease := take(t, queueOf(s))
	if err := client.ConfigSet(ctx, "maxmemory", "1").Err(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Claims().Claim(ctx, "a", nil, time.Hour); !errors.Is(err, claim.ErrFull) {
		t.Errorf("Claim: %v", err)
	}
	if _, err := s.Claims().Add(ctx, "a", 1, time.Hour); !errors.Is(err, claim.ErrFull) {
		t.Errorf("Add: %v", err)
	}
	if err := s.Sessions().Create(ctx, session.Record{ID: "a"}); !errors.Is(err, session.ErrFull) {
		t.Errorf("Create of a session: %v", err)
	}
	if err := s.Tasks().Create(ctx, working("a")); !errors.Is(err, task.ErrFull) {
		t.Errorf("Create of a task: %v", err)
	}
	for _, expires := range []time.Time{{}, time.Now().Add(time.Hour)} { // a session in use does not expire
		if err := s.Sessions().Touch(ctx, "used", expires); err != nil {
			t.Errorf("Touch: %v", err)
		}
		if r, err := s.Sessions().Get(ctx, "used"); err != nil || !r.Expires.Equal(expires) {
			t.Errorf("it expires at %v, want %v; %v", r.Expires, expires, err)
		}
	}
	if err := errors.Join(queueOf(s).Renew(ctx, lease), queueOf(s).Release(ctx, lease)); err != nil {
		t.Errorf("a lease is not renewed or returned: %v", err)
	}
	if n, err := s.Tasks().Count(ctx, "x"); n != 1 || err != nil { // and what has expired is gone
		t.Errorf("%d are left, %v", n, err)
	}
	if err := s.Tasks().Create(ctx, working("a")); err == nil {
		t.Error("a task was created where others have made room")
	}
	if err := s.Tasks().Delete(ctx, "over"); err != nil {
		t.Errorf("Delete frees nothing: %v", err)
	}
	if err := client.ConfigSet(ctx, "maxmemory", "0").Err(); err != nil {
		t.Fatal(err)
	}
	if r, err := s.Tasks().Get(ctx, "before"); err != nil || r.Status != protocol.TaskWorking {
		t.Errorf("what was there: %+v, %v", r, err)
	}
	create(t, queueOf(s), "a")
	wantTask(t, queueOf(s), "before")
	wantTask(t, queueOf(s), "a")
}

// TestUnreadable: what cannot be read hides none of the others.
func TestUnreadable(t *testing.T) {
	t.Parallel()
	client := clientOf(t, redisserver.Start(t).Addr())
	s, ctx := storeWith(t, client), t.Context()
	for name, spoil := range map[string]func(key string){
		"of a later program": func(key string) { client.HSet(ctx, key, "d", "\x00\xff") },
		"without data":       func(key string) { client.HDel(ctx, key, "d") },
		"without version":    func(key string) { client.HDel(ctx, key, "v") },
		"without creation":   func(key string) { client.HSet(ctx, key, "c", "x") },
	} {
		for _, id := range []string{"a", "b", "c"} {
			if err := s.Tasks().Create(ctx, working(id)); err != nil {
				t.Fatal(err)
			}
		}
		spoil(s.RecordKey("b"))
		for after, want := range map[string]string{"": "abc", "a": "bc", "b": "c"} {
			list, err := s.Tasks().List(ctx, "x", after, 9)
			got := ""
			for _, r := range list {
				got += r.ID
				if r.Readable() != (r.ID != "b") || r.Owner != "x" {
					t.Errorf("%s: %+v", name, r)
				}
			}
			if got != want || err != nil {
				t.Errorf("%s, after %q: %q, %v", name, after, got, err)
			}
		}
		if _, err := s.Tasks().Get(ctx, "b"); !errors.Is(err, task.ErrUnreadable) {
			t.Errorf("%s: Get: %v", name, err)
		}
		for _, id := range []string{"a", "b", "c"} {
			if l := take(t, queueOf(s)); l.Task != id {
				t.Errorf("%s: %+v is taken", name, l)
			}
			if err := s.Tasks().Delete(ctx, id); err != nil {
				t.Errorf("%s: Delete: %v", name, err)
			}
		}
	}
	for range 2 {
		if _, err := s.Events().Append(ctx, "stream", []byte("frame")); err != nil {
			t.Fatal(err)
		}
	}
	client.HSet(ctx, s.StreamKeys("stream")[0], "2", "\x01")
	if _, err := s.Events().After(ctx, "stream", 0); !errors.Is(err, eventlog.ErrExpired) || !errors.Is(err, redisstore.ErrKey) {
		t.Errorf("a stream with an unreadable frame: %v", err)
	}
}
