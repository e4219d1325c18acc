package serve_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
)

// FuzzHTTP: whatever bytes arrive, nothing panics, and who asks next is answered.
// Coverage differs from run to run here: fuzz with -fuzzminimizetime=5x.
func FuzzHTTP(f *testing.F) {
	var listeners []*pipeListener
	for _, c := range faultCarriers() {
		l := newPipeListener()
		listeners = append(listeners, l)
		server, err := newFaultHub().app(framework.WithLogger(zap.NewNop())).Build()
		if err != nil {
			f.Fatal(err)
		}
		ctx, end := context.WithCancel(context.WithoutCancel(f.Context()))
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			if err := server.Serve(ctx, c.make(l, faultLimits{})); err != nil {
				f.Error(err)
			}
		}()
		f.Cleanup(func() { end(); <-ended })
	}
	for _, seed := range fuzzSeeds() {
		f.Add([]byte(seed))
	}
	good := faultEra{revision: protocol.Rev20260728}.add(1)
	f.Fuzz(func(t *testing.T, raw []byte) {
		if strings.Contains(string(raw), "explode") {
			t.Skip("panics on purpose")
		}
		for i, l := range listeners {
			said := fuzzSay(t, l, raw)
			if strings.Contains(said, "HTTP/1.1 500") || strings.Contains(said, "-32603") {
				t.Errorf("carrier %d fails: %q", i, said)
			}
			conn, err := l.Dial()
			if err != nil {
				t.Fatal(err)
			}
			_ = conn.SetDeadline(time.Now().Add(faultPatience))
			if _, err := io.WriteString(conn, good); err != nil {
				t.Fatalf("carrier %d: %v", i, err)
			}
			r, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatalf("carrier %d: %v", i, err)
			}
			text, err := io.ReadAll(r.Body)
			if err != nil || !strings.Contains(string(text), `"sum":2`) {
				t.Errorf("carrier %d answers the next request with %q, %v", i, text, err)
			}
			_ = conn.Close()
		}
	})
}

// fuzzSay writes raw on a connection and returns what comes at once.
func fuzzSay(t *testing.T, l *pipeListener, raw []byte) string {
	t.Helper()
	conn, err := l.Dial()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(5 * time.Millisecond))
	written := make(chan struct{})
	go func() { // the server may answer before it has read all
		defer close(written)
		_, _ = conn.Write(raw)
	}()
	said, _ := io.ReadAll(io.LimitReader(conn, 64<<10)) // up to the deadline
	<-written
	return string(said)
}

// pipeListener makes connections in memory. (Those of fasthttputil do not bear
// deadlines that two goroutines set.)
type pipeListener struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPipeListener() *pipeListener {
	return &pipeListener{conns: make(chan net.Conn), closed: make(chan struct{})}
}

func (l *pipeListener) Dial() (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case l.conns <- far:
		return near, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Accept implements net.Listener.
func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// Addr implements net.Listener.
func (l *pipeListener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }

func fuzzSeeds() []string {
	modern, old := faultEra{revision: protocol.Rev20260728}, faultEra{revision: protocol.Rev20251125, session: "x"}
	call := modern.call(1, "count", `{"n":2}`, true)
	return []string{
		"", "\r\n\r\n", "GET / HTTP/1.1\r\n\r\n", "GET /mcp HTTP/0.9\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
		modern.add(1), old.add(1), call, modern.add(1) + call, call[:len(call)-9],
		faultPost(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`),
		faultPost(`[{"jsonrpc":"2.0","id":0,"method":"ping"}]`), faultPost(`{`), faultPost(``),
		faultGet("Mcp-Session-Id: x", "Last-Event-ID: 1.1.1"), faultGet("Mcp-Session-Id: x", "Mcp-Session-Id: y"),
		reshaped(modern.add(1), "5\r\n{\"a\":\r\n0\r\n\r\n", "Transfer-Encoding: chunked"),
		reshaped(modern.add(1), "x", "Transfer-Encoding: chunked", "Content-Length: 3"),
		reshaped(modern.add(1), "{}", "Content-Length: 2", "Content-Length: 3"),
		reshaped(modern.add(1), "{}", "Content-Length: -2"), reshaped(modern.add(1), "{}", "Content-Length: 99999999999999999999"),
		faultHead("OPTIONS", "Origin: http://localhost", "Access-Control-Request-Headers: mcp-param-\x00"),
		"POST http://evil.example.com/mcp HTTP/1.1\r\nHost: localhost\r\n\r\n", "DELETE /mcp HTTP/1.0\r\n\r\n",
		"GET /sse HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n", "POST /messages?sessionId=%zz HTTP/1.1\r\nHost: localhost\r\n\r\n",
		"GET /mcp HTTP/1.1\r\nHost: localhost\r\nUpgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: x\r\n\r\n",
	}
}
