package fiberhttp_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/middleware/compress"
	"github.com/gofiber/fiber/v2/middleware/cors"
	"github.com/gofiber/fiber/v2/middleware/etag"
	"github.com/gofiber/fiber/v2/middleware/logger"
	"github.com/gofiber/fiber/v2/middleware/recover"
	"github.com/gofiber/fiber/v2/middleware/requestid"
	"github.com/gofiber/fiber/v2/middleware/timeout"
	"github.com/valyala/fasthttp/fasthttputil"

	"github.com/kagami-mcp/kagami/testkit/transporttest"
	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/fiberhttp"
)

// everything is middleware that programs have, and some of which breaks streams that
// fasthttp writes.
func everything(app *fiber.App) {
	app.Use(recover.New(), cors.New(), requestid.New(), compress.New(), etag.New())
	app.Use(logger.New(logger.Config{Output: io.Discard, Format: "${body} ${resBody} ${status}\n"}))
	app.Use(timeout.NewWithContext(func(c *fiber.Ctx) error { return c.Next() }, 20*time.Millisecond))
	app.Use(func(c *fiber.Ctx) error {
		err := c.Next()
		c.Set("X-After", "1")
		return err
	})
}

func quiet(cfg fiber.Config) fiber.Config {
	cfg.DisableStartupMessage = true
	return cfg
}

// appTimeout is the timeout of the apps. A request must fit into it also on a busy machine.
const appTimeout = 3 * time.Second

func TestMount(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		app  func(host transport.Host) *fiber.App
		path string
		sse  string
	}{
		"app": {func(h transport.Host) *fiber.App {
			app := fiber.New(quiet(fiber.Config{}))
			everything(app)
			fiberhttp.Mount(app, h)
			return app
		}, "/", "/sse"},
		"path": {func(h transport.Host) *fiber.App {
			app := fiber.New(quiet(fiber.Config{Immutable: true}))
			fiberhttp.Mount(app, h, fiberhttp.Path("/a/mcp"))
			return app
		}, "/a/mcp", "/a/sse"},
		"group": {func(h transport.Host) *fiber.App {
			app := fiber.New(quiet(fiber.Config{StrictRouting: true, CaseSensitive: true}))
			everything(app)
			fiberhttp.Mount(app.Group("/mcp"), h)
			return app
		}, "/mcp", "/mcp/sse"},
		"mounted": {func(h transport.Host) *fiber.App {
			parent, sub := fiber.New(quiet(fiber.Config{ETag: true, WriteTimeout: appTimeout, ReduceMemoryUsage: true})), fiber.New()
			everything(parent)
			fiberhttp.Mount(sub, h)
			parent.Mount("/mcp", sub)
			return parent
		}, "/mcp", "/mcp/sse/"},
		"streamed body": {func(h transport.Host) *fiber.App {
			app := fiber.New(quiet(fiber.Config{StreamRequestBody: true, DisableHeaderNormalizing: true, ReadTimeout: appTimeout}))
			fiberhttp.Mount(app.Group("/mcp/"), h)
			return app
		}, "/mcp/", "/mcp/sse"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			host := transporttest.NewScripted()
			dial := start(t, c.app(host), nil)
			conn := dial()
			json := request(t, conn, "POST", c.path, transporttest.Frame("echo", `"x"`))
			if got := text(t, json); json.StatusCode != 200 || !strings.Contains(got, `"result":"x"`) {
				t.Errorf("echo: %s, %q", json.Status, got)
			}
			stream := request(t, dial(), "POST", c.path, transporttest.Frame("stream", `"y"`), "Connection: close", "Accept-Encoding: gzip", "Origin: http://localhost:1")
			if got := chunk(t, stream.Body); !strings.Contains(got, `"note"`) {
				t.Errorf("the stream begins with %q", got)
			}
			if name == "app" || name == "group" || name == "mounted" {
				if stream.Header.Get("X-Request-Id") == "" || stream.Header.Get("X-After") == "" || len(stream.Header.Values("Access-Control-Allow-Origin")) != 1 {
					t.Errorf("what middleware set is missing: %v", stream.Header)
				}
			}
			time.Sleep(appTimeout + 50*time.Millisecond) // the app's timeouts are not to cut it off
			close(host.Let)
			if got := text(t, stream); !strings.Contains(got, `"result":"y"`) {
				t.Errorf("the stream ends with %q", got)
			}
			pair(t, dial, c.sse)
		})
	}
}

// pair uses HTTP+SSE.
func pair(t *testing.T, dial func() net.Conn, path string) {
	t.Helper()
	events := request(t, dial(), "GET", path, "", "Accept: text/event-stream")
	greeting := chunk(t, events.Body)
	_, data, _ := strings.Cut(strings.TrimSpace(greeting), "data: ")
	base := url.URL{Path: path}
	target, err := base.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	if taken := request(t, dial(), "POST", target.RequestURI(), transporttest.Frame("echo", `"z"`)); taken.StatusCode != 202 {
		t.Errorf("POST %s: %s, %q", target, taken.Status, text(t, taken))
	}
	if got := chunk(t, events.Body); !strings.Contains(got, `event: message`) || !strings.Contains(got, `"result":"z"`) {
		t.Errorf("the answer is %q", got)
	}
}

// The app's ErrorHandler has no part in what we answer.
func TestErrorHandlerIsLeftAlone(t *testing.T) {
	t.Parallel()
	host := &warned{Host: transporttest.NewScripted()}
	app := fiber.New(quiet(fiber.Config{ErrorHandler: func(_ *fiber.Ctx, err error) error {
		t.Errorf("the app's ErrorHandler got %v", err)
		return nil
	}}))
	fiberhttp.Mount(app.Group("/mcp"), host, fiberhttp.Context(func(ctx context.Context, c *fiber.Ctx) context.Context {
		if c.Get("X-Panic") != "" {
			panic("scripted: in Context")
		}
		return ctx
	}))
	dial := start(t, app, nil)
	for want, c := range map[int][]string{
		403: {"GET", "Origin: https://evil.example.com"}, 405: {"PUT", "X: y"}, 404: {"DELETE", "Mcp-Session-Id: x"},
		500: {"POST", "X-Panic: 1"},
	} {
		got := request(t, dial(), c[0], "/mcp", "", c[1])
		if body := text(t, got); got.StatusCode != want || !strings.Contains(body, `"jsonrpc":"2.0"`) || strings.Contains(body, "scripted") {
			t.Errorf("%v: %s, %q", c, got.Status, body)
		}
	}
	request(t, dial(), "POST", "/mcp", "", "X-Panic: 1")
	if got := host.panics(); len(got) != 1 || !strings.Contains(got[0], "scripted: in Context") || !strings.Contains(got[0], "mount_test.go:") {
		t.Errorf("logged %q", got)
	}
}

// warned is a host that records warnings.
type warned struct {
	transport.Host
	mu    sync.Mutex
	texts []string
}

func (w *warned) Services() transport.Services {
	return transport.Services{Warn: func(text string) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.texts = append(w.texts, text)
	}}
}

func (w *warned) panics() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(w.texts), func(text string) bool { return !strings.HasPrefix(text, "panic") })
}

func TestAbsoluteForm(t *testing.T) {
	t.Parallel()
	app := fiber.New(quiet(fiber.Config{}))
	fiberhttp.Mount(app, transporttest.NewScripted(), fiberhttp.Path("/mcp"))
	dial := start(t, app, nil)
	for path, want := range map[string]int{
		"http://localhost/mcp": 200, "http://evil.example.com/mcp": 400, "http://127.0.0.1/mcp": 400,
	} {
		if got := request(t, dial(), "POST", path, transporttest.Frame("echo", `"x"`)); got.StatusCode != want {
			t.Errorf("%s: %s, %q", path, got.Status, text(t, got))
		}
	}
}

// What the host keeps of a request does not change with the next one on the connection.
func TestNothingOfFasthttpIsKept(t *testing.T) {
	t.Parallel()
	host := transporttest.NewScripted()
	app := fiber.New(quiet(fiber.Config{}))
	fiberhttp.Mount(app, host)
	conn := start(t, app, nil)()
	var seen []func()
	for i := range 3 {
		letter := string(rune('A' + i))
		value := strings.Repeat(letter, 20)
		text(t, request(t, conn, "POST", "/", transporttest.Frame("echo", `"`+value+`"`), "X-Value: "+value, "x-value: "+letter, "Cookie: a="+letter, whole))
		r, body := transport.RequestFrom(<-host.Began), <-host.Frames
		seen = append(seen, func() {
			values := r.Fields.Values("x-VALUE")
			if fmt.Sprint(values) != fmt.Sprintf("[%s %s]", value, letter) || !strings.Contains(string(body), value) {
				t.Errorf("request %d: fields %q, body %q", i, values, body)
			}
			h := r.Fields.Header()
			if h.Get("Cookie") != "a="+letter || len(h["X-Value"]) != 2 || h.Get("Content-Type") != "application/json" || h.Get("Host") != "" {
				t.Errorf("request %d: header %v", i, h)
			}
		})
	}
	for _, check := range seen {
		check()
	}
}

// A field that middleware has taken away or set does not come back from the wire.
func TestFieldsAreThoseOfMiddleware(t *testing.T) {
	t.Parallel()
	host := transporttest.NewScripted()
	app := fiber.New(quiet(fiber.Config{}))
	app.Use(func(c *fiber.Ctx) error {
		c.Request().Header.Del("X-User")
		c.Request().Header.Set("X-Tenant", "true")
		return c.Next()
	})
	fiberhttp.Mount(app, host)
	text(t, request(t, start(t, app, nil)(), "POST", "/", transporttest.Frame("echo", "1"), "X-User: root", "X-Tenant: forged"))
	h := transport.RequestFrom(<-host.Began).Fields.Header()
	if h.Get("X-User") != "" || strings.Join(h.Values("X-Tenant"), ",") != "true" {
		t.Errorf("the host sees %v", h)
	}
}

type tenant struct{}

func TestContext(t *testing.T) {
	t.Parallel()
	host := transporttest.NewScripted()
	app := fiber.New(quiet(fiber.Config{}))
	alice := &transport.Principal{Subject: "alice"}
	fiberhttp.Mount(app, host, fiberhttp.Context(func(ctx context.Context, c *fiber.Ctx) context.Context {
		ctx = context.WithValue(ctx, tenant{}, strings.Clone(c.Get("X-Tenant")))
		return transport.WithPrincipal(ctx, alice)
	}))
	text(t, request(t, start(t, app, nil)(), "POST", "/", transporttest.Frame("echo", "1"), "X-Tenant: one"))
	ctx := <-host.Began
	if ctx.Value(tenant{}) != "one" || transport.PrincipalFrom(ctx) != alice {
		t.Errorf("tenant %v, principal %v", ctx.Value(tenant{}), transport.PrincipalFrom(ctx))
	}
}

// In memory there is neither socket nor half-close, but all else is the same.
func TestInmemoryListener(t *testing.T) {
	t.Parallel()
	host := transporttest.NewScripted()
	app := fiber.New(quiet(fiber.Config{}))
	fiberhttp.Mount(app, host)
	dial := start(t, app, fasthttputil.NewInmemoryListener())
	close(host.Let)
	stream := request(t, dial(), "POST", "/", transporttest.Frame("stream", `"y"`))
	if got := text(t, stream); stream.Header.Get("Content-Type") != "text/event-stream" || !strings.Contains(got, `"result":"y"`) {
		t.Errorf("%v, %q", stream.Header, got)
	}
	conn := dial()
	if _, err := io.WriteString(conn, "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 54\r\n\r\n"+
		fmt.Sprintf("%-54s", transporttest.Frame("block", "1"))); err != nil {
		t.Fatal(err)
	}
	<-host.Began
	<-host.Began
	_ = conn.Close()
	<-host.Ended
}

// fasthttp's own refusals are JSON-RPC too, and repeat nothing of the request.
func TestProtocolErrors(t *testing.T) {
	t.Parallel()
	const marker = "<script>"
	l, served := listen(t), make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { served <- fiberhttp.New("", fiberhttp.Listener(l)).Serve(ctx, transporttest.NewScripted()) }()
	defer func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	}()
	for text, want := range map[string]string{
		"POST /mcp HTTP/1.1\r\nHost: localhost\r\nX: " + marker + strings.Repeat("x", 40<<10) + "\r\n\r\n":                                 "431",
		"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 99999999\r\nX: " + marker + "\r\n\r\n": "413",
		"POST /mcp HTTP/1.1\r\nHost: localhost\r\nHost: " + marker + "\r\n\r\n":                                                            "400",
		"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\nX: " + marker + "\r\n\r\nab":                   "400",
		"POST /" + marker + " HTTP/1.1\r\nHost: localhost\r\n\r\n":                                                                         "404",
	} {
		conn := connect(t, l)
		if _, err := io.WriteString(conn, text); err != nil {
			t.Fatal(err)
		}
		buf := make([]byte, 64<<10)
		n, _ := conn.Read(buf)
		head, body, _ := strings.Cut(string(buf[:n]), "\r\n\r\n")
		if !strings.Contains(head, " "+want+" ") || !strings.Contains(head, "application/json") || !strings.Contains(body, `"jsonrpc"`) || strings.Contains(body, "script") {
			t.Errorf("%.60q: %q", text, buf[:n])
		}
	}
}

// TestVaryIsAdded checks that the Vary header of the app's middleware is kept, also in a stream.
func TestVaryIsAdded(t *testing.T) {
	t.Parallel()
	host := transporttest.NewScripted()
	close(host.Let)
	app := fiber.New(quiet(fiber.Config{}))
	app.Use(func(c *fiber.Ctx) error {
		c.Vary("Cookie")
		return c.Next()
	})
	fiberhttp.Mount(app, host, fiberhttp.Path("/mcp"), fiberhttp.AllowedOrigins("https://app.example.com"))
	dial := start(t, app, nil)
	for method, accept := range map[string]string{"echo": whole, "stream": "Accept: application/json, text/event-stream"} {
		got := request(t, dial(), "POST", "/mcp", transporttest.Frame(method, `"y"`), accept, "Origin: https://app.example.com", "Connection: close")
		if vary := strings.Join(got.Header.Values("Vary"), ", "); !strings.Contains(vary, "Cookie") || !strings.Contains(vary, "Origin") {
			t.Errorf("%s: %s, Vary: %q", method, got.Status, vary)
		}
		if streams := strings.HasPrefix(got.Header.Get("Content-Type"), "text/event-stream"); streams != (method == "stream") {
			t.Errorf("%s: %v", method, got.Header)
		}
		text(t, got)
	}
}
