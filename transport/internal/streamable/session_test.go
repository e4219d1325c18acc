package streamable_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/internal/streamable"
)

func answers(context.Context, string, func(string) error) (int, string) {
	return http.StatusOK, `{"a":1}`
}

// TestSessionIDs: ended, foreign and never issued ids get one and the same answer,
// for every method; ids are random.
func TestSessionIDs(t *testing.T) {
	t.Parallel()
	e := streamable.New(&host{plan: polling, log: &keeper{}, handle: answers}, streamable.Config{StreamDelay: time.Minute}) // no stream, however slow the machine is
	open := func(user string) *site {
		s := &site{t: t, e: e, user: user}
		s.session = field(s.do(http.MethodPost, "initialize").Header, "Mcp-Session-Id")
		return s
	}
	alice, ended := open("alice"), open("alice")
	defer alice.stop()
	if alice.session == ended.session || len(alice.session) < 26 {
		t.Fatalf("ids %q and %q", alice.session, ended.session)
	}
	if r := ended.do(http.MethodDelete, ""); r.Status != http.StatusNoContent {
		t.Fatalf("DELETE: %d %s", r.Status, r.Body)
	}
	others := map[string]*site{
		"ended":   ended,
		"foreign": {t: t, e: e, user: "bob", session: alice.session},
		"nobody":  {t: t, e: e, session: alice.session},
		"unknown": {t: t, e: e, user: "alice", session: "ABCDEFGHIJKLMNOPQRSTUVWXYZ"},
	}
	for name, s := range others {
		for _, method := range []string{http.MethodGet, http.MethodDelete} {
			if r := s.do(method, ""); r.Status != http.StatusNotFound {
				t.Errorf("%s %s: %d", method, name, r.Status)
			}
		}
		if r := s.do(http.MethodPost, "x"); r.Status != http.StatusNotFound || string(r.Body) != `{"refused":true}` {
			t.Errorf("POST %s: %d %s", name, r.Status, r.Body)
		}
	}
	if r := alice.do(http.MethodPost, "x"); r.Status != http.StatusOK {
		t.Errorf("the live one: %d", r.Status)
	}
	for _, method := range []string{http.MethodGet, http.MethodDelete} {
		if r := alice.do(method, "", "Mcp-Session-Id: "); r.Status != http.StatusBadRequest {
			t.Errorf("%s without id: %d", method, r.Status)
		}
		if r := alice.do(method, "", "Mcp-Protocol-Version: 2026-07-28"); r.Status != http.StatusMethodNotAllowed || field(r.Header, "Allow") == "" {
			t.Errorf("%s on 2026-07-28: %d", method, r.Status)
		}
		if r := alice.do(method, "", "Mcp-Protocol-Version: v9"); r.Status != http.StatusBadRequest {
			t.Errorf("%s of an unknown revision: %d", method, r.Status)
		}
	}
}

// TestIdleSession: a session ends after a while without use; a request and an open
// stream are use.
func TestIdleSession(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, &host{plan: resumable, log: &keeper{}, handle: answers}, streamable.Config{SessionIdle: time.Minute})
		defer s.stop()
		for range 5 {
			time.Sleep(50 * time.Second) // the first is within handshakeTime
			if r := s.do(http.MethodPost, "x"); r.Status != http.StatusOK {
				t.Fatalf("in use: %d", r.Status)
			}
		}
		c := s.carry(s.do(http.MethodGet, ""), -1)
		time.Sleep(time.Hour)
		if r := s.do(http.MethodPost, "x"); r.Status != http.StatusOK {
			t.Fatalf("with an open stream: %d", r.Status)
		}
		c.cancel()
		c.wait()
		time.Sleep(time.Minute + time.Second)
		if r := s.do(http.MethodPost, "x"); r.Status != http.StatusNotFound {
			t.Fatalf("idle: %d", r.Status)
		}
	})
}

// TestEndedSession: DELETE cancels what runs and ends the stream of the session.
func TestEndedSession(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cause := make(chan error, 1)
		s := newSite(t, &host{plan: resumable, log: &keeper{}, handle: func(ctx context.Context, _ string, _ func(string) error) (int, string) {
			<-ctx.Done()
			cause <- context.Cause(ctx)
			return http.StatusOK, `{"late":true}`
		}}, streamable.Config{})
		defer s.stop()
		stream := s.carry(s.do(http.MethodGet, ""), -1)
		running := s.carry(s.do(http.MethodPost, "x"), -1)
		if r := s.do(http.MethodDelete, ""); r.Status != http.StatusNoContent {
			t.Fatalf("DELETE: %d", r.Status)
		}
		if err := <-cause; errors.Is(err, context.Canceled) {
			t.Errorf("cause: %v", err)
		}
		stream.wait()
		running.wait()
	})
}

// changing tells of a change, which belongs to no exchange, in each call.
func changing() *host {
	return &host{plan: polling, log: &keeper{}, handle: func(ctx context.Context, _ string, _ func(string) error) (int, string) {
		link, _ := transport.RequestFrom(ctx).Sessions.Find()
		_ = link.Out.Send(ctx, transport.Frame{JSON: []byte(`{"changed":true}`)})
		return http.StatusOK, `{"a":1}`
	}}
}

// TestStandalone: what belongs to no exchange waits for a GET stream, goes to the
// newest, and can be resumed.
func TestStandalone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, changing(), streamable.Config{})
		defer s.stop()
		change := func() {
			if r := s.do(http.MethodPost, "x"); r.Status != http.StatusOK {
				t.Fatalf("%d", r.Status)
			}
		}
		change() // before anybody listens
		first := s.carry(s.do(http.MethodGet, ""), -1)
		synctest.Wait()
		if got := first.events(); len(got) != 2 || got[1].data != `{"changed":true}` {
			t.Fatalf("what waited: %v", got)
		}
		change()
		synctest.Wait()
		second := s.carry(s.do(http.MethodGet, "", "Last-Event-ID: "+first.events()[1].id), -1)
		first.wait() // the newest connection wins
		synctest.Wait()
		if got := second.events(); len(got) != 1 {
			t.Fatalf("resumed: %v", got)
		}
		second.cancel()
		second.wait()
		change()
		third := s.carry(s.do(http.MethodGet, ""), -1)
		synctest.Wait()
		if got := third.events(); len(got) != 2 || got[1].data != `{"changed":true}` {
			t.Fatalf("what nobody has seen: %v", got)
		}
	})
}

// TestPrimingIDs checks that no two events of a session have one id, however often its client opens
// the stream again, and that the client can resume from each (2025-11-25 basic/transports).
func TestPrimingIDs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, changing(), streamable.Config{})
		defer s.stop()
		listen := func(fields ...string) []event {
			c := s.carry(s.do(http.MethodGet, "", fields...), -1)
			synctest.Wait()
			c.cancel()
			return c.wait().events()
		}
		seen, primed := map[string]bool{}, []string{}
		for range 2 {
			for range 3 {
				for i, e := range listen() {
					if seen[e.id] || e.id == "" {
						t.Errorf("the id %q is there twice", e.id)
					}
					if seen[e.id] = true; i == 0 {
						primed = append(primed, e.id)
					}
				}
			}
			s.do(http.MethodPost, "x")
		}
		for i, id := range primed {
			got := listen("Last-Event-ID: " + id)
			want := 2
			if i > 3 { // the one before has got the first change
				want = 1
			}
			if len(got) != want {
				t.Errorf("after %q, the priming event of connection %d, come %d events, want %d", id, i, len(got), want)
			}
		}
	})
}

// TestHeartbeat: a stream on which nothing is sent shows that it lives.
func TestHeartbeat(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, &host{plan: modern, handle: func(context.Context, string, func(string) error) (int, string) {
			time.Sleep(time.Minute)
			return http.StatusOK, `{"a":1}`
		}}, streamable.Config{Heartbeat: 25 * time.Second})
		defer s.stop()
		c := s.carry(s.do(http.MethodPost, "x"), -1).wait()
		if want := ": \n\n: \n\nevent: message\ndata: {\"a\":1}\n\n"; c.text() != want {
			t.Errorf("%q", c.text())
		}
	})
}

// TestRefusedInitialize checks that an initialize that is answered with an error leaves no session.
// The response has no session ID, and the session does not count any more.
func TestRefusedInitialize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &host{plan: resumable, refuses: true}
		s := &site{t: t, e: streamable.New(h, streamable.Config{MaxSessions: 1})}
		defer s.stop()
		for range 2 {
			if r := s.do(http.MethodPost, "initialize"); r.Status != http.StatusOK || field(r.Header, "Mcp-Session-Id") != "" {
				t.Errorf("refused: %d %v", r.Status, r.Header)
			}
			synctest.Wait()
		}
		h.refuses = false
		if r := s.do(http.MethodPost, "initialize"); r.Status != http.StatusOK || field(r.Header, "Mcp-Session-Id") == "" {
			t.Errorf("afterwards: %d %v", r.Status, r.Header)
		}
	})
}

// TestLimits: sessions, open streams and calls are bounded, each by itself.
func TestLimits(t *testing.T) {
	t.Parallel()
	h := &host{plan: resumable, log: &keeper{}, handle: func(ctx context.Context, _ string, send func(string) error) (int, string) {
		_ = send(`{"n":1}`)
		<-ctx.Done()
		return http.StatusOK, `{"a":1}`
	}}
	s := newSite(t, h, streamable.Config{MaxSessions: 8, MaxStreams: 1, MaxCalls: 3, StreamDelay: time.Minute})
	other := &site{t: t, e: s.e}
	other.session = field(other.do(http.MethodPost, "initialize").Header, "Mcp-Session-Id")
	for range 3 {
		if r := (&site{t: t, e: s.e}).do(http.MethodPost, "initialize"); r.Status != http.StatusServiceUnavailable || field(r.Header, "Retry-After") == "" {
			t.Errorf("a session too many for one client: %d", r.Status)
		}
	}
	if got := h.warned.take(); len(got) != 1 || !strings.Contains(got[0], "MaxSessions") || !strings.Contains(got[0], "TrustedProxies") {
		t.Errorf("logged %q", got)
	}
	alice := &site{t: t, e: s.e, user: "alice"}
	r := alice.do(http.MethodPost, "initialize")
	if r.Status != http.StatusOK {
		t.Errorf("another client: %d", r.Status)
	}
	alice.session = field(r.Header, "Mcp-Session-Id")
	get := s.carry(s.do(http.MethodGet, ""), -1)
	a, b, c := s.carry(s.do(http.MethodPost, "x"), -1), s.carry(s.do(http.MethodPost, "x"), -1), other.carry(other.do(http.MethodPost, "x"), -1)
	a.cancel() // it does not wait any more; the call goes on
	a.wait()
	for _, each := range []*site{s, other} {
		if r := each.do(http.MethodPost, "x"); r.Status != http.StatusTooManyRequests || field(r.Header, "Retry-After") == "" {
			t.Errorf("a call too many: %d", r.Status)
		}
	}
	for range 2 {
		if r := s.do(http.MethodGet, "", "Mcp-Session-Id: "+s.session); r.Status != http.StatusTooManyRequests {
			t.Errorf("a stream too many: %d", r.Status)
		}
	}
	if got := h.warned.take(); len(got) != 2 || !strings.Contains(got[0], "MaxCalls") || !strings.Contains(got[1], "MaxStreams") {
		t.Errorf("logged %q", got)
	}
	if r := other.do(http.MethodPost, "notifications/x"); r.Status != http.StatusAccepted {
		t.Errorf("a notification: %d", r.Status)
	}
	d := alice.carry(alice.do(http.MethodPost, "x"), -1)
	s.do(http.MethodDelete, "")
	b.wait()
	get.wait()
	freed := other.do(http.MethodPost, "x")
	for deadline := time.Now().Add(10 * time.Second); freed.Stream == nil && time.Now().Before(deadline); freed = other.do(http.MethodPost, "x") {
		time.Sleep(time.Millisecond) // the calls of the ended session are about to be over
	}
	other.carry(freed, -1)
	other.do(http.MethodDelete, "")
	alice.do(http.MethodDelete, "")
	c.wait()
	d.wait()
	s.stop()
}

// TestLargeInitialize checks that a session with a large initialize counts as several, so that the
// clients' descriptions do not take more memory than 64 MiB for one client.
func TestLargeInitialize(t *testing.T) {
	t.Parallel()
	s := &site{t: t, e: streamable.New(&host{plan: resumable}, streamable.Config{StreamDelay: time.Minute})}
	defer s.stop()
	large := strings.Repeat("x", 60<<10)
	open := func(user, ballast string) int {
		t.Helper()
		r := (&site{t: t, e: s.e, user: user}).do(http.MethodPost, "initialize", "Ballast: "+ballast)
		return r.Status
	}
	opened := 0
	for opened < 2000 && open("alice", large) == http.StatusOK {
		opened++
	}
	if size := opened * len(large); size < 60<<20 || size > 64<<20 {
		t.Errorf("%d sessions of one client keep %d bytes", opened, size)
	}
	if status := open("alice", ""); status != http.StatusServiceUnavailable {
		t.Errorf("a session too many: %d", status)
	}
	if status := open("bob", large); status != http.StatusOK {
		t.Errorf("another client: %d", status)
	}
}

// TestBatchCountsItsMessages: a batch is as many calls as it has messages, until it is over. One
// that is more than a client may have at all takes all that there is.
func TestBatchCountsItsMessages(t *testing.T) {
	t.Parallel()
	s := newSite(t, &host{plan: modern}, streamable.Config{MaxCalls: 4})
	defer s.stop()
	enter := func(frame string, want bool) func() {
		t.Helper()
		leave, ok := s.e.EnterCalls("192.0.2.1", []byte(frame))
		if ok != want {
			t.Fatalf("%s enters: %t", frame, ok)
		}
		return leave
	}
	three := enter(`[{},{},{}]`, true)
	enter(`[{},{}]`, false)
	one := enter(`{}`, true)
	enter(`{}`, false)
	three()
	one()
	all := enter(`[{},{},{},{},{},{}]`, true)
	enter(`{}`, false)
	all()
	for _, frame := range []string{`[]`, `[{},`, `{}`, ``} { // what is no batch counts once
		enter(frame, true)
	}
	enter(`{}`, false)
	r := s.do(http.MethodPost, "x")
	if r.Status == http.StatusTooManyRequests {
		t.Error("another client waits for these")
	}
	if r.Stream != nil { // the endpoint waits for it
		s.carry(r, -1).wait()
	}
}

// TestLastingIsAStream: what waits for something to happen takes a stream, and no call.
func TestLastingIsAStream(t *testing.T) {
	t.Parallel()
	plan := modern
	plan.LongLived = true
	s := newSite(t, &host{plan: plan, handle: func(ctx context.Context, _ string, send func(string) error) (int, string) {
		_ = send(`{"n":1}`)
		<-ctx.Done()
		return http.StatusOK, `{"a":1}`
	}}, streamable.Config{MaxStreams: 3, MaxCalls: 1})
	var open []*connection
	for range 3 {
		open = append(open, s.carry(s.do(http.MethodPost, "listen"), -1))
	}
	if r := s.do(http.MethodPost, "listen"); r.Status != http.StatusTooManyRequests {
		t.Errorf("a stream too many: %d", r.Status)
	}
	for _, each := range open {
		each.cancel()
		each.wait()
	}
	last := s.carry(s.do(http.MethodPost, "listen"), -1)
	last.cancel()
	last.wait()
	s.stop()
}

// TestLastingWithoutClient: what waits keeps its place among the streams of its client, also if the client
// has gone without cancelling it.
func TestLastingWithoutClient(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		plan := polling
		plan.LongLived = true
		over, waiting := make(chan struct{}), atomic.Int64{}
		s := newSite(t, &host{plan: plan, log: &keeper{}, handle: func(ctx context.Context, _ string, _ func(string) error) (int, string) {
			waiting.Add(1)
			defer waiting.Add(-1)
			select {
			case <-over:
			case <-ctx.Done():
			}
			return http.StatusOK, `{"a":1}`
		}}, streamable.Config{MaxStreams: 2})
		for range 2 {
			c := s.carry(s.do(http.MethodPost, "wait"), -1)
			c.cancel()
			c.wait()
		}
		if r := s.do(http.MethodPost, "wait"); r.Status != http.StatusTooManyRequests {
			t.Errorf("a wait too many: %d", r.Status)
		}
		if synctest.Wait(); waiting.Load() != 2 {
			t.Errorf("%d wait", waiting.Load())
		}
		close(over)
		synctest.Wait()
		for range 2 {
			if r := s.do(http.MethodPost, "wait"); r.Status == http.StatusTooManyRequests {
				t.Error("the places were not given back")
			}
		}
		synctest.Wait()
		s.stop()
	})
}
