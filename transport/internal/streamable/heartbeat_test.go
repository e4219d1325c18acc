package streamable_test

import (
	"context"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/internal/streamable"
)

// stuck is a client that has its first bytes and then reads no more, until released.
type stuck struct {
	sink
	writes   int
	released chan struct{}
}

func (s *stuck) Write(part []byte) error {
	if s.writes++; s.writes > 1 {
		<-s.released
		return errCut
	}
	return s.sink.Write(part)
}

// begun is an open stream without a goroutine.
type begun struct {
	gone func()
	over chan struct{}
}

func begin(t *testing.T, r *streamable.Reply, to streamable.Sink) *begun {
	t.Helper()
	if r.Stream == nil {
		t.Fatalf("no stream: %d %s", r.Status, r.Body)
	}
	b := &begun{over: make(chan struct{})}
	b.gone = r.Stream.Begin(t.Context(), to, func() { close(b.over) })
	return b
}

// crowd are as many sessions of one endpoint.
func crowd(t *testing.T, h *host, n int) (e *streamable.Endpoint, all []*site) {
	t.Helper()
	first := newSite(t, h, streamable.Config{MaxSessions: 4 * (n + 1), StreamDelay: time.Minute}) // however busy the machine is
	for range n {
		s := &site{t: t, e: first.e}
		s.session = field(s.do(http.MethodPost, "initialize").Header, "Mcp-Session-Id")
		all = append(all, s)
	}
	return first.e, all
}

// One client that never reads among 200 costs the others nothing: not a heartbeat, nor a
// message, nor their end when the host stops.
func TestStuckAmongMany(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const many, beats = 200, 10
		h := &host{plan: resumable, log: &keeper{}, closing: make(chan struct{}), handle: tells}
		e, all := crowd(t, h, many)
		bad := &stuck{sink: sink{left: -1}, released: make(chan struct{})}
		badly := begin(t, all[0].do(http.MethodGet, ""), bad)
		sinks, others := make([]sink, many), make([]*begun, many)
		for i := 1; i < many; i++ {
			sinks[i].left = -1
			others[i] = begin(t, all[i].do(http.MethodGet, ""), &sinks[i])
		}
		time.Sleep(beats*15*time.Second*7/8 + time.Second) // a beat comes an eighth before it is due
		for i := 1; i < many; i++ {
			if r := all[i].do(http.MethodPost, "x"); r.Status != http.StatusOK {
				t.Fatalf("a call: %d", r.Status)
			}
			// One more when the stream began.
			if got := sinks[i].text(); strings.Count(got, ": \n\n") != beats+1 || len(sinks[i].events()) != 1 {
				t.Fatalf("stream %d: %q", i, got)
			}
		}
		close(h.closing)
		for i := 1; i < many; i++ {
			<-others[i].over
		}
		if bad.writes != 2 {
			t.Errorf("%d writes to the one that is stuck", bad.writes)
		}
		close(bad.released)
		<-badly.over
		(&site{t: t, e: e}).stop()
	})
}

// TestNeverSilentForLonger: whenever something is written on a stream, the next heartbeat comes before
// Heartbeat is over, and not much sooner.
func TestNeverSilentForLonger(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const every = 15 * time.Second // the default
		h := &host{plan: resumable, log: &keeper{}, handle: tells}
		e, all := crowd(t, h, 2)
		other := &stamped{sink: sink{left: -1}}
		begun := begin(t, all[1].do(http.MethodGet, ""), other) // it has other beats than the stream below
		time.Sleep(every / 3)
		to := &stamped{sink: sink{left: -1}}
		b := begin(t, all[0].do(http.MethodGet, ""), to)
		for i := range 40 {
			time.Sleep(time.Duration(i*i) * 37 * time.Millisecond)
			if r := all[0].do(http.MethodPost, "x"); r.Status != http.StatusOK {
				t.Fatalf("a call: %d", r.Status)
			}
		}
		time.Sleep(5 * every)
		synctest.Wait()
		for name, s := range map[string]*stamped{"busy": to, "idle": other} {
			for i := 1; i < len(s.at); i++ {
				if silent := s.at[i].Sub(s.at[i-1]); silent >= every {
					t.Errorf("%s: silent for %v", name, silent)
				}
			}
			if time.Since(s.at[len(s.at)-1]) > every || len(s.at) < 5 {
				t.Errorf("%s: %d writes, the last %v ago", name, len(s.at), time.Since(s.at[len(s.at)-1]))
			}
		}
		if beats := len(other.at); beats > 68 { // 40 sleeps and five intervals are some 14 minutes
			t.Errorf("%d writes on an idle stream", beats)
		}
		b.gone()
		begun.gone()
		(&site{t: t, e: e}).stop()
	})
}

// stamped notes when it is written to.
type stamped struct {
	sink
	at []time.Time
}

func (s *stamped) Write(part []byte) error {
	s.at = append(s.at, time.Now())
	return s.sink.Write(part)
}

// tells sends something on the session's own stream.
func tells(ctx context.Context, _ string, _ func(string) error) (int, string) {
	link, err := transport.RequestFrom(ctx).Sessions.Find()
	if err != nil || link.Out.Send(ctx, transport.Frame{JSON: []byte(`{"changed":true}`)}) != nil {
		return http.StatusInternalServerError, `{}`
	}
	return http.StatusOK, `{"a":1}`
}

// Streams on which nothing happens have no goroutines, however many they are. Not
// parallel: goroutines are counted.
func TestIdleStreamsHaveNoGoroutines(t *testing.T) { //nolint:paralleltest // see above
	const many = 500
	h := &host{plan: resumable, log: &keeper{}, handle: tells}
	e, all := crowd(t, h, many)
	before := runtime.NumGoroutine()
	sinks, open := make([]sink, many), make([]*begun, many)
	for i, s := range all {
		sinks[i].left = -1
		open[i] = begin(t, s.do(http.MethodGet, ""), &sinks[i])
	}
	if got := runtime.NumGoroutine() - before; got > 10 {
		t.Errorf("%d goroutines for %d streams", got, many)
	}
	for _, b := range open[:many/2] {
		b.gone()
		b.gone() // once is enough, and twice does no harm
		<-b.over
	}
	(&site{t: t, e: e}).stop()
	for _, b := range open[many/2:] {
		<-b.over
	}
}

// TestOverOnce checks that a stream ends only once, whatever ends it: the client, the session,
// another connection, an event store that panics, or all at the same time.
func TestOverOnce(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(s *site, b *begun, h *host){
		"gone":    func(_ *site, b *begun, _ *host) { b.gone() },
		"deleted": func(s *site, _ *begun, _ *host) { s.do(http.MethodDelete, "") },
		"again": func(s *site, _ *begun, _ *host) {
			s.carry(s.do(http.MethodGet, ""), -1).cancel()
		},
		"closing": func(_ *site, _ *begun, h *host) { close(h.closing) },
		"all": func(s *site, b *begun, h *host) {
			go b.gone()
			go close(h.closing)
			go s.do(http.MethodDelete, "")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h := &host{plan: resumable, log: &keeper{}, closing: make(chan struct{}), handle: tells}
				s := newSite(t, h, streamable.Config{})
				b := begin(t, s.do(http.MethodGet, ""), &sink{left: -1})
				end(s, b, h)
				<-b.over // closed twice it would panic
				synctest.Wait()
				s.stop()
			})
		})
	}
}
