package fiberhttp_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/testkit/transporttest"
	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/fiberhttp"
	"github.com/kagami-mcp/kagami/transport/nethttp"
)

// echoFrame is a request of the scripted host.
const echoFrame = `{"jsonrpc":"2.0","id":1,"method":"echo","params":{}}`

// onBoth runs both carriers on listeners of their own.
func onBoth(t *testing.T, test func(t *testing.T, l net.Listener)) {
	onBothWith(t, func() transport.Host { return transporttest.NewScripted() }, test)
}

// forgetful answers everything and keeps nothing.
type forgetful struct{}

func (forgetful) Accept(context.Context, []byte) (transport.Exchange, error) { return forgetful{}, nil }

func (forgetful) Serve(ctx context.Context, out transport.Outbound) error {
	return out.Send(ctx, transport.Frame{JSON: []byte(`{"jsonrpc":"2.0","id":1,"result":{}}`), Final: true})
}

func onBothWith(t *testing.T, host func() transport.Host, test func(t *testing.T, l net.Listener)) {
	for name, carrier := range map[string]func(net.Listener) transport.Transport{
		"fiberhttp": func(l net.Listener) transport.Transport { return fiberhttp.New("", fiberhttp.Listener(l)) },
		"nethttp":   func(l net.Listener) transport.Transport { return nethttp.New("", nethttp.Listener(l)) },
	} {
		t.Run(name, func(t *testing.T) {
			var config net.ListenConfig
			l, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			served := make(chan error, 1)
			go func() { served <- carrier(l).Serve(ctx, host()) }()
			defer func() {
				cancel()
				if err := <-served; err != nil {
					t.Error(err)
				}
			}()
			test(t, l)
		})
	}
}

func dialed(t *testing.T, l net.Listener) net.Conn {
	t.Helper()
	var d net.Dialer
	conn, err := d.DialContext(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// head is the beginning of a POST.
func head(fields ...string) string {
	all := append([]string{"POST /mcp HTTP/1.1", "Accept: application/json, text/event-stream"}, fields...)
	for _, usual := range []string{"Host: localhost", "Content-Type: application/json"} {
		name, _, _ := strings.Cut(usual, ":")
		if !strings.Contains("\n"+strings.Join(all, "\n"), "\n"+name+":") {
			all = append(all, usual)
		}
	}
	return strings.Join(all, "\r\n") + "\r\n\r\n"
}

// TestJudgedByTheHeader sends headers and no byte of the body. A refusal comes at once, and not after
// 100 Continue.
func TestJudgedByTheHeader(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, l net.Listener) {
		lengths := []string{"Content-Length: 4194304"}
		if strings.HasSuffix(t.Name(), "fiberhttp") { // net/http waits for a body that may be short before it answers
			lengths = append(lengths, "Transfer-Encoding: chunked", "Content-Length: 20000")
		}
		for _, length := range lengths {
			for fields, want := range map[string]int{
				"Host: evil.example":                                http.StatusForbidden,
				"Origin: https://evil.example":                      http.StatusForbidden,
				"Content-Type: text/plain":                          http.StatusUnsupportedMediaType,
				"Content-Encoding: gzip":                            http.StatusUnsupportedMediaType,
				"Accept: text/html":                                 http.StatusNotAcceptable,
				"Mcp-Protocol-Version: 1066-10-14":                  0, // judged with the body
				"Content-Length: 999999999":                         http.StatusRequestEntityTooLarge,
				"Content-Length: 999999999\r\nExpect: 100-continue": http.StatusRequestEntityTooLarge,
				"Host: evil.example\r\nExpect: 100-continue":        http.StatusForbidden,
			} {
				if want == 0 || strings.HasPrefix(fields, "Accept") {
					continue
				}
				all := strings.Split(fields, "\r\n")
				if !strings.HasPrefix(fields, "Content-Length") {
					all = append(all, length)
				}
				conn := dialed(t, l)
				_, _ = io.WriteString(conn, head(all...))
				_ = conn.SetReadDeadline(time.Now().Add(10 * time.Second))
				answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
				if err != nil || answer.StatusCode != want {
					t.Errorf("%v, %v: %v %v, want %d", fields, length, answer, err, want)
					continue
				}
				_ = answer.Body.Close()
			}
		}
	})
}

// TestWantedBodies: a client that is let in sends its body as it likes, and gets "100 Continue" only
// if it asked for that.
func TestWantedBodies(t *testing.T) {
	t.Parallel()
	padding := strings.Repeat(" ", 3<<20)
	onBoth(t, func(t *testing.T, l net.Listener) {
		for _, size := range []int{0, 100, 8 << 10, 9 << 10, 70 << 10, 3 << 20} {
			body := echoFrame + padding[:size]
			for _, expects := range []bool{false, true} {
				for _, chunked := range []bool{false, true} {
					conn := dialed(t, l)
					_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
					in := bufio.NewReader(conn)
					for range 2 { // the connection goes on
						talk(t, conn, in, body, expects, chunked)
					}
				}
			}
		}
	})
}

// talk sends one request and reads its answer.
func talk(t *testing.T, conn net.Conn, in *bufio.Reader, body string, expects, chunked bool) {
	t.Helper()
	fields := []string{fmt.Sprintf("Content-Length: %d", len(body))}
	if chunked {
		fields = []string{"Transfer-Encoding: chunked"}
		body = fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(body), body)
	}
	if expects {
		fields = append(fields, "Expect: 100-continue")
	}
	_, _ = io.WriteString(conn, head(fields...))
	if expects {
		line, err := in.ReadString('\n')
		if rest, _ := in.ReadString('\n'); err != nil || line != "HTTP/1.1 100 Continue\r\n" || rest != "\r\n" {
			t.Fatalf("%v: %q %q %v", fields, line, rest, err)
		}
	}
	_, _ = io.WriteString(conn, body)
	answer, err := http.ReadResponse(in, nil)
	if err != nil {
		t.Fatalf("%v: %v", fields, err)
	}
	defer func() { _ = answer.Body.Close() }()
	if text, err := io.ReadAll(answer.Body); answer.StatusCode != 200 || err != nil || answer.Header.Get("Expect") != "" {
		t.Fatalf("%v: %s %v %q", fields, answer.Status, err, text)
	}
}

// resident is the memory of this process that the collector cannot give back.
func resident() uint64 {
	for range 3 { // pools are emptied by the second
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse + m.StackInuse
}

// TestMemoryOfBodiesThatNeverCome counts what clients can have a server keep. The clients are in
// this process, too: their part is a few KB each.
func TestMemoryOfBodiesThatNeverCome(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector multiplies memory")
	}
	long := strings.Repeat(" ", 4_190_000)
	for name, c := range map[string]struct {
		connections int
		head, body  string
		most        uint64
	}{
		"announced":            {400, head("Content-Length: 4194304"), "x", 30 << 20},
		"announced, chunk":     {400, head("Transfer-Encoding: chunked"), "400000\r\nx", 30 << 20},
		"announced, path":      {200, strings.Replace(head("Content-Length: 4194304"), "/mcp", "/nope", 1), "x", 15 << 20},
		"announced, old":       {200, strings.Replace(head("Content-Length: 4194304"), "/mcp", "/messages?session=x", 1), "x", 15 << 20},
		"evil, all but a byte": {100, head("Host: evil.example", "Content-Length: 4190001"), long, 15 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			onBoth(t, func(t *testing.T, l net.Listener) {
				before := resident()
				conns := make([]net.Conn, c.connections)
				for i := range conns {
					conns[i] = dialed(t, l)
				}
				var all sync.WaitGroup
				for _, conn := range conns {
					all.Go(func() {
						_, _ = io.WriteString(conn, c.head)
						_, _ = io.WriteString(conn, c.body) // until the server has had enough
					})
				}
				all.Wait()
				if grown := int64(resident()) - int64(before); grown > int64(c.most) {
					t.Errorf("%d connections: %d MB more", c.connections, grown>>20)
				}
				for _, conn := range conns {
					_ = conn.Close()
				}
			})
		})
	}
}

// TestMemoryOfIdleConnections: the buffer of the largest body does not stay with a connection.
func TestMemoryOfIdleConnections(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector multiplies memory")
	}
	body := echoFrame + strings.Repeat(" ", 4<<20-200)
	onBothWith(t, func() transport.Host { return forgetful{} }, func(t *testing.T, l net.Listener) {
		before := resident()
		conns := make([]net.Conn, 50)
		for i := range conns {
			conns[i] = dialed(t, l)
			_ = conns[i].SetDeadline(time.Now().Add(20 * time.Second))
			talk(t, conns[i], bufio.NewReader(conns[i]), body, false, false)
		}
		if grown := int64(resident()) - int64(before); grown > 8<<20 {
			t.Errorf("%d idle connections: %d MB more", len(conns), grown>>20)
		}
		for _, conn := range conns {
			_ = conn.Close()
		}
	})
}

// TestBodyLimitWithoutEnd: the largest number that a program can give is a limit that no body reaches.
func TestBodyLimitWithoutEnd(t *testing.T) {
	t.Parallel()
	dial, stop := serving(t, fiberhttp.BodyLimit(math.MaxInt))
	t.Cleanup(stop)
	conn := dial()
	_, _ = io.WriteString(conn, post("1.1", transporttest.Frame("echo", `"x"`), whole))
	expect(t, bufio.NewReader(conn), `"result":"x"`)
}
