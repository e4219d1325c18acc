package serve_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
)

// TestHTTPClientVanishes checks that a client that leaves in the middle of a call leaves nothing
// behind. On 2026-07-28 the context of the handler ends (basic/transports/streamable-http
// "Cancellation"). On the other revisions the handler goes on, and its answer is kept for a client
// that comes back.
func TestHTTPClientVanishes(t *testing.T) {
	onFaultCarriers(t, func(t *testing.T, c faultCarrier) {
		// A heartbeat would find out, too.
		s := serveFaults(t, c, faultLimits{heartbeat: time.Hour})
		vanishAll(s, 40) // pools and lazy parts
		var goroutines int
		for range 50 { // until what the warm-up left has ended
			runtime.Gosched()
			time.Sleep(2 * time.Millisecond)
			goroutines, _ = faultGoroutines()
		}
		heap := faultHeap()
		took := vanishAll(s, 200)
		faultSettle(t, goroutines)
		grown := int64(faultHeap()) - int64(heap)
		slices.Sort(took)
		t.Logf("context ended after: median %s, worst %s of %d; heap %+d KiB", took[len(took)/2], took[len(took)-1], len(took), grown>>10)
		if grown > 1<<20 {
			t.Errorf("200 clients that left take %d KiB", grown>>10)
		}
	})
}

// vanishAll lets n clients leave; it returns how long handlers took to learn of it.
func vanishAll(s *faultSite, n int) []time.Duration {
	var mu sync.Mutex
	var took []time.Duration
	var all sync.WaitGroup
	const workers = 8
	for worker := range workers {
		all.Go(func() {
			old := []faultEra{s.era(protocol.Rev20251125), s.era(protocol.Rev20250618)}
			for i := worker; i < n; i += workers {
				reset, streaming := i/8%2 == 0, i/16%2 == 0
				key := fmt.Sprintf("v%d", i)
				if worker%2 == 0 {
					d := s.vanishModern(key, i, reset, streaming)
					mu.Lock()
					took = append(took, d)
					mu.Unlock()
					continue
				}
				s.vanishOld(old[worker/2%2], key, i, reset, streaming)
			}
			for _, e := range old {
				s.done(e)
			}
		})
	}
	all.Wait()
	return took
}

func (s *faultSite) vanishModern(key string, id int, reset, streaming bool) time.Duration {
	held := s.hub.expect(key)
	w := s.dial()
	w.send(faultEra{revision: protocol.Rev20260728}.call(id, "hold", fmt.Sprintf(`{"key":%q,"say":%t}`, key, streaming), true))
	faultWait(s.t, "the handler", held.began)
	if streaming {
		if _, f := w.message(eventsOf(w.open())); f.Params.Progress != 1 {
			s.t.Errorf("the first message is %+v", f)
		}
	}
	left := time.Now()
	w.leave(reset)
	if cause := faultWait(s.t, "the handler's context", held.ended); cause == nil {
		s.t.Error("the handler's context did not end")
	}
	return time.Since(left)
}

func (s *faultSite) vanishOld(e faultEra, key string, id int, reset, streaming bool) {
	held := s.hub.expect(key)
	w := s.dial()
	w.send(e.call(id, "hold", fmt.Sprintf(`{"key":%q,"say":%t}`, key, streaming), true))
	faultWait(s.t, "the handler", held.began)
	var last faultEvent
	if streaming {
		last, _ = w.message(eventsOf(w.open()))
	}
	w.leave(reset)
	if id%4 == 1 { // some come back before the answer, some after
		time.Sleep(30 * time.Millisecond)
		held.let()
	}
	defer func() {
		held.let()
		if cause := faultWait(s.t, "the handler", held.ended); cause != nil {
			s.t.Errorf("the handler was cancelled: %v", cause)
		}
	}()
	if !streaming {
		return
	}
	back := s.dial()
	defer back.close()
	back.send(faultGet(append(e.fields(), "Last-Event-ID: "+last.id)...))
	response := back.open()
	held.let()
	if _, f := back.message(eventsOf(response)); !strings.Contains(string(f.Result), "held "+key) || string(f.ID) != fmt.Sprint(id) {
		s.t.Errorf("after %q came %+v", last.id, f)
	}
}

// TestHTTPCutRequest: a request that breaks off after any of its bytes is none.
func TestHTTPCutRequest(t *testing.T) {
	onFaultCarriers(t, func(t *testing.T, c faultCarrier) {
		s := serveFaults(t, c, faultLimits{})
		eras := []faultEra{s.era(protocol.Rev20260728), s.era(protocol.Rev20251125)}
		s.good(eras[0], 1)
		base, _ := faultGoroutines()
		before, want := s.hub.added.Load(), int64(0)
		for i, e := range eras {
			text := e.add(7)
			for cut := range len(text) {
				w := s.dial()
				w.send(text[:cut])
				w.leave((cut+i)%2 == 0)
				s.good(e, cut)
				want++
			}
		}
		faultSettle(t, base)
		if got := s.hub.added.Load() - before; got != want {
			t.Errorf("%d calls were made of %d whole requests", got, want)
		}
	})
}

// cutListener breaks connections off after so many bytes of what the server says.
type cutListener struct {
	net.Listener
	budget atomic.Int64 // of connections to be accepted; negative: unbounded
	reset  atomic.Bool
}

func (l *cutListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &cutConn{TCPConn: conn.(*net.TCPConn), left: l.budget.Load(), reset: l.reset.Load()}, nil
}

type cutConn struct {
	*net.TCPConn
	left  int64 // used by one writer at a time
	reset bool
}

var errCut = errors.New("scripted: the connection broke")

func (c *cutConn) Write(p []byte) (int, error) {
	if c.left < 0 || int64(len(p)) <= c.left {
		if c.left > 0 {
			c.left -= int64(len(p))
		} else if c.left == 0 && len(p) > 0 {
			return 0, errCut
		}
		return c.TCPConn.Write(p)
	}
	n, _ := c.TCPConn.Write(p[:c.left])
	c.left = 0
	if c.reset {
		_ = c.SetLinger(0)
	}
	_ = c.Close()
	return n, errCut
}

// TestHTTPCutAnswer: an answer that breaks off after any of its bytes affects no other call. If it can
// be resumed, nothing is lost or doubled.
func TestHTTPCutAnswer(t *testing.T) {
	onFaultCarriers(t, func(t *testing.T, c faultCarrier) {
		l := &cutListener{Listener: faultListener(t)}
		l.budget.Store(-1)
		s := serveFaultsOn(t, c, faultLimits{retry: time.Millisecond}, l)
		for _, revision := range []protocol.Revision{protocol.Rev20260728, protocol.Rev20251125, protocol.Rev20250618} {
			e := s.era(revision)
			s.good(e, 1)
			base, _ := faultGoroutines()
			for kind, request := range map[string]func(id int) string{
				"JSON": e.add,
				"SSE":  func(id int) string { return e.call(id, "count", `{"n":3,"size":10}`, true) },
			} {
				offsets := 0
				for l.cutAt(s, e, request(s.next()), offsets) {
					offsets++
				}
				t.Logf("%s %s: %d offsets", revision, kind, offsets)
				if offsets < 100 {
					t.Errorf("%s: only %d offsets", kind, offsets)
				}
			}
			faultSettle(t, base)
			s.done(e)
		}
	})
}

// cutAt lets one answer break off; false: it is not longer than that.
func (l *cutListener) cutAt(s *faultSite, e faultEra, request string, offset int) (cut bool) {
	l.reset.Store(offset%3 == 0)
	l.budget.Store(int64(offset))
	w := s.dial()
	defer w.close()
	w.send(request)
	var got []byte
	buf := make([]byte, 2048)
	var whole bool
	for {
		n, err := w.conn.Read(buf)
		got = append(got, buf[:n]...)
		if whole = isWholeAnswer(got); err != nil || whole {
			break
		}
	}
	l.budget.Store(-1)
	if bytes.Contains(got, []byte("text/event-stream")) && whole && !bytes.Contains(got, []byte(`"result"`)) {
		s.t.Errorf("a stream without the answer ends as if it were whole: %q", got)
	}
	if !whole && len(got) != offset && !l.reset.Load() {
		s.t.Fatalf("cut at %d came %q", offset, got)
	}
	s.good(e, s.next())
	if bytes.Contains(got, []byte("text/event-stream")) && !e.modern() {
		s.resumed(e, got)
	}
	return !whole
}

func isWholeAnswer(got []byte) bool {
	response, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(got)), nil)
	if err != nil {
		return false
	}
	_, err = io.ReadAll(response.Body)
	return err == nil && (response.ContentLength >= 0 || len(response.TransferEncoding) > 0)
}

// resumed fetches what is missing of count with 3 reports, and compares.
func (s *faultSite) resumed(e faultEra, got []byte) {
	s.t.Helper()
	var progress []int
	answered, last := 0, ""
	take := func(w *faultWire, r *http.Response) {
		for events := eventsOf(r); ; {
			event, err := events.next()
			if err != nil {
				return
			}
			last = event.id
			switch f := w.frame(event); {
			case f.Method != "":
				progress = append(progress, f.Params.Progress)
			case f.Result != nil:
				answered++
			}
		}
	}
	first := &faultWire{t: s.t}
	if r, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(got)), nil); err == nil {
		take(first, r)
	}
	if last == "" {
		return // it broke before there was anything to come back with
	}
	if answered == 0 {
		w := s.dial()
		defer w.close()
		w.send(faultGet(append(e.fields(), "Last-Event-ID: "+last)...))
		r := w.open()
		if r.StatusCode != http.StatusOK {
			s.t.Fatalf("resuming after %q: %s", last, r.Status)
		}
		take(w, r)
	}
	if !slices.Equal(progress, []int{1, 2, 3}) || answered != 1 {
		s.t.Fatalf("progress %v and %d answers, after a cut at %d", progress, answered, len(got))
	}
}
