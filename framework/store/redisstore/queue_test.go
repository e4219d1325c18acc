package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/kagami-mcp/kagami/framework/internal/redisserver"
	"github.com/kagami-mcp/kagami/framework/store/redisstore"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/task"
	"github.com/kagami-mcp/kagami/testkit/storetest"
)

func create(t testing.TB, s storetest.QueueStore, ids ...string) {
	t.Helper()
	for _, id := range ids {
		if err := s.Create(t.Context(), working(id)); err != nil {
			t.Fatal(err)
		}
	}
}

// take fails the test where nothing comes. It may be called from any goroutine.
func take(t testing.TB, s storetest.QueueStore) task.Lease {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	l, err := s.Take(ctx)
	if err != nil {
		t.Errorf("Take: %v", err)
	}
	return l
}

func wantTask(t testing.TB, s storetest.QueueStore, id string) task.Lease {
	t.Helper()
	l := take(t, s)
	if l.Task != id {
		t.Fatalf("it took %q, want %q", l.Task, id)
	}
	return l
}

func queueOf(s *redisstore.Store) storetest.QueueStore { return s.Tasks().(storetest.QueueStore) }

// TestOneConnection: however many wait, one connection waits for them, and what comes goes
// to one each.
func TestOneConnection(t *testing.T) {
	t.Parallel()
	const takers = 60
	server := redisserver.Start(t)
	client := clientOf(t, server.Addr())
	s, other := queueOf(storeWith(t, client)), queueOf(storeOn(t, server.Addr()))
	var all sync.WaitGroup
	took := make(chan task.Lease, takers)
	for range takers {
		all.Go(func() { took <- take(t, s) })
	}
	for i := range takers {
		create(t, other, fmt.Sprint(i))
	}
	all.Wait()
	close(took)
	seen := map[string]bool{}
	for l := range took {
		if seen[l.Task] || l.Again {
			t.Errorf("%+v: again", l)
		}
		seen[l.Task] = true
	}
	if len(seen) != takers {
		t.Errorf("%d tasks were taken", len(seen))
	}
	if n := client.PoolStats().TotalConns; n > 2 {
		t.Errorf("%d connections", n)
	}
}

// TestNothingAhead: a store takes nothing for callers that it does not have, and who goes
// away takes nothing along.
func TestNothingAhead(t *testing.T) {
	t.Parallel()
	server := redisserver.Start(t)
	a, b := queueOf(storeOn(t, server.Addr())), queueOf(storeOn(t, server.Addr()))
	create(t, a, "first", "second", "third")
	wantTask(t, a, "first")
	wantTask(t, b, "second")
	wantTask(t, b, "third")
	for i := range 20 {
		ctx, cancel := context.WithCancel(t.Context())
		var one sync.WaitGroup
		one.Go(func() {
			l, err := a.Take(ctx)
			if err == nil {
				err = a.Release(t.Context(), l)
			}
			if err != nil && !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		})
		id := fmt.Sprint("task ", i)
		go cancel() // while it comes
		create(t, b, id)
		one.Wait()
		if l := wantTask(t, b, id); l.Again {
			t.Error("it is said to have run")
		}
	}
}

// TestNoGroup: the line is made when it is needed, and made again when Redis forgot it.
func TestNoGroup(t *testing.T) {
	t.Parallel()
	server := redisserver.Start(t)
	client := clientOf(t, server.Addr())
	store := storeWith(t, client)
	s := queueOf(store)
	create(t, s, "before anybody took")
	wantTask(t, s, "before anybody took")
	waits := make(chan task.Lease)
	go func() { waits <- take(t, s) }()
	for range 3 {
		if err := client.FlushAll(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
	}
	create(t, s, "after all was gone")
	if l := <-waits; l.Task != "after all was gone" {
		t.Errorf("it took %q", l.Task)
	}
	if err := client.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	if err := store.Reap(t.Context(), time.Millisecond); err != nil {
		t.Errorf("looking for consumers without a line: %v", err)
	}
	lost := task.Lease{Task: "x", Token: "1-1 1 x"}
	if err := s.Renew(t.Context(), lost); !errors.Is(err, task.ErrLost) {
		t.Errorf("Renew without a line: %v", err)
	}
	if err := s.Release(t.Context(), lost); err != nil {
		t.Errorf("Release without a line: %v", err)
	}
}

// TestStaleEntries: what is in the line and no turn of a record is dropped, not handed out.
func TestStaleEntries(t *testing.T) {
	t.Parallel()
	server := redisserver.Start(t)
	client := clientOf(t, server.Addr())
	store := storeWith(t, client)
	s := queueOf(store)
	create(t, s, "a", "gone")
	for range 300 { // more than one script looks at
		for _, id := range []string{"a", "gone", "never there"} {
			if err := client.Do(t.Context(), "XADD", store.LineKey(), "*", "i", id).Err(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := client.Do(t.Context(), "XADD", store.LineKey(), "*", "other", "field").Err(); err != nil {
		t.Fatal(err)
	}
	if err := client.Del(t.Context(), store.RecordKey("gone")).Err(); err != nil { // as if it had expired
		t.Fatal(err)
	}
	create(t, s, "b")
	wantTask(t, s, "a")
	l := wantTask(t, s, "b")
	if err := s.Renew(t.Context(), l); err != nil {
		t.Error(err)
	}
	if n := client.XLen(t.Context(), store.LineKey()).Val(); n != 2 {
		t.Errorf("%d entries are in the line, two tasks are being run", n)
	}
}

// TestLineStaysShort: a task that is over leaves nothing in the line, and nothing pending.
func TestLineStaysShort(t *testing.T) {
	t.Parallel()
	server := redisserver.Start(t)
	client := clientOf(t, server.Addr())
	store := storeWith(t, client)
	s := queueOf(store)
	for i := range 50 {
		if err := lifeOf(t.Context(), s, working(fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
	}
	if n := client.XLen(t.Context(), store.LineKey()).Val(); n != 0 {
		t.Errorf("%d entries are left", n)
	}
	if p := client.XPending(t.Context(), store.LineKey(), "w").Val(); p.Count != 0 {
		t.Errorf("%d are pending", p.Count)
	}
}

// TestReap: processes that are gone are forgotten, but not what they had.
func TestReap(t *testing.T) {
	t.Parallel()
	server := redisserver.Start(t)
	client := clientOf(t, server.Addr())
	store := storeWith(t, client, redisstore.LeaseLife(50*time.Millisecond), redisstore.Sweep(50*time.Millisecond))
	s := queueOf(store)
	for i := range 5 {
		other := queueOf(storeWith(t, client))
		id := fmt.Sprint(i)
		create(t, s, id)
		l := wantTask(t, other, id)
		if i == 0 {
			continue // it dies while it has it
		}
		r, _ := other.Get(t.Context(), id)
		r.Status = protocol.TaskCancelled
		if err := errors.Join(other.Update(t.Context(), r), other.Release(t.Context(), l)); err != nil {
			t.Fatal(err)
		}
	}
	consumers := 0
	for deadline := time.Now().Add(patience); consumers != 1; { // Redis counts in milliseconds
		if err := store.Reap(t.Context(), time.Millisecond); err != nil {
			t.Fatal(err)
		}
		consumers = len(client.XInfoConsumers(t.Context(), store.LineKey(), "w").Val())
		if consumers < 1 || time.Now().After(deadline) {
			t.Fatalf("%d consumers are left, one has a task", consumers)
		}
	}
	if l := wantTask(t, s, "0"); !l.Again {
		t.Error("a lease that ran out is said not to have run")
	}
}

func TestClose(t *testing.T) {
	t.Parallel()
	server := redisserver.Start(t)
	client := clientOf(t, server.Addr())
	s := redisstore.New(client)
	errs := make(chan error, 4)
	for range 2 {
		go func() {
			_, err := queueOf(s).Take(t.Context())
			errs <- err
		}()
		ready := make(chan struct{})
		go func() {
			errs <- s.Changes().Subscribe(t.Context(), func([]byte) { close(ready) })
		}()
		<-ready
	}
	if err := errors.Join(s.Close(), s.Close()); err != nil {
		t.Fatal(err)
	}
	for range cap(errs) {
		if err := <-errs; !errors.Is(err, redisstore.ErrClosed) {
			t.Errorf("it ended with %v", err)
		}
	}
	if _, err := queueOf(s).Take(t.Context()); !errors.Is(err, redisstore.ErrClosed) {
		t.Errorf("Take after Close: %v", err)
	}
	if err := s.Changes().Subscribe(t.Context(), nil); !errors.Is(err, redisstore.ErrClosed) {
		t.Errorf("Subscribe after Close: %v", err)
	}
	create(t, queueOf(storeWith(t, client)), "a")
	wantTask(t, queueOf(storeWith(t, client)), "a") // the closed one took nothing
}

// TestCloseKeepsNothing: a task that arrives while Close waits for the reader goes to another store, and
// does not count as taken.
func TestCloseKeepsNothing(t *testing.T) {
	t.Parallel()
	server := redisserver.Start(t)
	life := redisstore.LeaseLife(2 * time.Second)
	s := queueOf(storeOn(t, server.Addr(), life, redisstore.Sweep(100*time.Millisecond)))
	for i := range 5 {
		closing := redisstore.New(clientOf(t, server.Addr()), life)
		ended, closed := make(chan error, 1), make(chan error, 1)
		go func() {
			_, err := queueOf(closing).Take(t.Context())
			ended <- err
		}()
		time.Sleep(300 * time.Millisecond) // its reader waits at Redis then
		go func() { closed <- closing.Close() }()
		if err := <-ended; !errors.Is(err, redisstore.ErrClosed) {
			t.Errorf("Take: %v", err)
		}
		id := fmt.Sprint(i)
		create(t, s, id)
		if err := <-closed; err != nil {
			t.Error(err)
		}
		if l := wantTask(t, s, id); l.Again {
			t.Errorf("task %s is said to have run", id)
		}
		if err := s.Delete(t.Context(), id); err != nil {
			t.Error(err)
		}
	}
}

// standstill holds back a reply that has a task, as if the process were suspended.
type standstill struct {
	read chan struct{} // has an element when Redis has sent the task
	goOn chan struct{}
}

func (s *standstill) DialHook(next redis.DialHook) redis.DialHook { return next }

func (s *standstill) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (s *standstill) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if err == nil && cmd.Name() == "xreadgroup" {
			s.read <- struct{}{}
			<-s.goOn
		}
		return err
	}
}

// TestTakeAfterAStandstill: a store does not lease a task that another one has taken while its process stood
// still after it had read the task. If no other has it, its life begins when the process goes on.
func TestTakeAfterAStandstill(t *testing.T) {
	t.Parallel()
	for _, taken := range []bool{true, false} {
		t.Run(fmt.Sprint("taken ", taken), func(t *testing.T) {
			t.Parallel()
			server, life := redisserver.Start(t), redisstore.LeaseLife(3*time.Second)
			s := queueOf(storeOn(t, server.Addr(), life, redisstore.Sweep(100*time.Millisecond)))
			client, still := clientOf(t, server.Addr()), &standstill{make(chan struct{}, 1), make(chan struct{})}
			client.AddHook(still)
			late := queueOf(storeWith(t, client, life))
			ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
			defer cancel()
			got := make(chan task.Lease, 1)
			go func() {
				l, err := late.Take(ctx)
				if err == nil {
					got <- l
				}
			}()
			time.Sleep(700 * time.Millisecond) // its reader waits at Redis then
			create(t, s, "a")
			<-still.read
			if !taken {
				time.Sleep(2800 * time.Millisecond)
				close(still.goOn)
				<-got
				ctx, cancel := context.WithTimeout(t.Context(), 600*time.Millisecond)
				defer cancel()
				if l, err := s.Take(ctx); err == nil {
					t.Errorf("%s was taken from the store that had just leased it", l.Task)
				}
				return
			}
			if l := wantTask(t, s, "a"); !l.Again {
				t.Error("the task was not leased before")
			}
			close(still.goOn)
			select {
			case l := <-got:
				t.Errorf("both stores have task %s", l.Task)
			case <-time.After(time.Second):
			}
		})
	}
}

// leaving holds back the reply of the script that has claimed a task.
type leaving struct {
	once       sync.Once
	read, goOn chan struct{}
}

func (s *leaving) DialHook(next redis.DialHook) redis.DialHook { return next }

func (s *leaving) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (s *leaving) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		c, ok := cmd.(interface{ Slice() ([]any, error) })
		if !ok || err != nil || !strings.HasPrefix(cmd.Name(), "eval") {
			return err
		}
		if reply, err := c.Slice(); err == nil && len(reply) > 2 && reply[2] == "a" {
			s.once.Do(func() { close(s.read); <-s.goOn })
		}
		return err
	}
}

// TestGiveBackKeepsAgain: a task of a dead worker that no Take waits for any more is not handed out as new.
func TestGiveBackKeepsAgain(t *testing.T) {
	t.Parallel()
	server := redisserver.Start(t)
	opts := []redisstore.Option{redisstore.LeaseLife(500 * time.Millisecond), redisstore.Sweep(50 * time.Millisecond)}
	dead := queueOf(storeOn(t, server.Addr(), opts...))
	create(t, dead, "a")
	wantTask(t, dead, "a")
	time.Sleep(600 * time.Millisecond)
	client, hook := clientOf(t, server.Addr()), &leaving{read: make(chan struct{}), goOn: make(chan struct{})}
	client.AddHook(hook)
	leaves := queueOf(storeWith(t, client, opts...))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { _, err := leaves.Take(ctx); ended <- err }()
	select {
	case <-hook.read:
	case <-time.After(20 * time.Second):
		t.Fatal("the task was not claimed")
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	close(hook.goOn)
	if l := wantTask(t, queueOf(storeOn(t, server.Addr(), opts...)), "a"); !l.Again {
		t.Error("a task of a dead worker is handed out as new")
	}
}
