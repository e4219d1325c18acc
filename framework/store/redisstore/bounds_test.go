package redisstore_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/framework/internal/redisserver"
	"github.com/kagami-mcp/kagami/framework/store/redisstore"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/eventlog"
	"github.com/kagami-mcp/kagami/protocol/session"
	"github.com/kagami-mcp/kagami/protocol/task"
)

// keeps says that exactly the events from number first to last can be read.
func keeps(t *testing.T, e eventlog.Store, stream string, first, last uint64) {
	t.Helper()
	for seq := range last + 1 {
		events, err := e.After(t.Context(), stream, seq)
		switch {
		case seq+1 < first:
			if !errors.Is(err, eventlog.ErrExpired) {
				t.Errorf("After(%q, %d) = %d events, %v; want ErrExpired", stream, seq, len(events), err)
			}
		case err != nil || uint64(len(events)) != last-seq:
			t.Errorf("After(%q, %d) = %d events, %v; want %d", stream, seq, len(events), err, last-seq)
		}
	}
}

func TestStreamBounds(t *testing.T) {
	t.Parallel()
	server := redisserver.Start(t)
	for name, opts := range map[string][]redisstore.Option{"clear": nil, "sealed": {redisstore.Encrypt(newKey)}} {
		opts = append(opts, redisstore.Prefix(name+":"), redisstore.StreamEvents(5), redisstore.StreamBytes(10))
		e := storeOn(t, server.Addr(), opts...).Events()
		for i, step := range []struct {
			frame string
			first uint64
		}{
			{"1234", 1},
			{"567890", 1}, // just full
			{"", 1},       // takes nothing
			{"x", 2},
			{"12345678", 3},
			{"larger than all", 6}, // alone
			{"", 7},
			{"1", 7},
			{"1", 7},
			{"1", 7},
			{"1", 7},
			{"1", 8}, // five of them
			{"1234567890", 13},
		} {
			seq, err := e.Append(t.Context(), "s", []byte(step.frame))
			if seq != uint64(i)+1 || err != nil {
				t.Fatalf("step %d: number %d, %v", i+1, seq, err)
			}
			keeps(t, e, "s", step.first, seq)
		}
	}
}

// TestStreamTTL: events expire, their number does not: a stream does not begin at 1 again.
func TestStreamTTL(t *testing.T) {
	t.Parallel()
	server := redisserver.Start(t)
	e := storeOn(t, server.Addr(), redisstore.StreamTTL(200*time.Millisecond)).Events()
	for range 2 {
		if _, err := e.Append(t.Context(), "s", []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	deadline := time.Now().Add(patience)
	for {
		if _, err := e.After(t.Context(), "s", 1); errors.Is(err, eventlog.ErrExpired) {
			break
		} else if err != nil || time.Now().After(deadline) {
			t.Fatalf("the events do not expire: %v", err)
		}
		time.Sleep(10 * time.Millisecond)
	}
	keeps(t, e, "s", 3, 2)
	if seq, err := e.Append(t.Context(), "s", []byte("x")); seq != 3 || err != nil {
		t.Errorf("it goes on with %d, %v", seq, err)
	}
	keeps(t, e, "s", 3, 3)
}

// TestManyEvents: more than one command of Redis takes.
func TestManyEvents(t *testing.T) {
	t.Parallel()
	server := redisserver.Start(t, "--appendfsync", "no")
	e := storeOn(t, server.Addr()).Events()
	const many = 2500
	for i := range many {
		if _, err := e.Append(t.Context(), "s", fmt.Append(nil, i+1)); err != nil {
			t.Fatal(err)
		}
	}
	events, err := e.After(t.Context(), "s", 0)
	if len(events) != many || err != nil {
		t.Fatalf("%d events, %v", len(events), err)
	}
	for i, event := range events {
		if event.Seq != uint64(i)+1 || string(event.Frame) != fmt.Sprint(event.Seq) {
			t.Fatalf("event %d is number %d, %q", i+1, event.Seq, event.Frame)
		}
	}
}

// TestLongList: more than one script gives.
func TestLongList(t *testing.T) {
	t.Parallel()
	server := redisserver.Start(t, "--appendfsync", "no")
	s := storeOn(t, server.Addr()).Tasks()
	const many = 40
	for i := range many {
		r := working(fmt.Sprint(i))
		r.Call = make([]byte, 100<<10)
		if err := s.Create(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	for _, limit := range []int{1, 11, 39, 40, 41} {
		list, err := s.List(t.Context(), "x", "", limit)
		if len(list) != min(limit, many) || err != nil {
			t.Fatalf("%d of %d tasks, %v", len(list), limit, err)
		}
		for i, r := range list {
			if r.ID != fmt.Sprint(i) {
				t.Errorf("task %d is %q", i, r.ID)
			}
		}
	}
}

// TestIndexesAreSwept checks that expired data leaves only a trace in the indexes, and that the
// trace expires, too, whatever owner it belongs to.
func TestIndexesAreSwept(t *testing.T) {
	t.Parallel()
	server := redisserver.Start(t)
	client := clientOf(t, server.Addr())
	s := storeWith(t, client)
	const many = 20
	for i := range many {
		r := working(fmt.Sprint(i))
		r.Owner, r.TTL = fmt.Sprintf("owner: %d", i), 50*time.Millisecond
		if err := s.Tasks().Create(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	deadline := time.Now().Add(patience)
	for i := 0; ; i++ {
		keys := strings.Join(client.Keys(t.Context(), "*").Val(), "\n")
		if !strings.Contains(keys, "owner: ") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("still there:\n%s", keys)
		}
		if _, err := s.Tasks().Count(t.Context(), "nobody"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Millisecond)
	}
	for _, key := range client.Keys(t.Context(), "*:g:*").Val() {
		if ttl := client.TTL(t.Context(), key).Val(); ttl <= 0 {
			t.Errorf("%q stays for ever", key)
		}
	}
}

// TestEnded: of an owner's tasks that have ended so many are kept, in so many bytes; others'
// tasks, and those that have not ended, are not touched, and nothing is left in the end.
func TestEnded(t *testing.T) {
	t.Parallel()
	client := clientOf(t, redisserver.Start(t, "--appendfsync", "no").Addr())
	s, ctx := storeWith(t, client, redisstore.EndedTasks(3), redisstore.EndedBytes(20<<10)), t.Context()
	end := func(id string, result int) {
		r, err := s.Tasks().Get(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		r.Status, r.Call, r.Result = protocol.TaskCompleted, nil, make([]byte, result)
		if err := s.Tasks().Update(ctx, r); err != nil {
			t.Fatal(err)
		}
	}
	want := func(owner string, ids ...string) {
		t.Helper()
		list, err := s.Tasks().List(ctx, owner, "", 99)
		got := []string{}
		for _, r := range list {
			got = append(got, r.ID)
		}
		if !slices.Equal(got, ids) || err != nil {
			t.Errorf("%s has %q, want %q: %v", owner, got, ids, err)
		}
	}
	other := working("y")
	other.Owner, other.Status, other.Result = "other", protocol.TaskCompleted, []byte("{}")
	if err := s.Tasks().Create(ctx, other); err != nil {
		t.Fatal(err)
	}
	create(t, queueOf(s), "a", "b", "c", "d", "e", "f")
	for _, id := range []string{"e", "b", "a"} {
		end(id, 10)
		time.Sleep(2 * time.Millisecond) // tasks are ordered by the time of their end
	}
	want("x", "a", "b", "c", "d", "e", "f")
	end("c", 10)
	want("x", "a", "b", "c", "d", "f")
	want("x", "a", "b", "c", "d", "f")
	if list, err := s.Tasks().List(ctx, "x", "e", 1); len(list) != 1 || list[0].ID != "f" || err != nil {
		t.Errorf("after the one that is gone: %v, %v", list, err)
	}
	end("d", 19<<10)
	want("x", "d", "f")
	end("f", 1<<20)
	want("x", "f")
	want("other", "y")
	if n, err := s.Tasks().Count(ctx, "x"); n != 0 || err != nil {
		t.Errorf("%d have not ended, %v", n, err)
	}
	create(t, queueOf(s), "g")
	end("g", 10)
	want("x", "g")
	if err := errors.Join(s.Tasks().Delete(ctx, "g"), s.Tasks().Delete(ctx, "y")); err != nil {
		t.Fatal(err)
	}
	for _, key := range client.Keys(ctx, "*").Val() {
		if !strings.Contains(key, ":g:") && key != s.LineKey() && !strings.HasSuffix(key, "}:n") {
			t.Errorf("%q is left", key)
		}
	}
}

// TestPrefix: stores of different prefixes know nothing of each other.
func TestPrefix(t *testing.T) {
	t.Parallel()
	server := redisserver.Start(t)
	client := clientOf(t, server.Addr())
	a, b := storeWith(t, client, redisstore.Prefix("a:")), storeWith(t, client, redisstore.Prefix("b:"))
	ctx := t.Context()
	create(t, queueOf(a), "t")
	if err := a.Sessions().Create(ctx, session.Record{ID: "s"}); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Events().Append(ctx, "e", nil); err != nil {
		t.Fatal(err)
	}
	if _, mine, err := a.Claims().Claim(ctx, "c", nil, time.Hour); !mine || err != nil {
		t.Fatal(err)
	}
	if _, err := b.Tasks().Get(ctx, "t"); !errors.Is(err, task.ErrNotFound) {
		t.Errorf("the task: %v", err)
	}
	if n, err := b.Tasks().Count(ctx, "x"); n != 0 || err != nil {
		t.Errorf("it counts %d, %v", n, err)
	}
	if _, err := b.Sessions().Get(ctx, "s"); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("the session: %v", err)
	}
	if _, err := b.Events().After(ctx, "e", 0); !errors.Is(err, eventlog.ErrExpired) {
		t.Errorf("the stream: %v", err)
	}
	if _, mine, err := b.Claims().Claim(ctx, "c", nil, time.Hour); !mine || err != nil {
		t.Errorf("the claim: %v", err)
	}
	create(t, queueOf(b), "of b")
	wantTask(t, queueOf(b), "of b")
	wantTask(t, queueOf(a), "t")
	heard := make(chan string, 10)
	go func() { _ = b.Changes().Subscribe(ctx, func(m []byte) { heard <- string(m) }) }()
	<-heard
	for _, s := range []*redisstore.Store{a, b} {
		if err := s.Changes().Publish(ctx, []byte(s.LineKey())); err != nil {
			t.Fatal(err)
		}
	}
	if got := <-heard; got != b.LineKey() {
		t.Errorf("heard %q", got)
	}
	for _, key := range client.Keys(ctx, "*").Val() {
		if !strings.HasPrefix(key, "a:") && !strings.HasPrefix(key, "b:") {
			t.Errorf("%q has no prefix", key)
		}
	}
}
