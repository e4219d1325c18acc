package fiberhttp_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/kagami-mcp/kagami/testkit/transporttest"
	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/fiberhttp"
	"github.com/kagami-mcp/kagami/transport/nethttp"
)

// routes are handlers that a program has beside the endpoint.
func routes() map[string]http.HandlerFunc {
	return map[string]http.HandlerFunc{
		"/": func(w http.ResponseWriter, r *http.Request) { _, _ = fmt.Fprintf(w, "%s %s", r.Method, r.URL) },
		"POST /echo/{name}": func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				w.WriteHeader(http.StatusTeapot)
				return
			}
			http.SetCookie(w, &http.Cookie{Name: "a", Value: "1"})
			http.SetCookie(w, &http.Cookie{Name: "b", Value: r.PathValue("name")})
			w.WriteHeader(http.StatusAccepted)
			_, _ = w.Write(body)
		},
		"/child": func(w http.ResponseWriter, r *http.Request) { // its watcher must end with the request
			ctx, cancel := context.WithTimeout(r.Context(), time.Minute)
			context.AfterFunc(r.Context(), cancel)
			_, _ = fmt.Fprint(w, ctx.Err())
		},
		"/gone": func(http.ResponseWriter, *http.Request) { panic("geheim") },
		"/parts": func(w http.ResponseWriter, _ *http.Request) {
			for range 3 {
				_, _ = io.WriteString(w, "part ")
				_ = http.NewResponseController(w).Flush()
			}
		},
	}
}

// routed serves host on both carriers, with handlers of the program's own.
func routed(t *testing.T, fn func(t *testing.T, origin string)) {
	t.Helper()
	var onFiber []fiberhttp.Option
	var onNet []nethttp.Option
	for pattern, h := range routes() {
		onFiber, onNet = append(onFiber, fiberhttp.Route(pattern, h)), append(onNet, nethttp.Route(pattern, h))
	}
	for name, carrier := range map[string]func(told func(string)) transport.Transport{
		"fiberhttp": func(told func(string)) transport.Transport {
			return fiberhttp.New("127.0.0.1:0", append(onFiber, fiberhttp.OnEndpoint(told))...)
		},
		"nethttp": func(told func(string)) transport.Transport {
			return nethttp.New("127.0.0.1:0", append(onNet, nethttp.OnEndpoint(told))...)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fn(t, strings.TrimSuffix(runs(t, greeting(t), carrier), "/mcp"))
		})
	}
}

// ask makes a request; a body that is not a *bytes.Reader is sent in chunks.
func askRoute(t *testing.T, method, url string, body io.Reader, change func(r *http.Request)) page {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, body)
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(r)
	}
	kept := &http.Transport{} // a client that wants to keep the connection sees the answer to a body it has not sent whole
	defer kept.CloseIdleConnections()
	resp, err := (&http.Client{Transport: kept}).Do(r)
	if err != nil {
		t.Fatalf("%s %s from %s with %d: %v", method, url, r.Host, r.ContentLength, err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return page{resp.StatusCode, resp.Header, string(text)}
}

// A program's own handlers are beside the endpoint: its paths come first, bodies are bounded, and names
// are checked, on both carriers.
func TestRoute(t *testing.T) {
	t.Parallel()
	routed(t, func(t *testing.T, origin string) {
		t.Helper()
		foreign := func(r *http.Request) { r.Host = "evil.example" }
		browser := func(r *http.Request) { r.Header.Set("Accept", "text/html") }
		large := strings.Repeat("x", 64<<10)
		tests := map[string]struct {
			got    page
			status int
			body   string
		}{
			"any path":      {askRoute(t, "GET", origin+"/a/b?c=%20d", nil, nil), 200, "GET /a/b?c=%20d"},
			"any method":    {askRoute(t, "DELETE", origin+"/a", nil, nil), 200, "DELETE /a"},
			"health":        {askRoute(t, "GET", origin+"/healthz", nil, nil), 200, "ok"},
			"endpoint":      {askRoute(t, "DELETE", origin+"/mcp", nil, nil), 400, "ession"},
			"metadata":      {askRoute(t, "GET", origin+"/.well-known/oauth-protected-resource", nil, nil), 404, ""},
			"landing":       {askRoute(t, "GET", origin+"/", nil, browser), 200, "<title>"},
			"foreign name":  {askRoute(t, "GET", origin+"/a", nil, foreign), 403, ""},
			"foreign post":  {askRoute(t, "POST", origin+"/echo/x", strings.NewReader(large), foreign), 403, ""},
			"small body":    {askRoute(t, "POST", origin+"/echo/x", strings.NewReader("hello"), nil), 202, "hello"},
			"no body":       {askRoute(t, "POST", origin+"/echo/x", nil, nil), 202, ""},
			"chunks":        {askRoute(t, "POST", origin+"/echo/x", io.MultiReader(strings.NewReader("hel"), strings.NewReader("lo")), nil), 202, "hello"},
			"large body":    {askRoute(t, "POST", origin+"/echo/x", bytes.NewReader([]byte(large)), nil), 202, large},
			"too large":     {askRoute(t, "POST", origin+"/echo/x", strings.NewReader(large+"y"), nil), 413, ""},
			"child context": {askRoute(t, "GET", origin+"/child", nil, nil), 200, "<nil>"},
			"panic":         {askRoute(t, "GET", origin+"/gone", nil, nil), 500, ""},
			"in parts":      {askRoute(t, "GET", origin+"/parts", nil, nil), 200, "part part part "},
			"continue":      {askRoute(t, "POST", origin+"/echo/x", strings.NewReader(large), func(r *http.Request) { r.Header.Set("Expect", "100-continue") }), 202, large},
		}
		for name, tt := range tests {
			if tt.got.status != tt.status || !strings.Contains(tt.got.body, tt.body) || strings.Contains(tt.got.body, "geheim") {
				t.Errorf("%s: %d %.200s", name, tt.got.status, tt.got.body)
			}
		}
		if cookies := tests["small body"].got.header.Values("Set-Cookie"); len(cookies) != 2 || cookies[1] != "b=x" {
			t.Errorf("cookies %v", cookies)
		}
		if got := askRoute(t, "POST", origin+"/echo/x", io.MultiReader(strings.NewReader(large), strings.NewReader("y")), nil); got.status != 413 && got.status != 418 {
			t.Errorf("too large in chunks: %d", got.status) // 418: the handler got the error while it read
		}
	})
}

// TestNoRoute: a path without a handler is 404 before any of the body is sent, also if the client waits for
// 100 Continue, and also if the program has handlers for other paths.
func TestNoRoute(t *testing.T) {
	t.Parallel()
	carriers := map[string]func(told func(string)) transport.Transport{
		"fiberhttp": func(told func(string)) transport.Transport {
			return fiberhttp.New("127.0.0.1:0", fiberhttp.OnEndpoint(told))
		},
		"nethttp": func(told func(string)) transport.Transport {
			return nethttp.New("127.0.0.1:0", nethttp.OnEndpoint(told))
		},
		"nethttp with a route": func(told func(string)) transport.Transport {
			return nethttp.New("127.0.0.1:0", nethttp.OnEndpoint(told), nethttp.Route("/x", http.NotFoundHandler()))
		},
	}
	for name, carrier := range carriers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := strings.TrimSuffix(strings.TrimPrefix(runs(t, greeting(t), carrier), "http://"), "/mcp")
			for fields, want := range map[string]int{
				"Content-Length: 50\r\nExpect: 100-continue": 404, "Content-Length: 3900000": 404, "Content-Length: 3900000\r\nExpect: 100-continue": 404,
			} {
				if strings.HasSuffix(name, "route") && strings.Contains(fields, "3900000") {
					want = 413
				}
				if got := statusWithoutBody(t, address, fields); got != want {
					t.Errorf("%q: %d, want %d", fields, got, want)
				}
			}
		})
	}
}

// statusWithoutBody returns the status of a POST whose body is not sent.
func statusWithoutBody(t *testing.T, address, fields string) int {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	_, _ = io.WriteString(conn, "POST /nothing HTTP/1.1\r\nHost: localhost\r\n"+fields+"\r\n\r\n")
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Errorf("%q: %v", fields, err)
		return 0
	}
	_ = answer.Body.Close()
	return answer.StatusCode
}

// What is wrong with a route ends Serve before it begins.
func TestRoute_Faults(t *testing.T) {
	t.Parallel()
	ok := http.NotFoundHandler()
	for want, wrong := range map[string][]fiberhttp.Option{
		`"/{"`:            {fiberhttp.Route("/{", ok)},
		`"/x" has no`:     {fiberhttp.Route("/x", nil)},
		`conflicts with`:  {fiberhttp.Route("/x", ok), fiberhttp.Route("/x", ok)},
		`""`:              {fiberhttp.Route("", ok)},
		`"POST /mcp"`:     {fiberhttp.Route("POST /mcp", ok)},
		`"/mcp/{$}"`:      {fiberhttp.Route("/mcp/{$}", ok)},
		`"/a/messages"`:   {fiberhttp.Path("/a/mcp"), fiberhttp.Route("/a/messages", ok)},
		`"/sse/{$}"`:      {fiberhttp.Route("/sse/{$}", ok)},
		`"/messages/{$}"`: {fiberhttp.Route("/messages/{$}", ok)},
		`"GET /readyz"`:   {fiberhttp.Route("GET /readyz", ok)},
		`"a.example/{$}"`: {fiberhttp.Path("/"), fiberhttp.Route("a.example/{$}", ok), fiberhttp.NoLanding()},
		`"/{$}"`:          {fiberhttp.Route("/{$}", ok)},
		`-resource/mcp"`:  {fiberhttp.Route("/.well-known/oauth-protected-resource/mcp", ok)},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := fiberhttp.New("127.0.0.1:0", wrong...).Serve(ctx, greeting(t)); err == nil || !strings.Contains(err.Error(), want) || errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", want, err)
		}
	}
	for _, right := range [][]fiberhttp.Option{
		{fiberhttp.Route("/", ok), fiberhttp.Route("/mcp/", ok), fiberhttp.Route("/mcp/x", ok), fiberhttp.Route("GET /{any}", ok)},
		{fiberhttp.NoLanding(), fiberhttp.Route("/{$}", ok)},
		{fiberhttp.WithoutHTTPSSE(), fiberhttp.Route("/sse", ok), fiberhttp.Route("/messages/{$}", ok)},
		{fiberhttp.Route("/healthz/{$}", ok)},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := fiberhttp.New("127.0.0.1:0", right...).Serve(ctx, greeting(t)); err != nil {
			t.Error(err)
		}
	}
}

// TestRouteBesideTheRoot: an endpoint at the root, or at a path with a slash at its end, leaves other paths to the
// handlers of the program, on both carriers.
func TestRouteBesideTheRoot(t *testing.T) {
	t.Parallel()
	teapot := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	for at, paths := range map[string]map[string]int{
		"/":      {"/": 400, "/x": 418, "/y": 404},
		"/deep/": {"/deep": 400, "/deep/": 400, "/deep/y": 404, "/x": 418},
	} {
		for name, carrier := range map[string]func(heard func(string)) transport.Transport{
			"fiberhttp": func(heard func(string)) transport.Transport {
				return fiberhttp.New("127.0.0.1:0", fiberhttp.Path(at), fiberhttp.Route("/x", teapot), fiberhttp.OnEndpoint(heard))
			},
			"nethttp": func(heard func(string)) transport.Transport {
				return nethttp.New("127.0.0.1:0", nethttp.Path(at), nethttp.Route("/x", teapot), nethttp.OnEndpoint(heard))
			},
		} {
			t.Run(name+" at "+at, func(t *testing.T) {
				t.Parallel()
				origin := strings.TrimSuffix(runs(t, greeting(t), carrier), at)
				for path, want := range paths {
					if got := askRoute(t, http.MethodDelete, origin+path, nil, nil).status; got != want { // 400: no session
						t.Errorf("%s: %d, want %d", path, got, want)
					}
				}
			})
		}
	}
}

// TestRouteAtTheEnd: a server that stops answers requests that handlers of the program have begun, on both carriers.
func TestRouteAtTheEnd(t *testing.T) {
	t.Parallel()
	for name, carrier := range map[string]func(heard func(string), h http.Handler) transport.Transport{
		"fiberhttp": func(heard func(string), h http.Handler) transport.Transport {
			return fiberhttp.New("127.0.0.1:0", fiberhttp.OnEndpoint(heard), fiberhttp.Route("POST /slow", h))
		},
		"nethttp": func(heard func(string), h http.Handler) transport.Transport {
			return nethttp.New("127.0.0.1:0", nethttp.OnEndpoint(heard), nethttp.Route("POST /slow", h))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testRouteAtTheEnd(t, carrier)
		})
	}
}

func testRouteAtTheEnd(t *testing.T, carrier func(heard func(string), h http.Handler) transport.Transport) {
	t.Helper()
	begun := make(chan struct{})
	slow := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		close(begun)
		time.Sleep(500 * time.Millisecond) // longer than idle connections live at the end
		_, _ = io.WriteString(w, "done")
	})
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	endpoint, ended, host := make(chan string, 1), make(chan error, 1), greeting(t)
	go func() { ended <- carrier(func(at string) { endpoint <- at }, slow).Serve(ctx, host) }()
	address := strings.TrimSuffix(strings.TrimPrefix(<-endpoint, "http://"), "/mcp")
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	from := bufio.NewReader(conn)
	_, _ = io.WriteString(conn, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n") // now the connection is not a new one
	expect(t, from, "ok")
	_, _ = io.WriteString(conn, "POST /slow HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhello")
	<-begun
	stop()
	expect(t, from, "done")
	if err := <-ended; err != nil {
		t.Errorf("Serve: %v", err)
	}
}

// TestTargets: a message gets the same answer for each spelling of the target, whatever
// the options are.
func TestTargets(t *testing.T) {
	t.Parallel()
	same := func(ctx context.Context, _ *fiber.Ctx) context.Context { return ctx }
	for name, opts := range map[string][]fiberhttp.Option{"plain": nil, "with Fiber's context": {fiberhttp.Context(same)}} {
		dial, stop := serving(t, opts...)
		t.Cleanup(stop)
		for target, want := range map[string]string{
			"/mcp": `"result":"x"`, "/mcp/": `"result":"x"`, "/mcp?a=/mcp": `"result":"x"`, "http://localhost/mcp": `"result":"x"`,
			"http://other/mcp": "another host", "/MCP": "Not Found", "/mcp/x": "Not Found",
		} {
			conn := dial()
			_, _ = io.WriteString(conn, strings.Replace(post("1.1", transporttest.Frame("echo", `"x"`), whole), "/mcp", target, 1))
			if expect(t, bufio.NewReader(conn), want) {
				t.Errorf("%s, %s: the connection ends", name, target)
			}
		}
	}
}
