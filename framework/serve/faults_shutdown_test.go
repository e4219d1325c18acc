package serve_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
)

// TestHTTPShutdownUnderLoad: what runs is answered, what does not run is refused, and
// no answer is cut off.
func TestHTTPShutdownUnderLoad(t *testing.T) {
	onFaultCarriers(t, func(t *testing.T, c faultCarrier) {
		for name, end := range map[string]func(s *faultSite){
			"context": func(s *faultSite) { s.end() },
			"Shutdown": func(s *faultSite) {
				ctx, cancel := context.WithTimeout(context.WithoutCancel(s.t.Context()), faultPatience)
				defer cancel()
				if err := s.server.Shutdown(ctx); err != nil {
					s.t.Errorf("Shutdown: %v", err)
				}
			},
		} {
			t.Run(name, func(t *testing.T) {
				s := serveFaultsOn(t, c, faultLimits{}, &tardyListener{faultListener(t)})
				var l load
				var all sync.WaitGroup
				for i := range 64 {
					e := faultEra{revision: protocol.Rev20260728}
					if i%2 == 0 {
						e = s.era(protocol.Rev20251125)
					}
					all.Go(func() { l.caller(s, e, i) })
				}
				eventually(t, "the load", func() bool { return l.answered.Load() > 500 })
				end(s)
				faultWait(t, "Serve to return", s.ended)
				l.over.Store(true)
				all.Wait()
				l.check(t, s)
			})
		}
	})
}

// tardyListener makes writes take a while, so that the end finds answers between the
// handler and the network.
type tardyListener struct{ net.Listener }

func (l *tardyListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return tardyConn{conn}, nil
}

type tardyConn struct{ net.Conn }

func (c tardyConn) Write(p []byte) (int, error) {
	time.Sleep(5 * time.Millisecond)
	return c.Conn.Write(p)
}

// load is 64 clients that call without pause.
type load struct {
	over                        atomic.Bool
	answered, refused, unserved atomic.Int64

	seen sync.Map // of int: what was answered
	cut  sync.Map // of int to string: what came in place of an answer
}

// caller calls until connections are refused.
func (l *load) caller(s *faultSite, e faultEra, number int) {
	var w *faultWire
	defer func() {
		if w != nil {
			w.close()
		}
	}()
	for i := 1; ; i++ {
		if w == nil {
			conn, err := net.DialTimeout("tcp", s.addr, faultPatience)
			if err != nil {
				return // refused
			}
			_ = conn.SetDeadline(time.Now().Add(faultPatience))
			w = &faultWire{t: s.t, conn: conn.(*net.TCPConn), in: bufio.NewReader(conn)}
		}
		n := number*1_000_000 + i
		request := e.call(n, "add", fmt.Sprintf(`{"a":%d,"b":1}`, n), false)
		if i%4 == 0 {
			request = e.call(n, "count", fmt.Sprintf(`{"n":5,"size":200,"pause":2,"mark":%d}`, n), true)
		}
		if !l.outcome(w, n, request) {
			w.close()
			w = nil
		}
	}
}

// outcome files what a request comes to; false: the connection is over.
func (l *load) outcome(w *faultWire, n int, request string) bool {
	if _, err := io.WriteString(w.conn, request); err != nil {
		l.unserved.Add(1)
		return false
	}
	if _, err := w.in.Peek(1); err != nil {
		if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
			l.cut.Store(n, "nothing at all came")
		}
		l.unserved.Add(1)
		return false
	}
	r, err := http.ReadResponse(w.in, nil)
	if err != nil {
		l.cut.Store(n, "header: "+err.Error())
		return false
	}
	text, err := io.ReadAll(r.Body)
	switch {
	case err != nil:
		l.cut.Store(n, fmt.Sprintf("%s: %v after %q", r.Status, err, text))
	case r.StatusCode == http.StatusServiceUnavailable && strings.Contains(string(text), `"error"`):
		l.refused.Add(1)
		if r.Header.Get("Retry-After") == "" {
			w.t.Error("503 without Retry-After")
		}
	case r.StatusCode == http.StatusOK && strings.Contains(string(text), fmt.Sprintf(`"id":%d,"result"`, n)):
		l.answered.Add(1)
		l.seen.Store(n, true)
	default:
		l.cut.Store(n, fmt.Sprintf("%s: %q", r.Status, text))
	}
	return err == nil && !r.Close
}

// check compares what ran with what was answered.
func (l *load) check(t *testing.T, s *faultSite) {
	t.Helper()
	l.cut.Range(func(n, what any) bool {
		t.Errorf("call %d (ran: %v): %.500s", n, s.hub.has(n.(int)), what)
		return true
	})
	lost := 0
	for n := range s.hub.all() {
		if _, ok := l.seen.Load(n); ok {
			continue
		}
		if _, told := l.cut.Load(n); !told {
			lost++
		}
	}
	if lost > 0 {
		t.Errorf("%d calls ran and were not answered", lost)
	}
	t.Logf("%d answered, %d refused, %d on closed connections", l.answered.Load(), l.refused.Load(), l.unserved.Load())
}
