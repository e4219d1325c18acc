package serve_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
)

// TestHTTPManyStreams: 2,000 open streams do not delay other calls, and all of them receive a change.
func TestHTTPManyStreams(t *testing.T) {
	const streams, callers, calls = 2000, 64, 25
	if testing.Short() {
		t.Skip("takes seconds")
	}
	if limit := fileLimit(); limit < 2*streams+1000 {
		t.Skipf("needs %d file descriptors, there are %d", 2*streams+1000, limit)
	}
	onFaultCarriers(t, func(t *testing.T, c faultCarrier) {
		base, _ := faultGoroutines()
		s := serveFaults(t, c, faultLimits{streams: 2 * streams})
		open := make([]*faultWire, streams)
		events := make([]faultEvents, streams)
		openAll(s, open, events)
		n, _ := faultGoroutines()
		t.Logf("%.1f goroutines per stream", float64(n-base)/streams)
		var all sync.WaitGroup
		began := time.Now()
		for caller := range callers {
			all.Go(func() { callSteadily(s, caller, calls) })
		}
		if err := s.server.Add(framework.Tool("late", hello, framework.Describe("Greet."))); err != nil {
			t.Error(err)
		}
		heard := make(chan int, 2)
		for half := range 2 {
			go func() { heard <- hearAll(events, half*streams/2, streams/2) }()
		}
		got := faultWait(t, "the streams", heard) + faultWait(t, "the streams", heard)
		if got != streams {
			t.Errorf("%d of %d streams heard of the change", got, streams)
		}
		all.Wait()
		t.Logf("%d calls and %d notifications in %s", callers*calls, streams, time.Since(began).Round(time.Millisecond))
		for _, w := range open {
			w.close()
		}
	})
}

// openAll opens one stream of a session, one subscription, and so on.
func openAll(s *faultSite, open []*faultWire, events []faultEvents) {
	var all sync.WaitGroup
	for worker := range 8 {
		all.Go(func() {
			for i := worker; i < len(open); i += 8 {
				w := s.dial()
				open[i] = w
				if i/8%2 == 0 {
					w.send(faultGet(s.era(protocol.Rev20251125).fields()...))
				} else {
					e := faultEra{revision: protocol.Rev20260728}
					w.send(e.request(i, "subscriptions/listen", "", `"notifications":{"toolsListChanged":true}`, false))
				}
				r := w.open()
				events[i] = eventsOf(r)
				if r.StatusCode != http.StatusOK {
					s.t.Errorf("stream %d: %s", i, r.Status)
					return
				}
				if i/8%2 == 1 {
					if _, f := w.message(events[i]); f.Method != "notifications/subscriptions/acknowledged" {
						s.t.Errorf("stream %d begins with %+v", i, f)
					}
				}
			}
		})
	}
	all.Wait()
	if s.t.Failed() {
		s.t.FailNow()
	}
}

func hearAll(events []faultEvents, from, n int) (heard int) {
	for i := from; i < from+n; i++ {
		for {
			e, err := events[i].next()
			if err != nil {
				break
			}
			if strings.Contains(e.data, "notifications/tools/list_changed") {
				heard++
				break
			}
		}
	}
	return heard
}

func callSteadily(s *faultSite, caller, calls int) {
	e := faultEra{revision: protocol.Rev20260728}
	if caller%2 == 0 {
		e = s.era(protocol.Rev20251125)
	}
	w := s.dial()
	for i := range calls {
		w.send(e.add(i))
		if w.keptSum(i) {
			continue
		}
		w.close()
		w = s.dial()
	}
	w.close()
}

// keptSum reads the answer to add; false: the connection was given up for it, as it
// is for an answer that comes late.
func (w *faultWire) keptSum(id int) bool {
	w.t.Helper()
	r, err := http.ReadResponse(w.in, nil)
	if err != nil {
		rest, _ := io.ReadAll(w.in)
		w.t.Fatalf("instead of the answer to %d on a kept connection: %v, %q", id, err, rest)
	}
	text, err := io.ReadAll(r.Body)
	if want := fmt.Sprintf(`"sum":%d`, id+1); err != nil || r.StatusCode != http.StatusOK || !strings.Contains(string(text), want) {
		w.t.Fatalf("the answer to %d: %s, %v, %q", id, r.Status, err, text)
	}
	return !r.Close
}

// TestHTTPNeverReads: a client that asks for a stream of 64 MB and reads none of it is
// dropped. Its handler ends, and other clients do not wait.
func TestHTTPNeverReads(t *testing.T) {
	onFaultCarriers(t, func(t *testing.T, c faultCarrier) {
		const timeout = 300 * time.Millisecond
		s := serveFaults(t, c, faultLimits{write: timeout})
		s.goodWithin(timeout, faultEra{revision: protocol.Rev20260728}, 1)
		base := faultSteady()
		for i, revision := range []protocol.Revision{protocol.Rev20260728, protocol.Rev20251125} {
			e := s.era(revision)
			w := s.dial()
			mark := 1_000_001 + i                                                                    // of this call, not of one before
			w.send(e.call(1, "count", fmt.Sprintf(`{"n":1000,"size":65536,"mark":%d}`, mark), true)) // more than kernels hold
			eventually(t, "the handler to begin", func() bool { return s.hub.has(mark) })
			began := time.Now()
			for id := range 20 {
				s.goodWithin(timeout, e, id+2)
			}
			t.Logf("%s: 20 calls beside it in %s", revision, time.Since(began).Round(time.Millisecond))
			// The handler ends, and its goroutine is gone, while the client still holds its
			// end open.
			eventually(t, "the handler to end", func() bool { return s.hub.isOver(mark) })
			faultSettle(t, base)
			t.Logf("%s: all ended after %s", revision, time.Since(began).Round(time.Millisecond))
			size, err := io.Copy(io.Discard, w.conn)
			if timeout, ok := err.(net.Error); ok && timeout.Timeout() || size > 1000*65536 { //nolint:errorlint // as net returns it
				t.Errorf("after %d bytes: %v", size, err)
			}
			w.close()
			s.done(e)
		}
	})
}

// TestHTTPNeverListens: a subscriber that does not read is dropped, too, and the
// others hear of each change.
func TestHTTPNeverListens(t *testing.T) {
	uri := "big://" + strings.Repeat("x", 30_000)
	onFaultCarriers(t, func(t *testing.T, c faultCarrier) {
		const timeout = 300 * time.Millisecond
		s := serveFaultsOn(t, c, faultLimits{write: timeout}, &narrowListener{faultListener(t)})
		e := faultEra{revision: protocol.Rev20260728}
		s.goodWithin(timeout, e, 1)
		base := faultSteady()
		subscribe := func() (*faultWire, faultEvents) {
			w := s.dial()
			w.send(e.request(s.next(), "subscriptions/listen", "", fmt.Sprintf(`"notifications":{"resourceSubscriptions":[%q]}`, uri), false))
			events := eventsOf(w.open())
			if event, f := w.message(events); f.Method != "notifications/subscriptions/acknowledged" || !strings.Contains(event.data, uri) {
				t.Fatalf("the first message is %.200s", event.data)
			}
			return w, events
		}
		lazy, _ := subscribe()
		_ = lazy.conn.SetReadBuffer(4096) // takes little from now on
		one := faultSteady()
		eager, events := subscribe()
		for heard := 0; ; heard++ {
			began := time.Now()
			s.server.ResourceUpdated(t.Context(), uri)
			event, err := events.full()
			if err != nil && time.Since(began) >= timeout { // the machine stood still, and it was lazy, too
				eager.close()
				eager, events = subscribe()
				continue
			}
			if f := eager.frame(event); err != nil || f.Method != "notifications/resources/updated" || !strings.Contains(event.data, uri) {
				t.Fatalf("message %d is %.200s, %v", heard, event.data, err)
			}
			// Each has as many of its own, so that there are as many without the lazy one
			// as there were without the eager one.
			if n, _ := faultGoroutines(); n <= one {
				t.Logf("dropped after %d notifications of others", heard)
				break
			}
		}
		eager.close()
		faultSettle(t, base)
		lazy.close()
	})
}

func (h *faultHub) has(n int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.ran[n]
}

func (h *faultHub) isOver(n int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.over[n]
}

func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(faultPatience); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// cutProxy hands bytes on between clients and a server, and once it is armed breaks
// each connection off after a number of bytes from the server that a seed decides.
type cutProxy struct {
	net.Listener
	target string
	armed  atomic.Bool
	cuts   atomic.Int64
	all    sync.WaitGroup

	mu     sync.Mutex // guards the fields below
	random *rand.Rand
	conns  []net.Conn
	closed bool
}

func startCutProxy(t testing.TB, target string, seed uint64) *cutProxy {
	t.Helper()
	p := &cutProxy{Listener: faultListener(t), target: target, random: rand.New(rand.NewPCG(seed, 1))} //nolint:gosec // to be repeatable
	p.all.Go(func() {
		for {
			conn, err := p.Accept()
			if err != nil {
				return
			}
			p.all.Go(func() { p.carry(conn.(*net.TCPConn)) })
		}
	})
	t.Cleanup(p.stop)
	return p
}

func (p *cutProxy) stop() {
	_ = p.Close()
	p.mu.Lock()
	p.closed = true
	conns := p.conns
	p.mu.Unlock()
	for _, c := range conns {
		_ = c.Close()
	}
	p.all.Wait()
}

// track keeps connections for stop, and draws what one may carry.
func (p *cutProxy) track(conns ...net.Conn) (budget int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return -1
	}
	p.conns = append(p.conns, conns...)
	return 500 + p.random.IntN(13_000)
}

func (p *cutProxy) carry(near *net.TCPConn) {
	defer func() { _ = near.Close() }()
	conn, err := net.DialTimeout("tcp", p.target, faultPatience)
	if err != nil {
		return
	}
	far := conn.(*net.TCPConn)
	defer func() { _ = far.Close() }()
	_ = far.SetReadBuffer(4096) // so that the server soon feels the cut
	budget := p.track(near, far)
	if budget < 0 {
		return
	}
	p.all.Go(func() {
		_, _ = io.Copy(far, near)
		_ = far.CloseWrite()
	})
	buf := make([]byte, 1500)
	for {
		n, err := far.Read(buf)
		if p.armed.Load() && n >= budget {
			_, _ = near.Write(buf[:budget])
			p.cuts.Add(1)
			_ = far.SetLinger(0)
			return
		}
		if p.armed.Load() {
			budget -= n
		}
		if _, failed := near.Write(buf[:n]); err != nil || failed != nil {
			return
		}
	}
}

// TestHTTPResume: of 10,000 reports none is lost and none doubled, however often the
// connection breaks.
func TestHTTPResume(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	const reports, cuts = 10_000, 200
	onFaultCarriers(t, func(t *testing.T, c faultCarrier) {
		for name, resume := range map[string]func(s *faultSite, p *cutProxy, n int) []int{
			"client": resumeByClient,
			"raw":    resumeRaw,
		} {
			t.Run(name, func(t *testing.T) {
				l := &narrowListener{faultListener(t)}
				s := serveFaultsOn(t, c, faultLimits{retry: time.Millisecond}, l)
				p := startCutProxy(t, s.addr, 42)
				began := time.Now()
				got := resume(s, p, reports)
				t.Logf("%d reports, %d cuts, %s", len(got), p.cuts.Load(), time.Since(began).Round(time.Millisecond))
				want := make([]int, reports)
				for i := range want {
					want[i] = i + 1
				}
				if !slices.Equal(got, want) {
					t.Errorf("%d reports, the first wrong one at %d", len(got), firstDifference(got, want))
				}
				if p.cuts.Load() < cuts {
					t.Errorf("only %d cuts", p.cuts.Load())
				}
				p.stop()
			})
		}
	})
}

func firstDifference(a, b []int) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

// narrowListener keeps the kernel from taking megabytes on behalf of a client that is
// gone.
type narrowListener struct{ net.Listener }

func (l *narrowListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err == nil {
		_ = conn.(*net.TCPConn).SetWriteBuffer(4096)
	}
	return conn, err
}

func countArgs(n int) map[string]int { return map[string]int{"n": n, "size": 100, "pause": 25} }

func resumeByClient(s *faultSite, p *cutProxy, n int) (got []int) {
	pool := &http.Transport{}
	defer pool.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(s.t.Context(), 2*faultPatience)
	defer cancel()
	c, err := client.Connect(ctx, client.HTTP("http://"+p.Addr().String()+"/mcp", client.HTTPClient(&http.Client{Transport: pool})),
		client.Revisions(protocol.Rev20251125))
	if err != nil {
		s.t.Fatal(err)
	}
	text, err := client.Call[string](ctx, c, "count", countArgs(n), client.OnProgress(func(r protocol.Progress) {
		p.armed.Store(true)
		got = append(got, int(r.Done))
	}))
	if err != nil || text != "counted" {
		s.t.Errorf("the answer is %q, %v", text, err)
	}
	p.armed.Store(false)
	if err := c.Close(); err != nil {
		s.t.Error(err)
	}
	return got
}

// resumeRaw is a client that knows nothing but ids, on a revision whose streams begin
// without one.
func resumeRaw(s *faultSite, p *cutProxy, n int) (got []int) {
	e := s.era(protocol.Rev20250618)
	answers, last := 0, ""
	for attempt := 0; answers == 0; attempt++ {
		if attempt > 5000 {
			s.t.Fatalf("no answer after %d attempts and %d reports", attempt, len(got))
		}
		w := dialFault(s.t, p.Addr().String())
		if last == "" {
			w.send(e.call(s.next(), "count", fmt.Sprintf(`{"n":%d,"size":100,"pause":25}`, n), true))
		} else {
			w.send(faultGet(append(e.fields(), "Last-Event-ID: "+last)...))
		}
		more, id, answered := w.take(last, func() { p.armed.Store(true) })
		got, last = append(got, more...), id
		if answered {
			answers++
		}
		w.close()
	}
	return got
}

// take reads a response as far as it comes.
func (w *faultWire) take(last string, each func()) (progress []int, id string, answered bool) {
	w.t.Helper()
	r, err := http.ReadResponse(w.in, nil)
	if err != nil {
		return nil, last, false
	}
	if r.StatusCode != http.StatusOK {
		w.t.Fatalf("after %q: %s", last, r.Status)
	}
	for events := eventsOf(r); ; {
		event, err := events.next()
		if err != nil {
			return progress, last, answered
		}
		if event.data == "" {
			continue
		}
		each()
		last = event.id
		if f := w.frame(event); f.Method != "" {
			progress = append(progress, f.Params.Progress)
		} else {
			answered = true
		}
	}
}
