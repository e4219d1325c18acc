package streamable_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kagami-mcp/kagami/framework/store/memory"
	"github.com/kagami-mcp/kagami/protocol/change"
	"github.com/kagami-mcp/kagami/protocol/eventlog"
	"github.com/kagami-mcp/kagami/protocol/session"
	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/internal/streamable"
)

var errAway = errors.New("the store is away")

// watched is a store of sessions that can be away, and counts.
type watched struct {
	session.Store
	away    atomic.Bool
	keeps   atomic.Bool // nothing can be deleted
	repeats atomic.Bool // the answer to Create is lost, and the store's client repeats it
	gets    atomic.Int32
	touches atomic.Int32
	dead    atomic.Bool // the nodes have not said for long that they live
	broken  atomic.Bool // it panics

	between func() // called before an Update, but not within one

	mu  sync.Mutex
	ids []string
}

// ofNode: a node says that it lives.
func ofNode(id string) bool { return strings.HasPrefix(id, "node.") }

// see fails at once for a client that has left, as go-redis does.
func (w *watched) see(ctx context.Context, id string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !ofNode(id) {
		w.ids = append(w.ids, id)
	}
	if w.broken.Load() && !ofNode(id) { // a panic in the goroutine that renews the node's record is not recovered
		panic("the store is broken")
	}
	if w.away.Load() {
		return errAway
	}
	return ctx.Err()
}

func (w *watched) Create(ctx context.Context, r session.Record) error {
	if err := w.see(ctx, r.ID+string(r.Data)); err != nil {
		return err
	}
	if err := w.Store.Create(ctx, r); err != nil || !w.repeats.Load() || ofNode(r.ID) {
		return err
	}
	return w.Store.Create(ctx, r)
}

func (w *watched) Get(ctx context.Context, id string) (session.Record, error) {
	w.gets.Add(1)
	if w.dead.Load() && ofNode(id) {
		return session.Record{}, session.ErrNotFound
	}
	if err := w.see(ctx, id); err != nil {
		return session.Record{}, err
	}
	return w.Store.Get(ctx, id)
}

func (w *watched) Update(ctx context.Context, r session.Record) error {
	if err := w.see(ctx, r.ID+string(r.Data)); err != nil {
		return err
	}
	if between := w.between; between != nil {
		w.between = nil
		between()
		w.between = between
	}
	return w.Store.Update(ctx, r)
}

func (w *watched) Touch(ctx context.Context, id string, expires time.Time) error {
	if !ofNode(id) {
		w.touches.Add(1)
	}
	if err := w.see(ctx, id); err != nil {
		return err
	}
	return w.Store.Touch(ctx, id, expires)
}

func (w *watched) Delete(ctx context.Context, id string) error {
	if err := w.see(ctx, id); err != nil {
		return err
	}
	if w.keeps.Load() {
		return errAway
	}
	return w.Store.Delete(ctx, id)
}

// silent is a bus that tells nothing.
type silent struct{ change.Bus }

func (silent) Publish(context.Context, []byte) error { return nil }

// pair is two nodes over one store, and a client with a session that it opened at a.
type pair struct {
	a, b    *site
	store   *watched
	all     *memory.Store
	closing chan struct{} // closed when the host of a begins to stop
	hosts   [2]*host
}

// newPair has hosts that also serve "get" and "add", of the kept number, and "tell",
// which tells all hosts' clients as an engine does that hears of a change.
func newPair(t *testing.T, plan transport.Plan, cfg streamable.Config, handle func(context.Context, string, func(string) error) (int, string)) *pair {
	t.Helper()
	all := memory.New()
	return pairOver(t, plan, cfg, all, all.Changes(), handle)
}

func pairOver(t *testing.T, plan transport.Plan, cfg streamable.Config, all *memory.Store, bus change.Bus, handle func(context.Context, string, func(string) error) (int, string)) *pair {
	t.Helper()
	return pairLogged(t, plan, cfg, all, bus, all.Events(), handle)
}

func pairLogged(
	t *testing.T, plan transport.Plan, cfg streamable.Config, all *memory.Store, bus change.Bus, log eventlog.Store,
	handle func(context.Context, string, func(string) error) (int, string),
) *pair {
	t.Helper()
	p := &pair{store: &watched{Store: all.Sessions()}, all: all}
	node := func() *host {
		return &host{
			plan: plan, will: interrupted, log: log, sessions: p.store, changes: bus, closing: make(chan struct{}),
			handle: func(ctx context.Context, method string, send func(string) error) (int, string) {
				link, _ := transport.RequestFrom(ctx).Sessions.Find()
				switch name, rest, _ := strings.Cut(method, " "); name {
				case "get":
					data, version := link.SessionState.Load()
					return http.StatusOK, fmt.Sprintf("%s at %d", data, version)
				case "add":
					if err := link.SessionState.Update(ctx, increment); err != nil {
						return http.StatusOK, "failed"
					}
					return http.StatusOK, "added"
				case "tell":
					if err := link.Out.Send(ctx, transport.Frame{JSON: []byte(rest)}); err != nil {
						return http.StatusOK, "failed"
					}
					return http.StatusOK, "told"
				}
				return handle(ctx, method, send)
			},
		}
	}
	p.hosts = [2]*host{node(), node()}
	p.closing = p.hosts[0].closing
	p.a = newSite(t, p.hosts[0], cfg)
	p.b = &site{t: t, e: streamable.New(p.hosts[1], cfg), session: p.a.session}
	return p
}

func (p *pair) stop() {
	p.a.stop()
	p.b.stop()
}

func increment(data []byte) []byte {
	n, _ := strconv.Atoi(string(data))
	return strconv.AppendInt(nil, int64(n+1), 10)
}

// post is a call whose answer is the whole response.
func (s *site) post(call string) string {
	s.t.Helper()
	r := s.do(http.MethodPost, call)
	if r.Stream != nil || r.Status != http.StatusOK {
		s.t.Fatalf("%s: %d %s", call, r.Status, r.Body)
	}
	return string(r.Body)
}

// TestNodes: any node serves a session, sees what others have changed of it, and none
// does when it has ended, as of then. The store does not get to see the id.
func TestNodes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t, polling, streamable.Config{StreamDelay: time.Minute}, answers)
		defer p.stop()
		if got := p.b.post("get"); got != "0 at 1" {
			t.Fatalf("the other node sees %s", got)
		}
		p.b.post("add")
		if got := p.a.post("get"); got != "1 at 2" {
			t.Fatalf("the first node sees %s", got)
		}
		stream := p.a.carry(p.a.do(http.MethodGet, ""), -1)
		synctest.Wait()
		start := time.Now()
		if r := p.b.do(http.MethodDelete, ""); r.Status != http.StatusNoContent {
			t.Fatalf("DELETE: %d %s", r.Status, r.Body)
		}
		if stream.wait(); time.Since(start) > 0 {
			t.Errorf("its stream ended after %v", time.Since(start))
		}
		for _, s := range []*site{p.a, p.b} {
			for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodDelete} {
				if r := s.do(method, "x"); r.Status != http.StatusNotFound {
					t.Errorf("%s after the end: %d", method, r.Status)
				}
			}
		}
		for _, id := range p.store.ids {
			if strings.Contains(id, p.a.session) || len(id) < 32 {
				t.Errorf("the store has seen %q", id)
			}
		}
	})
}

// TestForeignOnNodes: another principal's session is an unknown one, on every node.
func TestForeignOnNodes(t *testing.T) {
	t.Parallel()
	p := newPair(t, polling, streamable.Config{StreamDelay: time.Minute}, answers)
	defer p.stop()
	p.b.user = "bob"
	unknown := *p.b
	unknown.session = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodDelete} {
		got, want := p.b.do(method, "x"), unknown.do(method, "x")
		if got.Status != http.StatusNotFound || string(got.Body) != string(want.Body) || !slices.Equal(got.Header, want.Header) {
			t.Errorf("%s: %d %s %v, but %d %s %v", method, got.Status, got.Body, got.Header, want.Status, want.Body, want.Header)
		}
	}
	if r := p.a.do(http.MethodPost, "x"); r.Status != http.StatusOK {
		t.Errorf("the owner: %d", r.Status)
	}
}

// TestStoreAway checks that a session which cannot be looked up does not end, and that each node
// logs the reason.
func TestStoreAway(t *testing.T) {
	t.Parallel()
	p := newPair(t, polling, streamable.Config{StreamDelay: time.Minute}, answers)
	defer p.stop()
	p.b.post("get")
	p.store.away.Store(true)
	for _, s := range []*site{p.a, p.b} {
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodDelete} {
			r := s.do(method, "x")
			if r.Status != http.StatusServiceUnavailable || field(r.Header, "Retry-After") == "" || len(r.Body) == 0 {
				t.Errorf("%s: %d %v %s", method, r.Status, r.Header, r.Body)
			}
		}
	}
	for _, h := range p.hosts {
		if got := h.warned.take(); len(got) != 1 || !strings.Contains(got[0], errAway.Error()) {
			t.Errorf("logged %q", got)
		}
	}
	fresh := &site{t: t, e: p.a.e}
	if r := fresh.do(http.MethodPost, "initialize"); string(r.Body) != `{"initialized":false}` || field(r.Header, "Mcp-Session-Id") != "" {
		t.Errorf("initialize: %d %v %s", r.Status, r.Header, r.Body)
	}
	p.store.away.Store(false)
	for _, s := range []*site{p.a, p.b} {
		if got := s.post("get"); got != "0 at 1" {
			t.Errorf("afterwards: %s", got)
		}
	}
}

// TestFailedDelete: a session that could not be deleted is still there, for another attempt, and is
// forgotten when it is idle.
func TestFailedDelete(t *testing.T) {
	t.Parallel()
	for _, again := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			p := newPair(t, polling, streamable.Config{SessionIdle: time.Hour}, answers)
			defer p.stop()
			p.store.keeps.Store(true)
			if r := p.a.do(http.MethodDelete, ""); r.Status != http.StatusServiceUnavailable {
				t.Fatalf("DELETE: %d", r.Status)
			}
			if n := streamable.Sessions(p.a.e); n != 1 {
				t.Errorf("%d sessions after a DELETE that failed, want 1", n)
			}
			p.store.keeps.Store(false)
			if got := p.a.post("get"); got != "0 at 1" {
				t.Errorf("afterwards: %s", got)
			}
			if again {
				if r := p.a.do(http.MethodDelete, ""); r.Status != http.StatusNoContent {
					t.Errorf("DELETE again: %d", r.Status)
				}
			} else {
				time.Sleep(3 * time.Hour)
				if n := streamable.Sessions(p.a.e); n != 0 {
					t.Errorf("%d sessions are kept after three idle hours", n)
				}
			}
			for _, s := range []*site{p.a, p.b} {
				if r := s.do(http.MethodPost, "get"); r.Status != http.StatusNotFound {
					t.Errorf("after the end: %d", r.Status)
				}
			}
		})
	}
}

// TestRepeatedCreate: a session is opened if the record that the store already has is its own.
func TestRepeatedCreate(t *testing.T) {
	t.Parallel()
	p := newPair(t, polling, streamable.Config{}, answers)
	defer p.stop()
	p.store.repeats.Store(true)
	r := p.a.do(http.MethodPost, "initialize", "Mcp-Session-Id: ")
	if r.Status != http.StatusOK || !strings.Contains(string(r.Body), `"initialized":true`) {
		t.Fatalf("initialize: %d %s", r.Status, r.Body)
	}
	p.b.session = field(r.Header, "Mcp-Session-Id")
	if got := p.b.post("get"); got != "0 at 2" { // written again after the conflict
		t.Errorf("at the other node: %s", got)
	}
}

// TestConflictsOfNodes: a change that comes between another node's reading and its writing is
// not lost, and costs that node's request nothing but another attempt.
func TestConflictsOfNodes(t *testing.T) {
	t.Parallel()
	p := newPair(t, polling, streamable.Config{StreamDelay: time.Minute}, answers)
	defer p.stop()
	left := 20
	p.store.between = func() {
		if left--; left >= 0 {
			p.b.post("add")
		}
	}
	if got := p.a.post("add"); got != "added" {
		t.Errorf("a change: %s", got)
	}
	for _, s := range []*site{p.a, p.b} {
		if got := s.post("get"); got != "21 at 22" {
			t.Errorf("it is %s", got)
		}
	}
}

// TestStorePanics: a request on which the store panics is over for the endpoint, and holds up
// nothing at its end.
func TestStorePanics(t *testing.T) {
	t.Parallel()
	p := newPair(t, resumable, streamable.Config{MaxStreams: 1, MaxCalls: 1}, answers)
	for _, method := range []string{http.MethodGet, http.MethodDelete} {
		func() {
			defer func() { _ = recover() }() // as carriers do
			p.store.broken.Store(true)
			defer p.store.broken.Store(false)
			r := p.b.do(method, "")
			t.Errorf("%s: %d %s", method, r.Status, r.Body)
		}()
	}
	if got := p.b.post("get"); got != "0 at 1" {
		t.Errorf("afterwards: %s", got)
	}
	p.stop()
}

// endless is a log that panics on the mark of an end.
type endless struct{ eventlog.Store }

func (l endless) Append(ctx context.Context, stream string, frame []byte) (uint64, error) {
	if len(frame) == 0 {
		panic("the log is broken")
	}
	return l.Store.Append(ctx, stream, frame)
}

// TestLogPanics: a log that panics when a call has ended costs that call's stream only.
func TestLogPanics(t *testing.T) {
	t.Parallel()
	all := memory.New()
	s := newSite(t, &host{
		plan: resumable, log: endless{all.Events()}, sessions: all.Sessions(), changes: all.Changes(), closing: make(chan struct{}),
		handle: func(_ context.Context, _ string, send func(string) error) (int, string) {
			_ = send(`{"n":1}`)
			return 0, "" // no answer
		},
	}, streamable.Config{StreamDelay: time.Minute})
	if got := s.carry(s.do(http.MethodPost, "x"), -1).wait().events(); len(got) != 1 {
		t.Errorf("got %v", got)
	}
	s.stop()
}

// TestSharedNoLife: a session that ends at once is no reason to panic.
func TestSharedNoLife(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t, polling, streamable.Config{SessionIdle: 1}, answers)
		defer p.stop()
		time.Sleep(time.Minute)
		if r := p.a.do(http.MethodPost, "get"); r.Status != http.StatusNotFound {
			t.Errorf("idle: %d", r.Status)
		}
	})
}

// TestSharedLife: use on one node keeps the session on all, costs the store little, and
// a node forgets on its own what it does not use.
func TestSharedLife(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t, polling, streamable.Config{SessionIdle: time.Hour}, answers)
		defer p.stop()
		for range 300 { // 5 hours
			time.Sleep(time.Minute - time.Second)
			p.b.post("get")
		}
		if n := p.store.touches.Load(); n < 15 || n > 25 {
			t.Errorf("%d touches in 5 hours", n)
		}
		if got := p.a.post("get"); got != "0 at 1" {
			t.Errorf("a session that is used elsewhere: %s", got)
		}
		stream := p.b.carry(p.b.do(http.MethodGet, ""), -1)
		time.Sleep(24 * time.Hour)
		p.a.post("get")
		stream.cancel()
		stream.wait()
		time.Sleep(76 * time.Minute)
		for _, s := range []*site{p.a, p.b} {
			if r := s.do(http.MethodPost, "x"); r.Status != http.StatusNotFound {
				t.Errorf("idle: %d", r.Status)
			}
		}
	})
}

// TestSharedHandshake: a session that only ever sent initialize does not stay in the store.
func TestSharedHandshake(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t, polling, streamable.Config{}, answers)
		defer p.stop()
		time.Sleep(2 * time.Minute)
		if r := p.b.do(http.MethodPost, "x"); r.Status != http.StatusNotFound {
			t.Errorf("%d", r.Status)
		}
	})
}

// TestConcurrentChanges: none is lost.
func TestConcurrentChanges(t *testing.T) {
	t.Parallel()
	const each = 50
	p := newPair(t, polling, streamable.Config{StreamDelay: time.Minute}, answers)
	defer p.stop()
	var all sync.WaitGroup
	for range each {
		all.Go(func() { p.a.post("add") })
		all.Go(func() { p.b.post("add") })
	}
	all.Wait()
	if got := p.a.post("get"); got != fmt.Sprintf("%d at %d", 2*each, 2*each+1) {
		t.Error(got)
	}
}

// TestRestoredMakeRoom: sessions of other nodes are held as long as there is room, and
// those in use always.
func TestRestoredMakeRoom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		all := memory.New()
		many := pairOver(t, polling, streamable.Config{StreamDelay: time.Minute}, all, all.Changes(), answers)
		few := pairOver(t, polling, streamable.Config{MaxSessions: 8, StreamDelay: time.Minute}, all, all.Changes(), answers)
		defer many.stop()
		defer few.stop()
		var sessions []*site
		for range 6 {
			s := &site{t: t, e: many.a.e}
			s.session = field(s.do(http.MethodPost, "initialize").Header, "Mcp-Session-Id")
			sessions = append(sessions, &site{t: t, e: few.b.e, session: s.session})
		}
		get := func(s *site) {
			s.post("get")
			synctest.Wait() // the session is in use until its goroutine has ended
		}
		for range 2 {
			for _, s := range sessions {
				get(s)
			}
		}
		first, second := sessions[0], sessions[1]
		c := first.carry(first.do(http.MethodGet, ""), -1)
		d := second.carry(second.do(http.MethodGet, ""), -1)
		if r := sessions[2].do(http.MethodPost, "get"); r.Status != http.StatusServiceUnavailable {
			t.Errorf("a session too many: %d %s", r.Status, r.Body)
		}
		c.cancel()
		c.wait()
		get(sessions[2])
		fresh := &site{t: t, e: few.b.e}
		if r := fresh.do(http.MethodPost, "initialize"); r.Status != http.StatusOK {
			t.Errorf("a new session where others can make room: %d", r.Status)
		}
		d.cancel()
		d.wait()
	})
}

// TestUntold: a node that hears nothing ends what has ended elsewhere all the same.
func TestUntold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		all := memory.New()
		p := pairOver(t, polling, streamable.Config{SessionIdle: time.Hour}, all, silent{all.Changes()}, answers)
		defer p.stop()
		start := time.Now()
		stream := p.a.carry(p.a.do(http.MethodGet, ""), -1)
		p.b.do(http.MethodDelete, "")
		stream.wait()
		if took := time.Since(start); took > 15*time.Minute {
			t.Errorf("it ended after %v", took)
		}
	})
}

// TestNodeStops: its sessions go on elsewhere, with what its calls have sent.
func TestNodeStops(t *testing.T) {
	t.Parallel()
	p := newPair(t, resumable, streamable.Config{StreamDelay: time.Minute}, func(_ context.Context, _ string, send func(string) error) (int, string) {
		_ = send(`{"n":1}`)
		return http.StatusOK, `{"a":1}`
	})
	sent := p.a.carry(p.a.do(http.MethodPost, "x"), -1).wait().events()
	p.a.stop()
	defer p.b.stop()
	if got := p.b.post("get"); got != "0 at 1" {
		t.Errorf("the session: %s", got)
	}
	got := p.b.carry(p.b.do(http.MethodGet, "", "Last-Event-ID: "+sent[0].id), -1).wait().events()
	if len(got) != 1 || got[0] != sent[1] {
		t.Errorf("the stream: %v", got)
	}
}

// TestMounted: a host that stops ends what its endpoint has begun, even if the endpoint is not shut
// down.
func TestMounted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		all := memory.New()
		h := &host{plan: polling, log: all.Events(), sessions: all.Sessions(), changes: all.Changes(), closing: make(chan struct{}), handle: answers}
		s := newSite(t, h, streamable.Config{})
		stream := s.carry(s.do(http.MethodGet, ""), -1)
		close(h.closing)
		stream.wait()
		time.Sleep(time.Second) // what goes on is found when the bubble ends
	})
}
