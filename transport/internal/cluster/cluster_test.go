package cluster_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/kagami-mcp/kagami/framework/store/memory"
	"github.com/kagami-mcp/kagami/protocol/session"
	"github.com/kagami-mcp/kagami/transport/internal/cluster"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bus hands its messages to one subscriber.
type bus struct {
	messages chan []byte
	err      error
}

func (b *bus) Publish(_ context.Context, message []byte) error {
	if b.err == nil {
		b.messages <- message
	}
	return b.err
}

func (b *bus) Subscribe(ctx context.Context, fn func([]byte)) error {
	for {
		select {
		case m := <-b.messages:
			fn(m)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func TestNode(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &bus{messages: make(chan []byte, 8)}
		var looks, late atomic.Int32
		var heard []cluster.Message
		var n *cluster.Node
		n = cluster.New(nil, b, cluster.Handlers{
			Period: time.Minute,
			Receive: func(m cluster.Message) {
				heard = append(heard, m)
				n.Go(func() { time.Sleep(time.Hour); late.Add(1) })
			},
			Look: func(context.Context) { looks.Add(1) },
		})
		n.Begin(t.Context())
		n.Begin(t.Context()) // is nothing
		want := cluster.Message{Kind: cluster.Ended, Session: "s"}
		if err := n.Publish(t.Context(), want); err != nil {
			t.Error(err)
		}
		for _, other := range []string{``, `{`, `null`, `{"engine":"frame","http":"ended","session":"t"}`, ` {"http":"post"}`, `{"http":1}`} {
			b.messages <- []byte(other)
		}
		synctest.Wait()
		if len(heard) != 1 || heard[0] != want || looks.Load() != 0 {
			t.Errorf("heard %v, looked %d times", heard, looks.Load())
		}
		b.messages <- nil
		synctest.Wait()
		if looks.Load() != 1 {
			t.Errorf("looked %d times when messages were lost", looks.Load())
		}
		time.Sleep(3*time.Minute + time.Second)
		if looks.Load() != 4 {
			t.Errorf("looked %d times in 3 minutes", looks.Load())
		}
		n.End()
		if late.Load() != 1 {
			t.Error("End did not wait")
		}
		n.Begin(t.Context()) // too late: goleak sees to it
		b.err = errors.New("away")
		if err := n.Publish(t.Context(), want); !errors.Is(err, b.err) {
			t.Errorf("Tell: %v", err)
		}
	})
}

// TestAlone: without a bus nothing is published, and Look is still called.
func TestAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var looks atomic.Int32
		n := cluster.New(nil, nil, cluster.Handlers{Period: time.Minute, Look: func(context.Context) { looks.Add(1) }})
		n.Begin(t.Context())
		if err := n.Publish(t.Context(), cluster.Message{Kind: cluster.Post}); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Minute + time.Second)
		n.End()
		if looks.Load() != 1 {
			t.Errorf("looked %d times", looks.Load())
		}
	})
}

// TestHostStops: a node ends by itself when its host stops, as soon as no call needs it.
func TestHostStops(t *testing.T) {
	t.Parallel()
	for _, needed := range []time.Duration{0, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			closing := make(chan struct{})
			var busy, heard atomic.Bool
			var looks atomic.Int32
			busy.Store(needed > 0)
			d := cluster.Handlers{
				Period: time.Minute, Closing: closing, Receive: func(cluster.Message) { heard.Store(true) },
				Look: func(context.Context) { looks.Add(1) },
				Idle: func() bool { return !busy.Load() },
			}
			b := &bus{messages: make(chan []byte, 8)}
			n := cluster.New(nil, b, d)
			n.Begin(t.Context())
			close(closing)
			time.Sleep(needed)
			synctest.Wait()
			_ = n.Publish(t.Context(), cluster.Message{Kind: cluster.Post})
			synctest.Wait()
			if heard.Load() != (needed > 0) {
				t.Errorf("heard %v when it was needed for %v", heard.Load(), needed)
			}
			if want := int32(needed / time.Minute); looks.Load() < want-1 { // the records of its sessions expire otherwise
				t.Errorf("looked %d times in %v", looks.Load(), needed)
			}
			busy.Store(false)
			time.Sleep(time.Second) // its goroutines have ended, or the bubble says so
		})
	}
}

// TestMessages: their form is what nodes of other versions read.
func TestMessages(t *testing.T) {
	t.Parallel()
	for m, want := range map[cluster.Message]string{
		{Kind: cluster.Ended, Session: "s"}: `{"http":"ended","session":"s"}`,
		{Kind: cluster.Post, Session: "s"}:  `{"http":"post","session":"s"}`,
	} {
		if got, err := json.Marshal(m); string(got) != want || err != nil {
			t.Errorf("%s, %v", got, err)
		}
	}
}

// mortal is a store that takes nothing from a node that was killed.
type mortal struct {
	session.Store
	killed *atomic.Bool
}

func (m mortal) Touch(ctx context.Context, id string, until time.Time) error {
	if m.killed.Load() {
		return errors.New("away")
	}
	return m.Store.Touch(ctx, id, until)
}

func (m mortal) Delete(ctx context.Context, id string) error {
	if m.killed.Load() {
		return errors.New("away")
	}
	return m.Store.Delete(ctx, id)
}

// exclusive is a store of one process.
type exclusive struct {
	session.Store
	opening string
}

func (e exclusive) Opening() string { return e.opening }

// TestLives: a node lives until it ends or, killed, has not said for long that it does, and no
// longer than the opening of a store that is exclusive.
func TestLives(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		writer, reader string // openings; empty: the store is not exclusive
		killed         bool
		after          time.Duration
		want           bool
	}{
		"running":              {after: time.Hour, want: true},
		"just killed":          {killed: true, after: 14 * time.Second, want: true},
		"killed":               {killed: true, after: 21 * time.Second},
		"another node in here": {writer: "1", reader: "1", after: time.Hour, want: true},
		"an earlier process":   {writer: "1", reader: "2", after: 0},
		"an older program":     {reader: "2", after: 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var killed atomic.Bool
				common := mortal{memory.New().Sessions(), &killed}
				node := func(opening string) *cluster.Node {
					d := cluster.Handlers{Period: time.Hour, Look: func(context.Context) {}}
					if opening == "" {
						return cluster.New(common, nil, d)
					}
					return cluster.New(exclusive{common, opening}, nil, d)
				}
				writer, reader := node(tt.writer), node(tt.reader)
				writer.Begin(t.Context())
				defer writer.End()
				time.Sleep(time.Minute)
				killed.Store(tt.killed)
				time.Sleep(tt.after)
				if got := reader.Lives(t.Context(), writer.Mark); got != tt.want {
					t.Errorf("lives: %v", got)
				}
				writer.End()
				if !tt.killed && reader.Lives(t.Context(), writer.Mark) {
					t.Error("it lives after its end")
				}
			})
		})
	}
}

// unreachable is a store that is away for a while, and has lost the records of all nodes then.
type unreachable struct {
	session.Store
	away atomic.Bool
}

func (u *unreachable) Touch(ctx context.Context, id string, expires time.Time) error {
	if u.away.Load() {
		return errors.New("away")
	}
	return u.Store.Touch(ctx, id, expires)
}

// TestLivesAfterOutage: nodes that could not renew their records because the store was away do not
// take each other for dead.
func TestLivesAfterOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &unreachable{Store: memory.New().Sessions()}
		node := func() *cluster.Node {
			return cluster.New(store, nil, cluster.Handlers{Period: time.Hour, Look: func(context.Context) {}})
		}
		one, two := node(), node()
		one.Begin(t.Context())
		two.Begin(t.Context())
		defer two.End()
		time.Sleep(time.Minute)
		store.away.Store(true)
		time.Sleep(30 * time.Second)
		store.away.Store(false)
		for range 60 {
			if !two.Lives(t.Context(), one.Mark) {
				t.Fatal("a node that runs is taken for dead")
			}
			time.Sleep(time.Second)
		}
		one.End()
		if two.Lives(t.Context(), one.Mark) {
			t.Error("it lives after its end")
		}
	})
}

func TestDigest(t *testing.T) {
	t.Parallel()
	// printf 'streamable session\0ABC' | sha256sum | xxd -r -p | head -c 20 | base32, in lower case
	const want = "cajenr2qcnaa6cfxkz3dohadqmas3vxb"
	got := cluster.Digest("streamable session", "ABC")
	if got != want {
		t.Errorf("got %s", got)
	}
	if got == cluster.Digest("streamable", " session\x00ABC") || got == cluster.Digest("streamable events", "ABC") {
		t.Error("purposes mix")
	}
}

func TestJoin(t *testing.T) {
	t.Parallel()
	type head struct{ Name string }
	for _, body := range []string{"", "\n", "{\n}", "a\nb"} {
		data, err := cluster.Join(head{"x\ny"}, []byte(body))
		if err != nil {
			t.Fatal(err)
		}
		h, got, err := cluster.Split[head](data)
		if h.Name != "x\ny" || string(got) != body || err != nil {
			t.Errorf("%q: %v %q %v", body, h, got, err)
		}
	}
	if _, err := cluster.Join(func() {}, nil); err == nil {
		t.Error("a function was written")
	}
	for _, bad := range []string{"", "{}", "{\n", strings.Repeat("x", 9) + "\n"} {
		if _, _, err := cluster.Split[head]([]byte(bad)); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
}

func FuzzSplit(f *testing.F) {
	f.Add([]byte("{\"Name\":\"x\"}\nbody"))
	f.Fuzz(func(t *testing.T, data []byte) {
		h, body, err := cluster.Split[struct{ Name string }](data)
		if err != nil {
			return
		}
		again, err := cluster.Join(h, body)
		if err != nil {
			t.Fatal(err)
		}
		h2, body2, err := cluster.Split[struct{ Name string }](again)
		if err != nil || h2 != h || string(body2) != string(body) {
			t.Errorf("%v %q, then %v %q, %v", h, body, h2, body2, err)
		}
	})
}

// TestMarks: nodes that start at the same time, as many as a service ever has, differ in
// their marks.
func TestMarks(t *testing.T) {
	t.Parallel()
	seen := map[uint32]bool{}
	again, large := 0, false
	for range 10_000 {
		n := cluster.New(nil, nil, cluster.Handlers{})
		if seen[n.Mark] {
			again++
		}
		seen[n.Mark] = true
		large = large || n.Mark > 1<<30
		if n.Mark == 0 || n.Mark >= 1<<31 {
			t.Fatalf("a mark of %d", n.Mark)
		}
	}
	if again > 2 || !large { // one pair is expected in 43 runs, three in half a million
		t.Errorf("%d of %d marks were there before; one is over 2^30: %v", again, len(seen)+again, large)
	}
}
