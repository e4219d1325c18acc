//go:build unix

package fiberhttp_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/fiberhttp"
)

// answering is a host that does as little as one can, so that what is measured is the
// carrier: it asks for the fields that the engine asks for, and answers with one frame.
type answering struct {
	frame  []byte
	modern bool
}

func (h *answering) Accept(ctx context.Context, frame []byte) (transport.Exchange, error) {
	r := transport.RequestFrom(ctx)
	_, _ = r.Fields.Value("Mcp-Protocol-Version")
	if h.modern {
		_, _ = r.Fields.Value("Mcp-Method")
		_, _ = r.Fields.Value("Mcp-Name")
		return h, nil
	}
	if bytes.Contains(frame, []byte(`"initialize"`)) {
		_, err := r.Sessions.Open()
		return h, err
	}
	_, err := r.Sessions.Find()
	return h, err
}

func (*answering) Interrupted() []byte { return nil }

func (h *answering) Plan() transport.Plan {
	return transport.Plan{Answered: true, Resumable: !h.modern, CancelByClose: h.modern}
}

func (h *answering) Serve(ctx context.Context, out transport.Outbound) error {
	return out.Send(ctx, transport.Frame{JSON: h.frame, Final: true})
}

const benchedAnswer = `{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"{\"sum\":5}"}],"structuredContent":{"sum":5}}}`

// BenchmarkPOST measures the carrier alone, from the bytes of a request to the bytes of its response,
// without sockets, client and engine. cpu-ns/op is the CPU time of the process. xBare compares it with
// the CPU time of a bare Fiber app that gets and sends the same bytes. The two take turns.
//
//	go test -run '^$' -bench POST -benchtime 20000x ./transport/fiberhttp
func BenchmarkPOST(b *testing.B) {
	for name, c := range map[string]struct {
		host   *answering
		accept string
	}{
		"2025-11-25":       {&answering{frame: []byte(benchedAnswer)}, "application/json, text/event-stream"},
		"2026-07-28":       {&answering{frame: []byte(benchedAnswer), modern: true}, "application/json, text/event-stream"},
		"2026-07-28/SSE":   {&answering{frame: []byte(benchedAnswer), modern: true}, "text/event-stream"},
		"2026-07-28/256KB": {&answering{frame: bytes.Repeat([]byte("x"), 256<<10), modern: true}, "application/json"},
	} {
		for _, conns := range []int{1, 16} {
			b.Run(fmt.Sprintf("%s/c%d", name, conns), func(b *testing.B) { benchPOST(b, c.host, c.accept, conns) })
		}
	}
}

func benchPOST(b *testing.B, host *answering, accept string, conns int) {
	ours, bare := newBenchServer(b, host), newBareServer(b, host.frame, accept)
	call := benchRequest(accept, ours.session(b))
	const turns = 4
	var mine, its time.Duration
	ours.run(b, call, conns, 100)
	bare.run(b, call, conns, 100)
	b.ReportAllocs()
	b.ResetTimer()
	for range turns {
		mine += ours.run(b, call, conns, b.N/turns+1)
		b.StopTimer()
		its += bare.run(b, call, conns, b.N/turns+1)
		b.StartTimer()
	}
	b.ReportMetric(float64(mine)/float64(its), "xBare")
	b.ReportMetric(float64(mine)/float64(b.N), "cpu-ns/op")
	b.ReportMetric(float64(mine-its)/float64(b.N), "cpu-beyond-ns/op")
}

func benchRequest(accept, session string) string {
	const body = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"add","arguments":{"a":2,"b":3}}}`
	text := "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nUser-Agent: bench\r\nContent-Type: application/json\r\nAccept: " + accept + "\r\n"
	if session != "" {
		text += "Mcp-Protocol-Version: 2025-11-25\r\nMcp-Session-Id: " + session + "\r\n"
	} else {
		text += "Mcp-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: add\r\n"
	}
	return text + fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body)
}

// benchServer is a server whose clients are in memory and cost next to nothing.
type benchServer struct {
	dialed chan net.Conn
	host   *answering
}

func newBenchServer(b testing.TB, host *answering) *benchServer {
	s := &benchServer{dialed: make(chan net.Conn), host: host}
	ctx, cancel := context.WithCancel(context.WithoutCancel(b.Context()))
	ended := make(chan error, 1)
	go func() { ended <- fiberhttp.New("", fiberhttp.Listener(s)).Serve(ctx, host) }()
	b.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			b.Error(err)
		}
	})
	return s
}

func newBareServer(b testing.TB, frame []byte, accept string) *benchServer {
	s := &benchServer{dialed: make(chan net.Conn)}
	kind := "application/json"
	if accept == "text/event-stream" {
		kind = accept
	}
	app := fiber.New(fiber.Config{DisableStartupMessage: true})
	app.Post("/mcp", func(c *fiber.Ctx) error {
		c.Context().SetContentType(kind)
		return c.Send(frame)
	})
	ended := make(chan error, 1)
	go func() { ended <- app.Listener(s) }()
	b.Cleanup(func() {
		_ = app.ShutdownWithTimeout(time.Second)
		if err := <-ended; err != nil {
			b.Error(err)
		}
	})
	return s
}

// session is the id of a new one; empty where there are none.
func (s *benchServer) session(b testing.TB) string {
	if s.host.modern {
		return ""
	}
	const body = `{"jsonrpc":"2.0","id":1,"method":"initialize"}`
	conn := newBenchConn(fmt.Sprintf("POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body), 1)
	s.dialed <- conn
	<-conn.closed
	_, rest, ok := strings.Cut(strings.ToLower(string(conn.last)), "mcp-session-id: ")
	if !ok {
		b.Fatalf("%q", conn.last)
	}
	id, _, _ := strings.Cut(rest, "\r")
	return strings.ToUpper(id)
}

// run makes n requests on that many connections, and on new ones where the server closes
// them.
func (s *benchServer) run(b testing.TB, request string, conns, n int) time.Duration {
	b.Helper()
	began := spent(b)
	var all sync.WaitGroup
	for range conns {
		all.Go(func() {
			for left := n/conns + 1; left > 0; {
				conn := newBenchConn(request, left)
				s.dialed <- conn
				<-conn.closed
				if !bytes.HasPrefix(conn.last, []byte("HTTP/1.1 200")) {
					b.Errorf("%q", conn.last)
					return
				}
				left = conn.left
			}
		})
	}
	all.Wait()
	return spent(b) - began
}

// spent is the processor's time that this process has had: others on the machine do not
// count, and the collection of garbage does.
func spent(b testing.TB) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// Accept implements net.Listener.
func (s *benchServer) Accept() (net.Conn, error) {
	conn, ok := <-s.dialed
	if !ok {
		return nil, net.ErrClosed
	}
	return conn, nil
}

// Close implements net.Listener.
func (s *benchServer) Close() error {
	defer func() { _ = recover() }() // it is closed twice
	close(s.dialed)
	return nil
}

// Addr implements net.Listener.
func (s *benchServer) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8080} }

// benchConn sends one request as often as left says, each when the one before has been
// answered.
type benchConn struct {
	request  []byte
	left     int
	last     []byte // what was written last
	answered chan struct{}
	cut      chan struct{} // closed by a deadline that has passed
	closed   chan struct{}
	once     sync.Once
	cutting  sync.Once
}

func newBenchConn(request string, times int) *benchConn {
	c := &benchConn{request: []byte(request), left: times, answered: make(chan struct{}, 1), cut: make(chan struct{}), closed: make(chan struct{})}
	c.answered <- struct{}{}
	return c
}

func (c *benchConn) Read(p []byte) (int, error) {
	select {
	case <-c.answered:
	case <-c.cut:
		return 0, os.ErrDeadlineExceeded
	case <-c.closed:
		return 0, net.ErrClosed
	}
	if c.left == 0 {
		return 0, io.EOF
	}
	c.left--
	return copy(p, c.request), nil
}

func (c *benchConn) Write(p []byte) (int, error) {
	if !bytes.HasPrefix(p, []byte("HTTP/1.1")) { // the rest of a long body
		return len(p), nil
	}
	c.last = append(c.last[:0], p[:min(len(p), 512)]...)
	select {
	case c.answered <- struct{}{}:
	default:
	}
	return len(p), nil
}

func (c *benchConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return nil
}

var benchAddr = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 54321}

func (c *benchConn) LocalAddr() net.Addr  { return benchAddr }
func (c *benchConn) RemoteAddr() net.Addr { return benchAddr }

func (c *benchConn) SetReadDeadline(t time.Time) error {
	if !t.IsZero() && t.Unix() <= 1 {
		c.cutting.Do(func() { close(c.cut) })
	}
	return nil
}

func (c *benchConn) SetDeadline(time.Time) error      { return nil }
func (c *benchConn) SetWriteDeadline(time.Time) error { return nil }

// TestAllocations counts the allocations of a POST, from its bytes to the bytes of its response,
// with the host's own mark (transport.Final): the request with its fields and its exchange, their
// text, and the body. A long answer also takes the head of its memory.
func TestAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	for name, c := range map[string]struct {
		host *answering
		most float64
	}{
		"handshake": {&answering{frame: []byte(benchedAnswer)}, 3},
		"modern":    {&answering{frame: []byte(benchedAnswer), modern: true}, 3},
		"long":      {&answering{frame: make([]byte, 256<<10), modern: true}, 4},
	} {
		s := newBenchServer(t, c.host)
		call := benchRequest("application/json, text/event-stream", s.session(t))
		const requests = 500
		each := testing.AllocsPerRun(3, func() { s.run(t, call, 1, requests) }) / requests
		t.Logf("%s: %.2f allocations", name, each)
		if each > c.most+0.5 { // allocations of a connection, and of the pools after a collection
			t.Errorf("%s makes %.2f allocations, documented are %v", name, each, c.most)
		}
	}
}
