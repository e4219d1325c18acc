package fiberhttp_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/testkit/transporttest"
	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/fiberhttp"
)

// serving is a stand-alone server that answers at once; stop ends it.
func serving(t *testing.T, opts ...fiberhttp.Option) (dial func() net.Conn, stop func()) {
	t.Helper()
	host := transporttest.NewScripted()
	host.Began, host.Frames = make(chan context.Context, 1000), make(chan []byte, 1000)
	close(host.Let)
	return alone(t, host, opts...)
}

// alone is a stand-alone server; stop ends it.
func alone(t *testing.T, host transport.Host, opts ...fiberhttp.Option) (dial func() net.Conn, stop func()) {
	t.Helper()
	l := listen(t)
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- fiberhttp.New("", append(opts, fiberhttp.Listener(l))...).Serve(ctx, host) }()
	stop = func() {
		t.Helper()
		cancel()
		if err, ok := <-served; ok && err != nil {
			t.Errorf("serving: %v", err)
		}
	}
	return func() net.Conn { return connect(t, l) }, stop
}

// post is a request of one line's length.
func post(version, frame string, fields ...string) string {
	return fmt.Sprintf("POST /mcp HTTP/%s\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n%s\r\n%s",
		version, len(frame), strings.Join(append(fields, ""), "\r\n"), frame)
}

// expect reads one response to its end; closes says that the connection is said to end.
func expect(t *testing.T, from *bufio.Reader, want string) (closes bool) {
	t.Helper()
	r, err := http.ReadResponse(from, &http.Request{Method: http.MethodPost})
	if err != nil {
		t.Fatalf("instead of %s: %v", want, err)
	}
	defer func() { _ = r.Body.Close() }()
	if body, err := io.ReadAll(r.Body); err != nil || !strings.Contains(string(body), want) {
		t.Errorf("%q, %v: want %s", body, err, want)
	}
	return r.Close
}

// TestConnectionGoesOn after a stream that has ended, as often as the client likes, also
// for what the client has sent too early, in whatever pieces.
func TestConnectionGoesOn(t *testing.T) {
	t.Parallel()
	dial, stop := serving(t)
	t.Cleanup(stop)
	stream, echo := post("1.1", transporttest.Frame("stream", `"y"`)), post("1.1", transporttest.Frame("echo", `"x"`))
	for name, parts := range map[string][]string{
		"one by one":        {stream, echo, stream, stream, echo},
		"two at a time":     {stream + echo, stream + stream, echo + stream},
		"all at once":       {strings.Repeat(stream+echo+echo, 20)},
		"in halves":         {stream + echo[:40], echo[40:] + stream[:9], stream[9:]},
		"more than is kept": {strings.Repeat(stream+echo, 30), echo},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := dial()
			from, waiting := bufio.NewReader(conn), ""
			for _, part := range parts {
				if _, err := io.WriteString(conn, part); err != nil {
					t.Fatal(err)
				}
				for waiting += part; ; {
					want := `"result":"y"`
					switch {
					case strings.HasPrefix(waiting, stream):
						waiting = waiting[len(stream):]
					case strings.HasPrefix(waiting, echo):
						waiting, want = waiting[len(echo):], `"result":"x"`
					default:
						want = ""
					}
					if want == "" {
						break
					}
					if expect(t, from, want) {
						t.Error("the connection is said to end")
					}
				}
			}
		})
	}
}

// TestConnectionEnds with a stream where the client wants that, or has no way to know
// where the body ends, and when nothing comes any more.
func TestConnectionEnds(t *testing.T) {
	t.Parallel()
	dial, stop := serving(t, fiberhttp.IdleTimeout(50*time.Millisecond))
	t.Cleanup(stop)
	frame := transporttest.Frame("stream", `"y"`)
	for name, c := range map[string]struct {
		request string
		said    bool
	}{
		"HTTP/1.0":           {post("1.0", frame), true},
		"Connection: close":  {post("1.1", frame, "Connection: close"), true},
		"idle":               {post("1.1", frame), false},
		"too much too early": {post("1.1", frame) + strings.Repeat("x", 1<<20), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := dial()
			go func() { _, _ = io.WriteString(conn, c.request) }()
			from := bufio.NewReader(conn)
			if name != "too much too early" {
				if closes := expect(t, from, `"result":"y"`); closes != c.said {
					t.Errorf("the connection is said to end: %v", closes)
				}
			}
			if _, err := io.Copy(io.Discard, from); err != nil && !strings.Contains(err.Error(), "reset") {
				t.Errorf("the connection has not ended: %v", err)
			}
		})
	}
}

// TestShutdownOfConnectionsThatWentOn: they are not waited for.
func TestShutdownOfConnectionsThatWentOn(t *testing.T) {
	t.Parallel()
	dial, stop := serving(t, fiberhttp.Grace(time.Hour), fiberhttp.IdleTimeout(time.Hour))
	stream := post("1.1", transporttest.Frame("stream", `"y"`))
	for range 8 {
		conn := dial()
		from := bufio.NewReader(conn)
		for range 2 {
			_, _ = io.WriteString(conn, stream)
			expect(t, from, `"result":"y"`)
		}
	}
	ended := make(chan struct{})
	go func() { defer close(ended); stop() }()
	select {
	case <-ended:
	case <-time.After(patience):
		t.Error("they are waited for")
	}
}
