package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/kagami-mcp/kagami/framework/internal/redisserver"
	"github.com/kagami-mcp/kagami/framework/store/redisstore"
	"github.com/kagami-mcp/kagami/protocol/session"
	"github.com/kagami-mcp/kagami/protocol/task"
)

// soon is what Open promises, about. A machine that is busy with other tests may stand still
// for longer, but not each time.
const soon = 4 * time.Second

func opened(t *testing.T, server *redisserver.Server, opts ...redisstore.Option) *redisstore.Store {
	t.Helper()
	s, err := redisstore.Open(t.Context(), "redis://"+server.Addr(), opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// calls are one of each kind.
func calls(s *redisstore.Store) map[string]func(ctx context.Context) error {
	return map[string]func(ctx context.Context) error{
		"Create":  func(ctx context.Context) error { return s.Tasks().Create(ctx, working("a")) },
		"Get":     func(ctx context.Context) error { _, err := s.Tasks().Get(ctx, "a"); return err },
		"List":    func(ctx context.Context) error { _, err := s.Tasks().List(ctx, "x", "", 9); return err },
		"Count":   func(ctx context.Context) error { _, err := s.Tasks().Count(ctx, "x"); return err },
		"Delete":  func(ctx context.Context) error { return s.Tasks().Delete(ctx, "a") },
		"Take":    func(ctx context.Context) error { _, err := queueOf(s).Take(ctx); return err },
		"Renew":   func(ctx context.Context) error { return queueOf(s).Renew(ctx, task.Lease{Token: "1-1 1 x"}) },
		"Release": func(ctx context.Context) error { return queueOf(s).Release(ctx, task.Lease{Token: "1-1 1 x"}) },
		"Session": func(ctx context.Context) error { return s.Sessions().Create(ctx, session.Record{ID: "a"}) },
		"Touch":   func(ctx context.Context) error { return s.Sessions().Touch(ctx, "a", time.Time{}) },
		"Append":  func(ctx context.Context) error { _, err := s.Events().Append(ctx, "a", nil); return err },
		"After":   func(ctx context.Context) error { _, err := s.Events().After(ctx, "a", 0); return err },
		"Claim": func(ctx context.Context) error {
			_, _, err := s.Claims().Claim(ctx, "a", nil, time.Hour)
			return err
		},
		"Add":     func(ctx context.Context) error { _, err := s.Claims().Add(ctx, "a", 1, time.Hour); return err },
		"Publish": func(ctx context.Context) error { return s.Changes().Publish(ctx, []byte("x")) },
	}
}

// allFail says that each call ends in an error, and that it says where it comes from. It
// returns how long they took together.
func allFail(t *testing.T, s *redisstore.Store) time.Duration {
	t.Helper()
	type outcome struct {
		name string
		err  error
	}
	ended := make(chan outcome)
	began := time.Now()
	all := calls(s)
	for name, call := range all {
		go func() { ended <- outcome{name, call(t.Context())} }()
	}
	for range all {
		o := <-ended
		if o.err == nil || !strings.HasPrefix(o.err.Error(), "redisstore: ") {
			t.Errorf("%s: %v", o.name, o.err)
		}
	}
	return time.Since(began)
}

// TestStandsStill: Redis answers nothing for ten seconds.
func TestStandsStill(t *testing.T) {
	t.Parallel()
	server := redisserver.Start(t)
	s := opened(t, server, redisstore.LeaseLife(time.Second), redisstore.Sweep(200*time.Millisecond))
	q := queueOf(s)
	create(t, q, "taken", "in line")
	l := wantTask(t, q, "taken")
	nils := listen(t, s)
	<-nils
	waits := make(chan error, 1)
	wantTask(t, q, "in line")
	go func() {
		_, err := q.Take(t.Context())
		waits <- err
	}()
	server.Pause()
	began := time.Now()
	if err := <-waits; err == nil {
		t.Errorf("who waited had no error after %v", time.Since(began))
	}
	quickest := allFail(t, s)
	for time.Since(began) < 10*time.Second {
		quickest = min(quickest, allFail(t, s))
	}
	if quickest > soon {
		t.Errorf("it always takes more than %v until all calls have failed", quickest)
	}
	server.Continue()
	<-nils // the bus noticed
	again := map[string]bool{}
	for len(again) < 2 {
		lease := takeInTheEnd(t, q)
		if !lease.Again {
			t.Errorf("%+v is handed out as new", lease)
		}
		again[lease.Task] = true
	}
	if err := q.Renew(t.Context(), l); !errors.Is(err, task.ErrLost) {
		t.Errorf("the lease from before: %v", err)
	}
}

// takeInTheEnd tries again as a worker does.
func takeInTheEnd(t *testing.T, q task.Queue) task.Lease {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		l, err := q.Take(ctx)
		if err == nil {
			return l
		}
		if ctx.Err() != nil {
			t.Fatalf("Take: %v", err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// listen subscribes until the test ends, and tells of each nil.
func listen(t *testing.T, s *redisstore.Store) (nils chan struct{}) {
	t.Helper()
	nils = make(chan struct{}, 100)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.Changes().Subscribe(ctx, func(m []byte) {
			if m == nil {
				nils <- struct{}{}
			}
		})
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return nils
}

// TestRestart: Redis is killed and comes back with its data. No other program restarts.
func TestRestart(t *testing.T) {
	t.Parallel()
	server := redisserver.Start(t)
	s := opened(t, server, redisstore.LeaseLife(time.Minute))
	q, ctx := queueOf(s), t.Context()
	create(t, q, "taken", "in line")
	l := wantTask(t, q, "taken")
	if err := s.Sessions().Create(ctx, session.Record{ID: "a", Data: []byte("x")}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Events().Append(ctx, "a", []byte("x")); err != nil {
		t.Fatal(err)
	}
	nils := listen(t, s)
	<-nils
	server.Stop()
	allFail(t, s)
	server.Restart()
	<-nils
	if lease := takeInTheEnd(t, q); lease.Task != "in line" || lease.Again {
		t.Errorf("it took %+v", lease)
	}
	if err := q.Renew(ctx, l); err != nil {
		t.Errorf("a lease does not outlive Redis: %v", err)
	}
	if r, err := s.Sessions().Get(ctx, "a"); err != nil || string(r.Data) != "x" {
		t.Errorf("the session: %+v, %v", r, err)
	}
	if seq, err := s.Events().Append(ctx, "a", nil); seq != 2 || err != nil {
		t.Errorf("the stream goes on with %d, %v", seq, err)
	}
	if n, err := s.Tasks().Count(ctx, "x"); n != 2 || err != nil {
		t.Errorf("%d tasks, %v", n, err)
	}
}

// TestRestartWithNothing checks that a store works again after Redis has lost all its data.
func TestRestartWithNothing(t *testing.T) {
	t.Parallel()
	server := redisserver.Start(t, "--appendonly", "no")
	s := opened(t, server)
	q := queueOf(s)
	create(t, q, "lost", "lost, too")
	l := wantTask(t, q, "lost")
	server.Restart()
	if err := q.Renew(t.Context(), l); !errors.Is(err, task.ErrLost) {
		t.Errorf("Renew: %v", err)
	}
	if err := q.Release(t.Context(), l); err != nil {
		t.Errorf("Release: %v", err)
	}
	create(t, q, "new")
	if l := takeInTheEnd(t, q); l.Task != "new" {
		t.Errorf("it took %q", l.Task)
	}
}

func TestOpen(t *testing.T) {
	t.Parallel()
	server := redisserver.Start(t, "--requirepass", "secret")
	s, err := redisstore.Open(t.Context(), "redis://:secret@"+server.Addr()+"/3?read_timeout=1s")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := s.Tasks().Create(t.Context(), working("a")); err == nil {
		t.Error("a closed client takes tasks")
	}
	nobody, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0") // it accepts, and says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = nobody.Close() }()
	for _, address := range []string{
		"", "localhost:6379", "http://localhost", "redis://:pass word@%zz", "redis://:pass word@host:port",
		"redis://:wrong-secret@" + server.Addr(), "redis://127.0.0.1:1", "redis://:secret@" + nobody.Addr().String(),
		"rediss://:secret@" + server.Addr(),
	} {
		took, err := openFails(t, address)
		for try := 1; took > soon && try < 3; try++ {
			took, err = openFails(t, address)
		}
		if took > soon {
			t.Errorf("Open(%q) took %v", address, took)
		}
		if text := err.Error(); !strings.HasPrefix(text, "redisstore: ") || strings.Contains(text, "secret") || strings.Contains(text, "pass word") {
			t.Errorf("Open(%q): %v", address, err)
		}
	}
}

func openFails(t *testing.T, address string) (took time.Duration, err error) {
	t.Helper()
	began := time.Now()
	s, err := redisstore.Open(t.Context(), address)
	if err == nil {
		t.Fatalf("Open(%q) succeeds: %v", address, s.Close())
	}
	return time.Since(began), err
}

// TestOpenWaits as long as the URL says, and longer than it would by itself.
func TestOpenWaits(t *testing.T) {
	t.Parallel()
	for _, reading := range []string{"1m", "-1"} {
		server := redisserver.Start(t)
		server.Pause()
		opened := make(chan error, 1)
		go func() {
			s, err := redisstore.Open(t.Context(), "redis://"+server.Addr()+"?dial_timeout=1m&read_timeout="+reading)
			if err == nil {
				err = s.Close()
			}
			opened <- err
		}()
		time.Sleep(3 * time.Second)
		server.Continue()
		if err := <-opened; err != nil {
			t.Errorf("read_timeout=%s: %v", reading, err)
		}
	}
}

// deaf loses the answer to what was sent, once.
type deaf struct {
	net.Conn
	lose *atomic.Bool
}

func (d deaf) Read(b []byte) (int, error) {
	n, err := d.Conn.Read(b)
	if n > 0 && d.lose.CompareAndSwap(true, false) {
		return 0, errors.Join(errors.New("the answer is lost"), d.Close())
	}
	return n, err
}

// TestOnce: a client that tries again does not do so with what changes something.
func TestOnce(t *testing.T) {
	t.Parallel()
	server := redisserver.Start(t)
	lose := &atomic.Bool{}
	client := redis.NewClient(&redis.Options{
		Addr: server.Addr(), MaxRetries: 5,
		Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := (&net.Dialer{}).DialContext(ctx, network, addr)
			return deaf{conn, lose}, err
		},
	})
	t.Cleanup(func() { _ = client.Close() })
	s, ctx := storeWith(t, client), t.Context()
	for i := range uint64(3) { // the first one loads the script
		if err := client.Ping(ctx).Err(); err != nil { // a connection that is ready
			t.Fatal(err)
		}
		lose.Store(i > 0)
		seq, err := s.Events().Append(ctx, "s", []byte("x"))
		if i == 0 && (seq != 1 || err != nil) || i > 0 && err == nil {
			t.Fatalf("Append %d: number %d, %v", i, seq, err)
		}
	}
	events, err := s.Events().After(ctx, "s", 0)
	if len(events) != 3 || err != nil {
		t.Errorf("three times appended, there are %d events, %v", len(events), err)
	}
	heard := make(chan string, 10)
	listener := storeOn(t, server.Addr())
	go func() { _ = listener.Changes().Subscribe(ctx, func(m []byte) { heard <- string(m) }) }()
	if first := <-heard; first != "" {
		t.Fatalf("%q came first", first)
	}
	if err := client.Ping(ctx).Err(); err != nil {
		t.Fatal(err)
	}
	lose.Store(true)
	if err := s.Changes().Publish(ctx, []byte("a")); err == nil {
		t.Error("Publish without an answer is no error")
	}
	if err := s.Changes().Publish(ctx, []byte("b")); err != nil {
		t.Error(err)
	}
	if got := fmt.Sprint(<-heard, <-heard); got != "ab" {
		t.Errorf("heard %q", got)
	}
}
