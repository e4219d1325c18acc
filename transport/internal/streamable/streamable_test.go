package streamable_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/internal/streamable"
)

var (
	modern    = transport.Plan{CancelByClose: true}
	resumable = transport.Plan{Resumable: true}
	polling   = transport.Plan{Resumable: true, Polls: true}
)

// TestAnswer: an answer that is the first message is the whole response with its
// own status, however late it comes and whatever carries it.
func TestAnswer(t *testing.T) {
	t.Parallel()
	for _, plan := range []transport.Plan{modern, resumable} {
		for _, late := range []time.Duration{0, time.Second} {
			synctest.Test(t, func(t *testing.T) {
				s := newSite(t, &host{plan: plan, log: &keeper{}, handle: func(context.Context, string, func(string) error) (int, string) {
					time.Sleep(late)
					return http.StatusNotFound, `{"a":1}`
				}}, streamable.Config{})
				defer s.stop()
				r := s.do(http.MethodPost, "x")
				if late == 0 {
					if r.Status != http.StatusNotFound || string(r.Body) != `{"a":1}` || field(r.Header, "Content-Type") != "application/json" {
						t.Fatalf("%+v", r)
					}
					return
				}
				c := s.carry(r, -1).wait()
				if c.status != http.StatusNotFound || c.text() != `{"a":1}` || c.length != 7 || field(c.header, "Content-Type") != "application/json" {
					t.Fatalf("%d %v %s", c.status, c.header, c.text())
				}
			})
		}
	}
}

// TestStream: what comes before the answer makes an SSE stream, in order; ids are
// there only where it can be resumed, priming only where it can be polled.
func TestStream(t *testing.T) {
	t.Parallel()
	handle := func(_ context.Context, _ string, send func(string) error) (int, string) {
		for i := range 3 {
			if err := send(fmt.Sprintf(`{"n":%d}`, i)); err != nil {
				return 0, ""
			}
		}
		return http.StatusNotFound, `{"answer":true}`
	}
	for name, plan := range map[string]transport.Plan{"modern": modern, "resumable": resumable, "polling": polling} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, &host{plan: plan, log: &keeper{}, handle: handle}, streamable.Config{StreamDelay: time.Minute})
			defer s.stop()
			c := s.carry(s.do(http.MethodPost, "x"), -1).wait()
			if c.status != http.StatusOK || field(c.header, "Content-Type") != "text/event-stream" || field(c.header, "X-Accel-Buffering") != "no" || c.length != -1 {
				t.Fatalf("%d %v", c.status, c.header)
			}
			got := c.events()
			if plan.Polls {
				if got[0].data != "" || got[0].id == "" || !strings.Contains(c.text(), "retry: 500\n") {
					t.Fatalf("no priming event: %s", c.text())
				}
				got = got[1:]
			}
			if len(got) != 4 || got[0].data != `{"n":0}` || got[2].data != `{"n":2}` || got[3].data != `{"answer":true}` {
				t.Fatalf("%v", got)
			}
			if (got[0].id != "") != plan.Resumable {
				t.Fatalf("ids: %v", got)
			}
		})
	}
}

// unwritable is an event log that can only be read.
type unwritable struct{ *keeper }

func (unwritable) Append(context.Context, string, []byte) (uint64, error) {
	return 0, errors.New("no space is left")
}

// TestEventsAreNotKept checks a store that cannot keep events. A connected client still gets all
// events, and one warning is logged.
func TestEventsAreNotKept(t *testing.T) {
	t.Parallel()
	h := &host{plan: resumable, log: unwritable{&keeper{}}, handle: func(_ context.Context, _ string, send func(string) error) (int, string) {
		return http.StatusOK, fmt.Sprintf(`{"failed":%t}`, errors.Join(send(`{"n":1}`), send(`{"n":2}`)) != nil)
	}}
	s := newSite(t, h, streamable.Config{StreamDelay: time.Minute})
	defer s.stop()
	got := s.carry(s.do(http.MethodPost, "x"), -1).wait().events()
	if want := []event{{"", `{"n":1}`}, {"", `{"n":2}`}, {"", `{"failed":false}`}}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := h.warned.take(); len(got) != 1 || !strings.Contains(got[0], "no space is left") {
		t.Errorf("logged %q", got)
	}
}

// TestPrimingWrite: the priming event does not take a write of its own when the event that opens
// the stream is there already.
func TestPrimingWrite(t *testing.T) {
	t.Parallel()
	s := newSite(t, &host{plan: polling, log: &keeper{}, handle: func(_ context.Context, _ string, send func(string) error) (int, string) {
		if err := send(`{"n":1}`); err != nil {
			t.Error(err)
		}
		return http.StatusOK, `{"answer":true}`
	}}, streamable.Config{StreamDelay: time.Minute})
	defer s.stop()
	c := s.carry(s.do(http.MethodPost, "x"), 1).wait() // one write, and the connection breaks
	if got := c.events(); len(got) != 2 || got[0].data != "" || got[0].id == "" || got[1].data != `{"n":1}` {
		t.Errorf("%v", got)
	}
}

// TestPrimingWithoutEvent: the priming event is written even if the event that it was to go with does
// not come after all, as the session has ended.
func TestPrimingWithoutEvent(t *testing.T) {
	t.Parallel()
	s := newSite(t, &host{plan: polling, log: &keeper{}, handle: func(_ context.Context, _ string, send func(string) error) (int, string) {
		if err := send(`{"n":1}`); err == nil {
			t.Error("an event is sent on a stream that has ended")
		}
		return http.StatusOK, `{"answer":true}`
	}}, streamable.Config{StreamDelay: time.Minute})
	defer s.stop()
	r := s.do(http.MethodPost, "x") // the handler waits for the connection
	s.do(http.MethodDelete, "")
	if got := s.carry(r, -1).wait().events(); len(got) != 1 || got[0].data != "" || got[0].id == "" {
		t.Errorf("%v", got)
	}
}

// TestAccept: a client that takes only one of the two gets that.
func TestAccept(t *testing.T) {
	t.Parallel()
	told := make(chan error, 4)
	s := newSite(t, &host{plan: modern, handle: func(_ context.Context, method string, send func(string) error) (int, string) {
		if method == "tells" {
			told <- send(`{"n":1}`)
		}
		return http.StatusOK, `{"a":1}`
	}}, streamable.Config{StreamDelay: time.Minute})
	defer s.stop()
	for _, accept := range []string{
		"Accept: application/json", "Accept: application/json, text/event-stream;q=0",
		"Accept: */*, text/event-stream; Q=0.000", "Accept: text/*;q=0, */*;q=0.1", "Accept: text/event-stream;q=0,text/*,application/*",
	} {
		if r := s.do(http.MethodPost, "tells", accept); string(r.Body) != `{"a":1}` {
			t.Errorf("%s: %+v", accept, r)
		}
		if err := <-told; !errors.Is(err, transport.ErrNoStream) {
			t.Errorf("%s: a message that cannot be sent: %v", accept, err)
		}
	}
	r := s.do(http.MethodPost, "x", "Accept: text/event-stream")
	if field(r.Header, "Content-Type") != "text/event-stream" || string(r.Body) != "event: message\ndata: {\"a\":1}\n\n" {
		t.Errorf("only SSE: %+v", r)
	}
	for accept, status := range map[string]int{"Accept: text/html": 406, "Accept: */*": 200, "Accept: ": 200, "Accept: application/json;q=0.9": 200} {
		if r := s.do(http.MethodPost, "x", accept); r.Status != status {
			t.Errorf("%s: %d", accept, r.Status)
		}
	}
}

// TestClosedStream: the client's end cancels the call on 2026-07-28 at once, and
// does not before; there the answer waits for the client to come back.
func TestClosedStream(t *testing.T) {
	t.Parallel()
	for _, plan := range []transport.Plan{modern, polling} {
		synctest.Test(t, func(t *testing.T) {
			var cancelled time.Duration
			s := newSite(t, &host{plan: plan, log: &keeper{}, handle: func(ctx context.Context, _ string, _ func(string) error) (int, string) {
				start := time.Now()
				select {
				case <-ctx.Done():
				case <-time.After(time.Minute):
				}
				cancelled = time.Since(start)
				return http.StatusOK, `{"a":1}`
			}}, streamable.Config{StreamDelay: time.Millisecond})
			defer s.stop()
			c := s.carry(s.do(http.MethodPost, "x"), -1)
			time.Sleep(time.Second)
			c.cancel()
			c.wait()
			synctest.Wait()
			if plan.CancelByClose {
				if cancelled != time.Second+time.Millisecond {
					t.Fatalf("cancelled after %v", cancelled)
				}
				return
			}
			time.Sleep(2 * time.Minute)
			synctest.Wait()
			if cancelled != time.Minute {
				t.Fatalf("ended after %v", cancelled)
			}
			got := s.carry(s.do(http.MethodGet, "", "Last-Event-ID: "+c.events()[0].id), -1).wait().events()
			if len(got) != 1 || got[0].data != `{"a":1}` {
				t.Fatalf("resumed with %v", got)
			}
		})
	}
}

// TestRelease: the client is sent away with an id, and finds the answer there.
func TestRelease(t *testing.T) {
	t.Parallel()
	for _, before := range []time.Duration{0, time.Second} { // the stream is attached, or never was
		synctest.Test(t, func(t *testing.T) {
			s := newSite(t, &host{plan: polling, log: &keeper{}, handle: func(ctx context.Context, _ string, _ func(string) error) (int, string) {
				time.Sleep(before)
				transport.RequestFrom(ctx).Stream.Release()
				transport.RequestFrom(ctx).Stream.Release()
				time.Sleep(time.Minute)
				return http.StatusOK, `{"a":1}`
			}}, streamable.Config{})
			defer s.stop()
			start := time.Now()
			c := s.carry(s.do(http.MethodPost, "x"), -1).wait()
			if got := c.events(); len(got) != 1 || got[0].data != "" || time.Since(start) != before {
				t.Fatalf("after %v: %v", time.Since(start), got)
			}
			again := s.carry(s.do(http.MethodGet, "", "Last-Event-ID: "+c.events()[0].id), -1).wait()
			if got := again.events(); len(got) != 1 || got[0].data != `{"a":1}` || time.Since(start) != before+time.Minute {
				t.Fatalf("after %v: %v", time.Since(start), got)
			}
		})
	}
}

// onceAway is a log that fails at the first answer.
type onceAway struct {
	*keeper
	stores  bool // although it fails
	answers atomic.Int32
}

func (l *onceAway) Append(ctx context.Context, stream string, frame []byte) (uint64, error) {
	if string(frame) == `{"a":1}` && l.answers.Add(1) == 1 {
		if l.stores {
			_, _ = l.keeper.Append(ctx, stream, frame)
		}
		return 0, errAway
	}
	return l.keeper.Append(ctx, stream, frame)
}

// TestAnswerIsLogged: a log that fails once does not lose the answer of a client that was sent away, and
// does not repeat an answer that it has stored nevertheless.
func TestAnswerIsLogged(t *testing.T) {
	t.Parallel()
	for _, stores := range []bool{false, true} {
		answerIsLogged(t, stores)
	}
}

func answerIsLogged(t *testing.T, stores bool) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, &host{plan: polling, log: &onceAway{keeper: &keeper{}, stores: stores}, handle: func(ctx context.Context, _ string, _ func(string) error) (int, string) {
			transport.RequestFrom(ctx).Stream.Release()
			time.Sleep(time.Minute)
			return http.StatusOK, `{"a":1}`
		}}, streamable.Config{})
		defer s.stop()
		c := s.carry(s.do(http.MethodPost, "x"), -1).wait()
		time.Sleep(2 * time.Minute)
		got := s.carry(s.do(http.MethodGet, "", "Last-Event-ID: "+c.events()[0].id), -1).wait().events()
		if len(got) != 1 || got[0].data != `{"a":1}` {
			t.Errorf("resumed with %v", got)
		}
	})
}

// TestCutsAndResumes: 10,000 events, many of them in a hurry, over a connection that breaks
// every few writes; none is lost, none comes twice.
func TestCutsAndResumes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const total, every, burst = 10_000, 7, 13 // writes, which carry one or many
		s := newSite(t, &host{plan: resumable, log: &keeper{}, handle: func(_ context.Context, _ string, send func(string) error) (int, string) {
			for i := range total {
				if err := send(fmt.Sprintf(`{"n":%d}`, i)); err != nil {
					t.Errorf("event %d: %v", i, err)
				}
				if i%burst == 0 {
					time.Sleep(time.Millisecond)
				}
			}
			return http.StatusOK, `{"answer":true}`
		}}, streamable.Config{})
		defer s.stop()
		var got []event
		r, cuts := s.do(http.MethodPost, "x"), 0
		for {
			c := s.carry(r, every).wait()
			got = append(got, c.events()...)
			if got[len(got)-1].data == `{"answer":true}` {
				break
			}
			cuts++
			r = s.do(http.MethodGet, "", "Last-Event-ID: "+got[len(got)-1].id)
		}
		if len(got) != total+1 || cuts < 200 {
			t.Fatalf("%d events, %d cuts", len(got), cuts)
		}
		for i, e := range got[:total] {
			if e.data != fmt.Sprintf(`{"n":%d}`, i) {
				t.Fatalf("event %d is %s", i, e.data)
			}
		}
	})
}

// TestNothingToResume: garbage, ids of other sessions and what has expired get one
// and the same answer, which does not end the session.
func TestNothingToResume(t *testing.T) {
	t.Parallel()
	log := &keeper{}
	h := &host{plan: polling, log: log, handle: func(_ context.Context, _ string, send func(string) error) (int, string) {
		_ = send(`{"n":1}`)
		return http.StatusOK, `{"a":1}`
	}}
	s := newSite(t, h, streamable.Config{StreamDelay: time.Minute})
	defer s.stop()
	mine := s.carry(s.do(http.MethodPost, "x"), -1).wait().events()
	other := &site{t: t, e: s.e}
	other.session = field(other.do(http.MethodPost, "initialize").Header, "Mcp-Session-Id")
	foreign := other.carry(other.do(http.MethodPost, "x"), -1).wait().events()[0].id
	tag, _, _ := strings.Cut(mine[0].id, ".")
	want := ""
	for _, id := range []string{"garbage", "1.2.3", foreign, tag + ".99.1", tag + ".1.99", tag + ".1", tag + ".1.-1", tag + ".1.1.1", strings.Repeat("9", 4000)} {
		r := s.do(http.MethodGet, "", "Last-Event-ID: "+id)
		if want == "" {
			want = string(r.Body)
		}
		if r.Status != http.StatusBadRequest || string(r.Body) != want {
			t.Errorf("%.40s: %d %s", id, r.Status, r.Body)
		}
	}
	if got := s.carry(s.do(http.MethodGet, "", "Last-Event-ID: "+mine[1].id), -1).wait().events(); len(got) != 1 || got[0].data != `{"a":1}` {
		t.Errorf("resuming a finished stream: %v", got)
	}
	log.mu.Lock()
	log.expired = true
	log.mu.Unlock()
	if r := s.do(http.MethodGet, "", "Last-Event-ID: "+mine[0].id); r.Status != http.StatusBadRequest || string(r.Body) != want {
		t.Errorf("expired: %d %s", r.Status, r.Body)
	}
}

// TestKeptStreams: of finished streams only the last few stay resumable, and the
// log forgets the others.
func TestKeptStreams(t *testing.T) {
	t.Parallel()
	log := &keeper{}
	s := newSite(t, &host{plan: resumable, log: log, handle: func(_ context.Context, _ string, send func(string) error) (int, string) {
		_ = send(`{"n":1}`)
		return http.StatusOK, `{"a":1}`
	}}, streamable.Config{StreamDelay: time.Minute})
	var first string
	for i := range 100 {
		c := s.carry(s.do(http.MethodPost, "x"), -1).wait()
		if i == 0 {
			first = c.events()[0].id
		}
	}
	if n := log.len(); n != 64 {
		t.Errorf("%d streams are kept", n)
	}
	if r := s.do(http.MethodGet, "", "Last-Event-ID: "+first); r.Status != http.StatusBadRequest {
		t.Errorf("the first stream: %d", r.Status)
	}
	s.stop()
	if n := log.len(); n != 0 {
		t.Errorf("%d streams are kept after the end of the session", n)
	}
}
