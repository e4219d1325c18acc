package streamable_test

import (
	"context"
	"errors"
	"math"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/internal/streamable"
)

// TestShutdown: what was accepted finishes, what comes is refused, what waits for
// nothing ends.
func TestShutdown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, &host{plan: resumable, log: &keeper{}, handle: func(context.Context, string, func(string) error) (int, string) {
			time.Sleep(time.Second)
			return http.StatusOK, `{"a":1}`
		}}, streamable.Config{})
		standalone := s.carry(s.do(http.MethodGet, ""), -1)
		running := s.carry(s.do(http.MethodPost, "x"), -1)
		quick := make(chan *streamable.Reply, 1)
		go func() { quick <- s.do(http.MethodPost, "x") }() // still within its patience
		synctest.Wait()
		stopped := make(chan error, 1)
		go func() { stopped <- s.e.Shutdown(t.Context()) }()
		synctest.Wait()
		standalone.wait()
		if r := s.do(http.MethodPost, "x"); r.Status != http.StatusServiceUnavailable || field(r.Header, "Retry-After") == "" {
			t.Errorf("after Shutdown: %d", r.Status)
		}
		if got := running.wait().text(); got != `{"a":1}` {
			t.Errorf("the call: %q", got)
		}
		if got := s.carry(<-quick, -1).wait().text(); got != `{"a":1}` {
			t.Errorf("the young call: %q", got)
		}
		if err := <-stopped; err != nil {
			t.Errorf("Shutdown: %v", err)
		}
	})
}

// TestShutdownCancels: at the end of its patience Shutdown cancels.
func TestShutdownCancels(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, &host{plan: modern, handle: func(ctx context.Context, _ string, _ func(string) error) (int, string) {
			<-ctx.Done()
			return http.StatusOK, `{"a":1}`
		}}, streamable.Config{})
		c := s.carry(s.do(http.MethodPost, "x"), -1)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := s.e.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Shutdown: %v", err)
		}
		if got := c.wait().text(); got != `{"a":1}` {
			t.Errorf("the call: %q", got)
		}
	})
}

// TestPanics: a panic is answered, and the next request is served.
func TestPanics(t *testing.T) {
	t.Parallel()
	h := &host{plan: modern, handle: func(_ context.Context, method string, _ func(string) error) (int, string) {
		if method == "panic" {
			panic("as asked")
		}
		return http.StatusOK, `{"a":1}`
	}}
	s := newSite(t, h, streamable.Config{StreamDelay: time.Minute})
	defer s.stop()
	for _, method := range []string{"panic", "panic in Accept"} {
		r := s.do(http.MethodPost, method)
		if want := `{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"internal error"}}`; string(r.Body) != want {
			t.Errorf("%s: %d %s", method, r.Status, r.Body)
		}
	}
	if r := s.do(http.MethodPost, "x"); r.Status != http.StatusOK {
		t.Errorf("afterwards: %d", r.Status)
	}
	if got := h.warned.take(); len(got) != 1 || !strings.Contains(got[0], "as asked") || !strings.Contains(got[0], ".Accept") && !strings.Contains(got[0], ".Serve") {
		t.Errorf("logged %q", got)
	}
}

// TestUnfinishedHandshake: a session that only ever sent initialize does not stay.
func TestUnfinishedHandshake(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, &host{plan: resumable, log: &keeper{}, handle: answers}, streamable.Config{})
		defer s.stop()
		time.Sleep(2 * time.Minute)
		if r := s.do(http.MethodPost, "x"); r.Status != http.StatusNotFound {
			t.Errorf("%d", r.Status)
		}
	})
}

// TestAcceptedCallsFinish on shutdown, also those that need the client: answers to
// their questions are taken, and their streams resumed.
func TestAcceptedCallsFinish(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		answered := make(chan struct{})
		s := newSite(t, &host{plan: polling, log: &keeper{}, handle: func(ctx context.Context, method string, _ func(string) error) (int, string) {
			switch method {
			case "notifications/answer":
				close(answered)
				return 0, ""
			case "asks":
				<-answered
			default:
				transport.RequestFrom(ctx).Stream.Release()
				time.Sleep(time.Second)
			}
			return http.StatusOK, `{"a":1}`
		}}, streamable.Config{})
		asks := s.carry(s.do(http.MethodPost, "asks"), -1)
		polls := s.carry(s.do(http.MethodPost, "polls"), -1).wait()
		stopped := make(chan error, 1)
		go func() { stopped <- s.e.Shutdown(t.Context()) }()
		synctest.Wait()
		if r := s.do(http.MethodPost, "x"); r.Status != http.StatusServiceUnavailable {
			t.Errorf("a new request: %d", r.Status)
		}
		if r := s.do(http.MethodPost, "notifications/answer"); r.Status != http.StatusAccepted {
			t.Errorf("an answer: %d", r.Status)
		}
		if got := asks.wait().events(); len(got) != 2 || got[1].data != `{"a":1}` {
			t.Errorf("the call that asks: %v", got)
		}
		got := s.carry(s.do(http.MethodGet, "", "Last-Event-ID: "+polls.events()[0].id), -1).wait().events()
		if len(got) != 1 || got[0].data != `{"a":1}` {
			t.Errorf("the call that polls: %v", got)
		}
		if err := <-stopped; err != nil {
			t.Errorf("Shutdown: %v", err)
		}
	})
}

// TestRefusedHasNotRun: a request beyond the limit does nothing, and a refusal has its
// own status whatever the client takes.
func TestRefusedHasNotRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var runs atomic.Int32
		s := newSite(t, &host{plan: resumable, log: &keeper{}, handle: func(context.Context, string, func(string) error) (int, string) {
			runs.Add(1)
			time.Sleep(time.Second)
			return http.StatusOK, `{"a":1}`
		}}, streamable.Config{MaxCalls: 1})
		defer s.stop()
		first := s.carry(s.do(http.MethodPost, "x"), -1)
		if r := s.do(http.MethodPost, "x"); r.Status != http.StatusTooManyRequests {
			t.Errorf("too many: %d", r.Status)
		}
		if r := s.do(http.MethodPost, "notifications/x"); r.Status != http.StatusAccepted {
			t.Errorf("a notification: %d", r.Status)
		}
		first.wait()
		synctest.Wait()
		if n := runs.Load(); n != 2 {
			t.Errorf("%d have run", n)
		}
		s.session = "GONE"
		if r := s.do(http.MethodPost, "x", "Accept: text/event-stream"); r.Status != http.StatusNotFound {
			t.Errorf("a dead session, for a client that takes no JSON: %d", r.Status)
		}
	})
}

// TestMadeUpSessions are no way around the limit of streams: on a revision without
// sessions the header is ignored, and an id that is not the client's counts as none.
func TestMadeUpSessions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, &host{plan: modern, handle: func(context.Context, string, func(string) error) (int, string) {
			time.Sleep(time.Second)
			return http.StatusOK, `{"a":1}`
		}}, streamable.Config{MaxCalls: 1})
		defer s.stop()
		first := s.carry(s.do(http.MethodPost, "x", "Mcp-Session-Id: ONE"), -1)
		if r := s.do(http.MethodPost, "x", "Mcp-Session-Id: TWO"); r.Status != http.StatusTooManyRequests {
			t.Errorf("with another made-up id: %d", r.Status)
		}
		first.wait()
	})
}

// deafSink is the response to a client that does not read.
type deafSink struct{ blocked, cut chan struct{} }

func (deafSink) Open(int, []streamable.Field, int) error { return nil }

func (s deafSink) Write([]byte) error {
	close(s.blocked)
	<-s.cut
	return errCut
}

// TestShutdownWithoutReader: a client that does not read does not keep Shutdown from cancelling calls.
func TestShutdownWithoutReader(t *testing.T) {
	t.Parallel()
	began, cancelled := make(chan struct{}), make(chan struct{})
	s := newSite(t, &host{plan: resumable, log: &keeper{}, handle: func(ctx context.Context, _ string, _ func(string) error) (int, string) {
		close(began)
		<-ctx.Done()
		close(cancelled)
		return http.StatusOK, `{"a":1}`
	}}, streamable.Config{})
	deaf, over := deafSink{make(chan struct{}), make(chan struct{})}, make(chan struct{})
	reply := s.do(http.MethodGet, "")
	go func() { defer close(over); reply.Stream.Serve(t.Context(), deaf) }()
	<-deaf.blocked
	answered := make(chan *streamable.Reply, 1)
	go func() { answered <- s.do(http.MethodPost, "x") }()
	<-began
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	stopped := make(chan error, 1)
	go func() { stopped <- s.e.Shutdown(ctx) }()
	select {
	case <-cancelled:
	case <-time.After(10 * time.Second):
		t.Error("Shutdown waits for the client that does not read")
	}
	close(deaf.cut)
	<-over
	if err := <-stopped; !errors.Is(err, context.Canceled) {
		t.Errorf("Shutdown: %v", err)
	}
	if r := <-answered; r.Stream != nil {
		s.carry(r, -1).wait()
	}
}

// TestSessionWithoutEnd: the longest time that a program can give means that a session does not end.
func TestSessionWithoutEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, &host{plan: resumable, log: &keeper{}, handle: answers}, streamable.Config{SessionIdle: math.MaxInt64})
		defer s.stop()
		for i := range 3 {
			time.Sleep(50 * time.Second) // the first is within handshakeTime
			if r := s.do(http.MethodPost, "x"); r.Status != http.StatusOK {
				t.Fatalf("request %d: %d", i, r.Status)
			}
		}
	})
}
