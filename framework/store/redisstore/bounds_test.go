package redisstore_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/framework/internal/redisserver"
	"github.com/kagami-mcp/kagami/framework/store/redisstore"
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

// TestIndexesAreSwept: what expired leaves nothing but a trace, which expires, whoever it
// was of.
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
