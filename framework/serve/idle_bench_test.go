package serve_test

import (
	"bytes"
	"fmt"
	"net"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
)

// TestIdleSessionsAreSmall: the goal is 1 KB (docs/performance.md); a tenth more is for what is not their own.
// Not in parallel: it measures the heap.
func TestIdleSessionsAreSmall(t *testing.T) {
	const sessions, most = 10_000, 1126
	onFaultCarriers(t, func(t *testing.T, c faultCarrier) {
		s := benchSite(t, c, 4)
		openSessions(t, s.addr, sessions/50) // fills the pools
		each := perEach(sessions, func() func() {
			openSessions(t, s.addr, sessions)
			return nil
		})
		if t.Logf("%.0f bytes", each); each > most {
			t.Errorf("an idle session takes %.0f bytes, more than %d", each, most)
		}
	})
}

// BenchmarkHTTPIdle: what waits takes memory: sessions, and streams beyond their session.
// The client's own part is subtracted: the memory of as many connections that are not accepted. The
// memory of a kept connection of the same server is reported beside it.
//
//	go test -run '^$' -bench HTTPIdle -benchtime 1x ./framework/serve
func BenchmarkHTTPIdle(b *testing.B) {
	const streams = 2_000
	for _, c := range faultCarriers() {
		for _, sessions := range []int{100, 1_000, 10_000, 16_000} {
			b.Run(fmt.Sprintf("%s/session/%d", c.name, sessions), func(b *testing.B) {
				for range b.N {
					s := benchSite(b, c, 3)
					s.era(protocol.Rev20251125)
					b.ReportMetric(perEach(sessions, func() func() {
						openSessions(b, s.addr, sessions)
						return nil
					}), "B/session")
					s.stop()
				}
			})
		}
		for name, request := range map[string]func(s *faultSite) string{
			"connection": func(*faultSite) string { return "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n" },
			"GET":        func(s *faultSite) string { return faultGet(s.era(protocol.Rev20251125).fields()...) },
			"listen": func(s *faultSite) string {
				return s.era(protocol.Rev20260728).request(1, "subscriptions/listen", "", `"notifications":{"toolsListChanged":true}`, false)
			},
		} {
			b.Run(c.name+"/stream/"+name, func(b *testing.B) {
				for range b.N {
					benchIdleStreams(b, c, streams, request)
				}
			})
		}
	}
}

func benchIdleStreams(b *testing.B, c faultCarrier, n int, request func(s *faultSite) string) {
	b.Helper()
	own := perEach(n, func() func() { return openNothing(b, n) })
	s := benchSite(b, c, 3)
	requests := make([]string, n)
	for i := range requests {
		requests[i] = request(s)
	}
	all := perEach(n, func() func() { return openStreams(b, s.addr, requests) })
	b.ReportMetric(all-own, "B/stream")
	s.stop()
}

// BenchmarkHTTPStuck: 200 clients with a session and its stream call in turns without and
// with one more that asks for large answers, and for changes, and reads nothing. xStuck is
// how many times longer the slowest of a hundred calls then takes the others.
func BenchmarkHTTPStuck(b *testing.B) {
	const clients, turns = 200, 6
	for _, c := range faultCarriers() {
		b.Run(c.name, func(b *testing.B) {
			s := benchSite(b, c, 3)
			eras := make([]faultEra, clients)
			streams := make([]string, clients)
			for i := range eras {
				eras[i] = s.era(protocol.Rev20251125)
				streams[i] = faultGet(eras[i].fields()...)
			}
			defer openStreams(b, s.addr, streams)()
			b.ResetTimer()
			var ratios []float64
			for range b.N {
				for range turns {
					beStuck(b, s)() // which takes a while, after which everything is slower
					alone := slowest(b, s.addr, eras)
					release := beStuck(b, s)
					ratios = append(ratios, float64(slowest(b, s.addr, eras))/float64(alone))
					release()
				}
			}
			slices.Sort(ratios)
			b.ReportMetric(ratios[len(ratios)/2], "xStuck")
		})
	}
}

// slowest is how long 99 of 100 calls take at most.
func slowest(b *testing.B, addr string, eras []faultEra) time.Duration {
	b.Helper()
	const each = 50
	took := make([]time.Duration, len(eras)*each)
	var all sync.WaitGroup
	for i, e := range eras {
		all.Go(func() {
			c := &benchClient{addr: addr, buf: make([]byte, 16<<10)}
			defer c.drop()
			call := []byte(e.add(i))
			for n := range each {
				began := time.Now()
				if _, err := c.roundTrip(call); err != nil {
					b.Error(err)
					return
				}
				took[i*each+n] = time.Since(began)
			}
		})
	}
	all.Wait()
	slices.Sort(took)
	return took[len(took)*99/100]
}

// beStuck is a client that sends as much as the server takes, and reads nothing.
func beStuck(b *testing.B, s *faultSite) (release func()) {
	b.Helper()
	e := s.era(protocol.Rev20251125)
	done := openStreams(b, s.addr, []string{faultGet(e.fields()...)})
	conn, err := net.Dial("tcp", s.addr)
	if err != nil {
		b.Fatal(err)
	}
	list := []byte(e.request(1, "tools/list", "", "", false))
	_ = conn.SetWriteDeadline(time.Now().Add(200 * time.Millisecond))
	for range 100_000 {
		if _, err := conn.Write(list); err != nil {
			break // the server reads no more before it has written
		}
	}
	return func() {
		_ = conn.Close()
		done()
	}
}

// perEach is how many bytes of heap and stacks each of n takes.
func perEach(n int, open func() (done func())) float64 {
	before := inUse()
	done := open()
	after := inUse()
	if done != nil {
		done()
	}
	return float64(after-before) / float64(n)
}

func inUse() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse) //nolint:gosec // it fits
}

func openSessions(b testing.TB, addr string, n int) {
	b.Helper()
	c := &benchClient{addr: addr, buf: make([]byte, 16<<10)}
	defer c.drop()
	initialize := []byte(faultPost(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`))
	for range n {
		answer, err := c.roundTrip(initialize)
		_, rest, ok := strings.Cut(strings.ToLower(string(answer[:min(len(answer), 400)])), "mcp-session-id: ")
		if err != nil || !ok {
			b.Fatalf("%q, %v", answer, err)
		}
		id, _, _ := strings.Cut(rest, "\r")
		done := faultPost(`{"jsonrpc":"2.0","method":"notifications/initialized"}`, "Mcp-Session-Id: "+strings.ToUpper(id))
		if answer, err = c.roundTrip([]byte(done)); err != nil || !bytes.HasPrefix(answer, []byte("HTTP/1.1 202")) {
			b.Fatalf("%q, %v", answer, err)
		}
	}
}

// openStreams sends one request on each connection and waits for the first bytes.
func openStreams(b *testing.B, addr string, requests []string) (done func()) {
	b.Helper()
	conns := make([]net.Conn, len(requests))
	buf := make([]byte, 4096)
	for i, request := range requests {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			b.Fatal(err)
		}
		conns[i] = conn
		if _, err := conn.Write([]byte(request)); err != nil {
			b.Fatal(err)
		}
		if n, err := conn.Read(buf); err != nil || !bytes.HasPrefix(buf[:n], []byte("HTTP/1.1 200")) {
			b.Fatalf("%q, %v", buf[:n], err)
		}
	}
	return func() {
		for _, conn := range conns {
			_ = conn.Close()
		}
	}
}

func openNothing(b *testing.B, n int) (done func()) {
	b.Helper()
	l := faultListener(b)
	conns := make([]net.Conn, n)
	for i := range conns {
		conn, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			b.Fatal(err)
		}
		conns[i] = conn
	}
	return func() {
		for _, conn := range conns {
			_ = conn.Close()
		}
		_ = l.Close()
	}
}
