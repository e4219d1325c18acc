package nethttp_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/testkit/transporttest"
	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/nethttp"
)

// warned is a host that keeps warnings.
type warned struct {
	transport.Host
	auth  transport.Authenticator
	mu    sync.Mutex
	texts []string
}

func (w *warned) Services() transport.Services {
	return transport.Services{Authenticator: w.auth, Warn: func(text string) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.texts = append(w.texts, text)
	}}
}

func call(h http.Handler, method string, fields map[string]string) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(context.Background(), method, "http://localhost/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"echo","params":{}}`))
	r.Header.Set("Content-Type", "application/json")
	for name, value := range fields {
		if name == "Host" {
			r.Host = value
			continue
		}
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// TestRefusedNames checks that the log has one warning for each refused name, and that the response
// contains the name.
func TestRefusedNames(t *testing.T) {
	t.Parallel()
	host := &warned{Host: transporttest.NewScripted()}
	h := nethttp.Handler(host)
	for range 3 {
		for _, fields := range []map[string]string{{"Host": "mcp.example.com"}, {"Origin": "https://app.example.com"}, {"Origin": "tauri://localhost"}, {"Origin": "null"}, {"Origin": "file://"}, {"Origin": "chrome-extension://abc"}} {
			w := call(h, http.MethodPost, fields)
			for _, value := range fields {
				if w.Code != http.StatusForbidden || !strings.Contains(w.Body.String(), value) {
					t.Errorf("%v: %d %s", fields, w.Code, w.Body)
				}
			}
		}
	}
	if len(host.texts) != 6 || !strings.Contains(host.texts[0], "AllowedHosts") || !strings.Contains(host.texts[0], "mcp.example.com") || !strings.Contains(host.texts[1], "AllowedOrigins") {
		t.Errorf("warnings: %q", host.texts)
	}
	long := call(h, http.MethodPost, map[string]string{"Host": strings.Repeat("x", 4000)})
	if long.Code != http.StatusForbidden || long.Body.Len() > 500 {
		t.Errorf("%d with %d bytes", long.Code, long.Body.Len())
	}
	for i := range 500 {
		call(h, http.MethodPost, map[string]string{"Host": fmt.Sprintf("h%d.example", i)})
	}
	if len(host.texts) > 100 {
		t.Errorf("%d warnings", len(host.texts))
	}
}

// broken is an authenticator that panics.
type broken struct{}

func (broken) Authenticate(context.Context, http.Header) (*transport.Principal, error) {
	panic("the program's")
}

func (broken) ServeMetadata(string, string) (int, http.Header, []byte) { panic("the program's, too") }

// TestPanicsAreLogged checks that the host's log has each panic once, with its stack, however many
// requests cause it.
func TestPanicsAreLogged(t *testing.T) {
	t.Parallel()
	host := &warned{Host: transporttest.NewScripted(), auth: broken{}}
	for _, h := range []http.Handler{nethttp.Handler(host), nethttp.SSE(host), nethttp.Metadata(host)} {
		host.texts = nil
		for range 5 {
			if w := call(h, http.MethodGet, map[string]string{"Accept": "text/event-stream"}); w.Code != http.StatusInternalServerError {
				t.Errorf("%d %s", w.Code, w.Body)
			}
		}
		if len(host.texts) != 1 || !strings.Contains(host.texts[0], "the program's") || !strings.Contains(host.texts[0], "refused_test.go:") {
			t.Errorf("logged %q", host.texts)
		}
	}
}

// TestPreflights: fields of the program's own, and pages of this machine while one develops.
func TestPreflights(t *testing.T) {
	t.Parallel()
	ask := map[string]string{"Origin": "https://app.example.com", "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "x-tenant"}
	local := map[string]string{"Origin": "http://localhost:6274", "Access-Control-Request-Method": "POST"}
	plain := nethttp.Handler(transporttest.NewScripted(), nethttp.AllowedOrigins("https://app.example.com"))
	open := nethttp.Handler(transporttest.NewScripted(), nethttp.AllowedOrigins("https://app.example.com"), nethttp.AllowedHeaders("X-Tenant"), nethttp.LoopbackOrigins())
	if got := call(plain, http.MethodOptions, ask).Header().Get("Access-Control-Allow-Headers"); strings.Contains(got, "X-Tenant") {
		t.Error(got)
	}
	if got := call(open, http.MethodOptions, ask).Header().Get("Access-Control-Allow-Headers"); !strings.Contains(got, "X-Tenant") || !strings.Contains(got, "Authorization") {
		t.Error(got)
	}
	if got := call(plain, http.MethodOptions, local).Header().Get("Access-Control-Allow-Origin"); got != "" {
		t.Error(got)
	}
	for _, method := range []string{http.MethodOptions, http.MethodPost} {
		if got := call(open, method, local).Header().Get("Access-Control-Allow-Origin"); got != "http://localhost:6274" {
			t.Errorf("%s: %q", method, got)
		}
	}
	for _, origin := range []string{"tauri://localhost", "http://localhost.evil.example", "null"} {
		if w := call(open, http.MethodPost, map[string]string{"Origin": origin}); w.Code != http.StatusForbidden {
			t.Errorf("%s: %d", origin, w.Code)
		}
	}
}

// TestWrongOptionsUnderARouter are seen: there is no error to return.
func TestWrongOptionsUnderARouter(t *testing.T) {
	t.Parallel()
	host := &warned{Host: transporttest.NewScripted()}
	nethttp.Handler(host, nethttp.AllowedOrigins("http://localhost:*"))
	nethttp.Handler(host, nethttp.AllowedHeaders("X Tenant"))
	nethttp.SSE(host, nethttp.AllowedHosts("https://mcp.example.com"))
	if len(host.texts) != 3 || !strings.Contains(host.texts[0], "http://localhost:*") || !strings.Contains(host.texts[1], "X Tenant") {
		t.Errorf("%q", host.texts)
	}
}

// TestVaryIsAdded checks that the Vary header of middleware is kept, also in a stream.
func TestVaryIsAdded(t *testing.T) {
	t.Parallel()
	const page = "https://app.example.com"
	h := nethttp.Handler(transporttest.NewScripted(), nethttp.AllowedOrigins(page))
	outer := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Vary", "Cookie")
		h.ServeHTTP(w, r)
	})
	for _, method := range []string{http.MethodOptions, http.MethodPost} {
		w := call(outer, method, map[string]string{"Origin": page, "Access-Control-Request-Method": http.MethodPost})
		if vary := strings.Join(w.Header().Values("Vary"), ", "); !strings.Contains(vary, "Cookie") || !strings.Contains(vary, "Origin") {
			t.Errorf("%s: %d, Vary: %q", method, w.Code, vary)
		}
	}
}

// TestLandingOfAnyHost checks that the host name cannot inject markup. With AllowedHosts("*") it is
// any text that a client sends.
func TestLandingOfAnyHost(t *testing.T) {
	t.Parallel()
	h := nethttp.Handler(transporttest.NewScripted(), nethttp.AllowedHosts("*"))
	for _, host := range []string{`a"><b>.example`, `a'><b>.example`, "<b>"} {
		w := call(h, http.MethodGet, map[string]string{"Host": host, "Accept": "text/html"})
		if body := w.Body.String(); strings.Contains(body, "<b>") || w.Code == http.StatusOK && !strings.Contains(body, "&lt;b&gt;") {
			t.Errorf("%s: %d %s", host, w.Code, body)
		}
	}
}

// TestLongHeader checks that the size of a header is bounded, so that connections cannot fill the
// memory.
func TestLongHeader(t *testing.T) {
	t.Parallel()
	var config net.ListenConfig
	l, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- nethttp.New("", nethttp.Listener(l)).Serve(ctx, transporttest.NewScripted()) }()
	defer func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	}()
	for size, want := range map[int]string{1 << 10: "HTTP/1.1 200 ", 64 << 10: "HTTP/1.1 431 "} {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.SetDeadline(time.Now().Add(time.Minute))
		body := transporttest.Frame("echo", `"x"`)
		_, _ = fmt.Fprintf(conn, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: application/json\r\nContent-Type: application/json\r\nContent-Length: %d\r\nX: %s\r\n\r\n%s",
			len(body), strings.Repeat("x", size), body) // the server may close the connection early
		line, err := bufio.NewReader(conn).ReadString('\n')
		if !strings.HasPrefix(line, want) {
			t.Errorf("%d bytes: %q, %v", size, line, err)
		}
		_ = conn.Close()
	}
}
