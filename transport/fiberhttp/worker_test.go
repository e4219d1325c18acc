package fiberhttp_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/kagami-mcp/kagami/testkit/transporttest"
	"github.com/kagami-mcp/kagami/transport/fiberhttp"
)

// TestNextRequest: what a request leaves unread is not taken for the next request.
func TestNextRequest(t *testing.T) {
	t.Parallel()
	dial, stop := serving(t, fiberhttp.AllowedHosts("localhost"))
	t.Cleanup(stop)
	echo := post("1.1", transporttest.Frame("echo", `"x"`), whole)
	smuggled := post("1.1", transporttest.Frame("echo", `"smuggled"`), whole)
	foreign := strings.Replace(smuggled, "Host: localhost", "Host: evil.example", 1)
	with := func(method, path string) string {
		return fmt.Sprintf("%s %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s", method, path, len(smuggled), smuggled)
	}
	chunks := func(trailer string) string {
		frame := transporttest.Frame("echo", `"y"`)
		return "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" + whole + "\r\nTransfer-Encoding: chunked\r\n\r\n" +
			fmt.Sprintf("%x\r\n%s\r\n0\r\n%s\r\n", len(frame), frame, trailer)
	}
	for name, c := range map[string]struct {
		sent string
		want string
		ends bool
	}{
		"refused host":         {foreign, "may not call", false},
		"GET of another path":  {with("GET", "/nothing"), "Not Found", false},
		"PUT":                  {with("PUT", "/mcp"), "not served", false},
		"a health check":       {with("GET", "/healthz"), "ok", false},
		"no chunks wanted":     {strings.Replace(chunks(""), "/mcp", "/nothing", 1), "Not Found", true},
		"trailer":              {chunks("X-Late: 1\r\nMcp-Session-Id: x\r\n"), `"y"`, false},
		"another coding":       {"POST /nothing HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: identity\r\n\r\n" + smuggled, "Not Found", true},
		"end with a bare LF":   {strings.Replace(chunks(""), "0\r\n\r\n", "0\r\n\n", 1), "could not be read", true},
		"end with CR CR LF":    {strings.Replace(chunks(""), "0\r\n\r\n", "0\r\n\r\r\n", 1), "could not be read", true},
		"trailer with LF":      {chunks("X-Late: 1\n"), "could not be read", true},
		"trailer without name": {chunks("late\r\n"), "could not be read", true},
		"long trailer":         {chunks(strings.Repeat("X-Late: 1234567890\r\n", 400)), "could not be read", true},
		"a chunk that is none": {strings.Replace(chunks(""), "\r\n0\r\n", "\r\nzz\r\n", 1), "could not be read", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := dial()
			from := bufio.NewReader(conn)
			_, _ = io.WriteString(conn, c.sent+echo)
			if ends := expect(t, from, c.want); ends != c.ends {
				t.Fatalf("the connection is said to end: %v", ends)
			}
			if !c.ends {
				expect(t, from, `"x"`)
				return
			}
			if rest, _ := io.ReadAll(from); len(rest) > 0 {
				t.Errorf("behind it: %s", rest)
			}
		})
	}
}

// TestStreamOfARequestWithABody: nothing reads the body of a GET. The connection ends with its stream.
func TestStreamOfARequestWithABody(t *testing.T) {
	t.Parallel()
	dial, stop := serving(t)
	t.Cleanup(stop)
	body := post("1.1", transporttest.Frame("echo", `"smuggled"`), whole)
	conn := dial()
	_, _ = fmt.Fprintf(conn, "GET /sse HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	r, err := http.ReadResponse(bufio.NewReader(conn), nil) //nolint:bodyclose // the connection is
	if err != nil {
		t.Fatal(err)
	}
	if r.StatusCode != http.StatusOK || !r.Close {
		t.Errorf("%s, ends: %v", r.Status, r.Close)
	}
}

// TestHandlersOfTheProgram that do more than answer.
func TestHandlersOfTheProgram(t *testing.T) {
	t.Parallel()
	hijack := func(w http.ResponseWriter, _ *http.Request) {
		conn, buffered, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = conn.Close() }()
		line, _ := buffered.ReadString('\n')
		_, _ = io.WriteString(conn, "hijacked: "+line)
	}
	flush := func(w http.ResponseWriter, _ *http.Request) {
		for i := range 3 {
			_, _ = fmt.Fprintf(w, "part %d\n", i)
			_ = http.NewResponseController(w).Flush()
		}
	}
	abort := func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
	dial, stop := serving(t, fiberhttp.Route("/hijack", http.HandlerFunc(hijack)),
		fiberhttp.Route("/flush", http.HandlerFunc(flush)), fiberhttp.Route("/abort", http.HandlerFunc(abort)))
	t.Cleanup(stop)
	asked := func(conn net.Conn, path, more string) *bufio.Reader {
		_, _ = fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n%s", path, more)
		return bufio.NewReader(conn)
	}
	if got, err := io.ReadAll(asked(dial(), "/hijack", "hello\n")); string(got) != "hijacked: hello\n" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	conn := dial()
	expect(t, asked(conn, "/flush", ""), "part 0\npart 1\npart 2\n")
	expect(t, asked(conn, "/healthz", ""), "ok")
	if got, _ := io.ReadAll(asked(dial(), "/abort", "")); len(got) > 0 {
		t.Errorf("after a panic that ends the connection: %q", got)
	}
	expect(t, asked(dial(), "/healthz", ""), "ok")
}

// TestDeadlinesOfAHijackedConnection: a handler that hijacks its connection is not bound by
// ReadTimeout, and the server does not change the deadline that the handler sets.
func TestDeadlinesOfAHijackedConnection(t *testing.T) {
	t.Parallel()
	const limit = 2 * time.Second // a busy machine must read the header within it
	read := func(w http.ResponseWriter, asked *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = conn.Close() }()
		if asked.URL.Path == "/own" {
			_ = conn.SetReadDeadline(time.Now().Add(2 * limit))
		}
		_, err = conn.Read(make([]byte, 1))
		_, _ = fmt.Fprintf(conn, "timeout: %v", errors.Is(err, os.ErrDeadlineExceeded))
	}
	dial, stop := serving(t, fiberhttp.ReadTimeout(limit),
		fiberhttp.Route("/none", http.HandlerFunc(read)), fiberhttp.Route("/own", http.HandlerFunc(read)))
	t.Cleanup(stop)
	asked := make(map[net.Conn]string)
	for i := range 40 {
		path, want := "/none", "timeout: false"
		if i%2 == 0 {
			path, want = "/own", "timeout: true"
		}
		conn := dial()
		_, _ = fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path)
		asked[conn] = want
	}
	time.Sleep(4 * limit) // both deadlines are over
	for conn, want := range asked {
		if want == "timeout: false" {
			_, _ = io.WriteString(conn, "x")
		}
		if got, err := io.ReadAll(conn); string(got) != want || err != nil {
			t.Errorf("%q, %v; want %q", got, err, want)
		}
	}
}

// TestSchemeOfARequest: middleware of the program sees that the client uses TLS.
func TestSchemeOfARequest(t *testing.T) {
	t.Parallel()
	seen := make(chan string, 1)
	look := fiberhttp.Context(func(ctx context.Context, c *fiber.Ctx) context.Context {
		seen <- c.Context().URI().String()
		return ctx
	})
	conn := secureActing(t, acting{"where": where}, look)()
	_, _ = io.WriteString(conn, asks("where"))
	expect(t, bufio.NewReader(conn), "its reader's")
	if got := <-seen; got != "https://localhost/mcp" {
		t.Error(got)
	}
}

// TestExpect: "100 Continue" goes to each client that asks for it, but not to clients of HTTP/1.0,
// which would take it for the answer.
func TestExpect(t *testing.T) {
	t.Parallel()
	dial, stop := serving(t)
	t.Cleanup(stop)
	for _, c := range []struct{ version, expects, want string }{
		{"1.1", "100-Continue", "HTTP/1.1 100 Continue\r\n"},
		{"1.0", "100-continue", "HTTP/1.1 200 OK\r\n"},
	} {
		conn := dial()
		_, _ = io.WriteString(conn, post(c.version, transporttest.Frame("echo", `"x"`), whole, "Expect: "+c.expects))
		if line, err := bufio.NewReader(conn).ReadString('\n'); line != c.want || err != nil {
			t.Errorf("HTTP/%s: %q, %v", c.version, line, err)
		}
	}
}

// TestHeadOfAFlush: nothing follows the header, or the client would take it for the next response.
func TestHeadOfAFlush(t *testing.T) {
	t.Parallel()
	flush := func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "a part")
		_ = http.NewResponseController(w).Flush()
	}
	dial, stop := serving(t, fiberhttp.Route("/flush", http.HandlerFunc(flush)))
	t.Cleanup(stop)
	conn := dial()
	_, _ = io.WriteString(conn, "HEAD /flush HTTP/1.1\r\nHost: localhost\r\n\r\nGET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
	got, err := io.ReadAll(conn)
	if first, second, found := strings.Cut(string(got), "\r\n\r\n"); !found || !strings.HasPrefix(second, "HTTP/1.1 200 OK") || err != nil {
		t.Errorf("%q, then %q, %v", first, second, err)
	}
}

// TestRequestOfAStreamingHandler: a handler that streams learns from its context that nothing more is sent, and the
// request that it still reads is its own.
func TestRequestOfAStreamingHandler(t *testing.T) {
	t.Parallel()
	for method, then := range map[string]func(conn net.Conn){
		"GET": func(conn net.Conn) { _ = conn.Close() },
		"HEAD": func(conn net.Conn) {
			_, _ = io.WriteString(conn, "GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Who: bob\r\n\r\n")
		},
	} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			begun, got := make(chan struct{}), make(chan string, 1)
			stream := func(w http.ResponseWriter, r *http.Request) {
				_ = http.NewResponseController(w).Flush()
				close(begun)
				for range 300 {
					select {
					case <-r.Context().Done():
						got <- r.Header.Get("X-Who")
						return
					case <-time.After(10 * time.Millisecond):
						_, _ = io.WriteString(w, "tick\n")
					}
				}
				got <- "nothing of an end, but of " + r.Header.Get("X-Who")
			}
			dial, stop := serving(t, fiberhttp.Route("GET /stream", http.HandlerFunc(stream)))
			t.Cleanup(stop)
			conn := dial()
			_, _ = fmt.Fprintf(conn, "%s /stream HTTP/1.1\r\nHost: localhost\r\nX-Who: alice\r\n\r\n", method)
			<-begun
			then(conn)
			if who := <-got; who != "alice" {
				t.Errorf("the handler knows %s", who)
			}
		})
	}
}

// TestConnectionOption: a client ends its connection with an option in any case, which may be one of several.
func TestConnectionOption(t *testing.T) {
	t.Parallel()
	dial, stop := serving(t)
	t.Cleanup(stop)
	for option, want := range map[string]bool{"close": true, "Close": true, "TE, close": true, "keep-alive": false, "closed": false} {
		conn := dial()
		_, _ = io.WriteString(conn, post("1.1", transporttest.Frame("echo", `"x"`), whole, "Connection: "+option))
		if got := expect(t, bufio.NewReader(conn), `"result":"x"`); got != want {
			t.Errorf("%s: the connection is said to end: %v", option, got)
		}
	}
}

// TestKeptStrings: a handler of the program may keep the strings of a request, as net/http allows.
func TestKeptStrings(t *testing.T) {
	t.Parallel()
	kept := make(chan []string, 2)
	keep := func(_ http.ResponseWriter, r *http.Request) {
		field := r.Header["X-Who"]
		for name := range r.Header {
			field = append(field, name)
		}
		slices.Sort(field)
		kept <- append(field, r.Method, r.Proto, r.Host, r.RequestURI, r.URL.Path, r.URL.Query().Get("q"), r.PathValue("name"), r.Pattern)
	}
	dial, stop := serving(t, fiberhttp.Route("/kept/{name}", http.HandlerFunc(keep)))
	t.Cleanup(stop)
	conn := dial()
	ask := func(method, name, host, value string) []string {
		_, _ = fmt.Fprintf(conn, "%s /kept/%s?q=%s HTTP/1.1\r\nHost: %s\r\nX-%s: 1\r\nX-Who: %s\r\n\r\n", method, name, name, host, name, value)
		expect(t, bufio.NewReader(conn), "")
		return <-kept
	}
	got := ask("GET", "alice", "localhost", "alice")
	want := slices.Clone(got)
	for i := range want {
		want[i] = strings.Clone(want[i])
	}
	ask("PUT", "carol", "127.0.0.1", "carol")
	if slices.Contains(got, "Host") || !slices.Equal(got, want) {
		t.Errorf("after the next request, the handler has %q, not %q", got, want)
	}
}
