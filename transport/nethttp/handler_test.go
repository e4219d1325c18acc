package nethttp_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/testkit/transporttest"
	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/nethttp"
)

// response is one whose body the test closes.
type response struct{ *http.Response }

func post(ctx context.Context, t *testing.T, client *http.Client, url, body string) response {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = answer.Body.Close() })
	return response{answer}
}

func text(t *testing.T, r response) string {
	t.Helper()
	all, err := io.ReadAll(r.Body)
	if err != nil {
		t.Errorf("the body ended with %v after %q", err, all)
	}
	return string(all)
}

func chunk(t *testing.T, body io.Reader) string {
	t.Helper()
	buf := make([]byte, 4096)
	n, err := body.Read(buf)
	if err != nil {
		t.Fatalf("reading the stream: %v", err)
	}
	return string(buf[:n])
}

func serve(t *testing.T, h http.Handler, prepare func(*httptest.Server)) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	prepare(s)
	if s.TLS == nil && !s.EnableHTTP2 {
		s.Start()
	}
	t.Cleanup(s.Close)
	return s
}

func TestHTTP2(t *testing.T) {
	t.Parallel()
	host := transporttest.NewScripted()
	s := serve(t, nethttp.Handler(host), func(s *httptest.Server) { s.EnableHTTP2 = true; s.StartTLS() })
	client := s.Client()
	plain := post(t.Context(), t, client, s.URL, transporttest.Frame("echo", `"x"`))
	if got := text(t, plain); plain.ProtoMajor != 2 || !strings.Contains(got, `"result":"x"`) {
		t.Errorf("%s %s: %q", plain.Proto, plain.Status, got)
	}
	ctx, leave := context.WithCancel(t.Context())
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		r, _ := http.NewRequestWithContext(ctx, http.MethodPost, s.URL, strings.NewReader(transporttest.Frame("block", "1")))
		r.Header.Set("Content-Type", "application/json")
		if response, err := client.Do(r); err == nil {
			_ = response.Body.Close()
		}
	}()
	for range 2 { // echo, block
		<-host.Began
	}
	leave()
	<-host.Ended
	<-gone
}

// A body that does not come is not waited for, whatever the method, though the program's server has no
// timeout.
func TestSlowBody(t *testing.T) {
	t.Parallel()
	s := serve(t, nethttp.Handler(transporttest.NewScripted(), nethttp.ReadTimeout(50*time.Millisecond)), func(*httptest.Server) {})
	for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodDelete} {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", s.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.SetDeadline(time.Now().Add(time.Minute))
		_, _ = fmt.Fprintf(conn, "%s / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n{", method)
		all, err := io.ReadAll(conn)
		if err != nil || !strings.HasPrefix(string(all), "HTTP/1.1 400 ") || !strings.Contains(string(all), `"jsonrpc"`) {
			t.Errorf("%s: %v, %q", method, err, all)
		}
		_ = conn.Close()
	}
}

type tenant struct{}

func TestContext(t *testing.T) {
	t.Parallel()
	host := transporttest.NewScripted()
	alice := &transport.Principal{Subject: "alice"}
	h := nethttp.Handler(host)
	s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Vary", "Cookie")
		ctx := context.WithValue(r.Context(), tenant{}, "one")
		h.ServeHTTP(w, r.WithContext(transport.WithPrincipal(ctx, alice)))
	}), func(*httptest.Server) {})
	response := post(t.Context(), t, s.Client(), s.URL, transporttest.Frame("echo", "1"))
	text(t, response)
	ctx := <-host.Began
	if ctx.Value(tenant{}) != "one" || transport.PrincipalFrom(ctx) != alice {
		t.Errorf("tenant %v, principal %v", ctx.Value(tenant{}), transport.PrincipalFrom(ctx))
	}
	if r := transport.RequestFrom(ctx); r.Fields.Header().Get("Content-Type") != "application/json" || r.RemoteAddr == "" {
		t.Errorf("the request is %+v", r)
	}
}

// targets is a host that accepts all callers and records what they ask for.
type targets struct {
	*transporttest.Scripted
	seen chan transport.Target
}

func (h targets) Services() transport.Services { return transport.Services{Authenticator: h} }

func (h targets) Authenticate(ctx context.Context, _ http.Header) (*transport.Principal, error) {
	target, _ := transport.TargetFrom(ctx)
	h.seen <- target
	return &transport.Principal{Subject: "alice"}, nil
}

// The URL in a proof of DPoP is the client's, and http.StripPrefix takes a part of it.
func TestTargetIsTheClients(t *testing.T) {
	t.Parallel()
	h := targets{transporttest.NewScripted(), make(chan transport.Target, 1)}
	s := serve(t, http.StripPrefix("/api", nethttp.Handler(h)), func(*httptest.Server) {})
	text(t, post(t.Context(), t, s.Client(), s.URL+"/api/m%63p?tenant=1", transporttest.Frame("echo", "1")))
	if got, want := <-h.seen, (transport.Target{Method: http.MethodPost, URL: "/api/m%63p"}); got != want {
		t.Errorf("target %+v, want %+v", got, want)
	}
}

// A body that would be refused is not asked for.
func TestExpectRefused(t *testing.T) {
	t.Parallel()
	s := serve(t, nethttp.Handler(transporttest.NewScripted()), func(*httptest.Server) {})
	for want, field := range map[int]string{403: "Origin: null", 415: "Content-Type: text/plain", 413: "Content-Type: application/json"} {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", s.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(conn, "POST / HTTP/1.1\r\nHost: localhost\r\n"+field+"\r\nExpect: 100-continue\r\nContent-Length: 99999999\r\n\r\n")
		response, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(response.Body)
		if response.StatusCode != want || want == 413 && !strings.Contains(string(body), "the limit of 4194304 bytes") {
			t.Errorf("%s: %s %s, want %d", field, response.Status, body, want)
		}
		_ = response.Body.Close()
		_ = conn.Close()
	}
}

// plainWriter is what middleware makes of a response that can neither be flushed nor
// have deadlines.
type plainWriter struct{ http.ResponseWriter }

// unwrapped has a way to flush that only http.ResponseController finds.
type unwrapped struct{ plainWriter }

func (u unwrapped) Unwrap() http.ResponseWriter { return u.ResponseWriter }

// noting answers each frame with the error of sending something before the answer.
type noting struct{}

func (noting) Accept(context.Context, []byte) (transport.Exchange, error) { return noting{}, nil }

func (noting) Serve(ctx context.Context, out transport.Outbound) error {
	err := out.Send(ctx, transport.Frame{JSON: []byte(`{"jsonrpc":"2.0","method":"note"}`)})
	return out.Send(ctx, transport.Frame{JSON: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"result":%t}`, errors.Is(err, transport.ErrNoStream)), Final: true})
}

// Under middleware that holds responses back nothing waits for a client that gets nothing:
// what would be a stream is refused.
func TestHeldBack(t *testing.T) {
	t.Parallel()
	through := func(wrap func(http.ResponseWriter) http.ResponseWriter) func(http.Handler) http.Handler {
		return func(h http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h.ServeHTTP(wrap(w), r) })
		}
	}
	for name, tt := range map[string]struct {
		wrap func(http.Handler) http.Handler
		held bool
	}{
		"plain writer":   {through(func(w http.ResponseWriter) http.ResponseWriter { return plainWriter{w} }), true},
		"unwrapped":      {through(func(w http.ResponseWriter) http.ResponseWriter { return unwrapped{plainWriter{w}} }), false},
		"TimeoutHandler": {func(h http.Handler) http.Handler { return http.TimeoutHandler(h, time.Minute, "") }, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mux := http.NewServeMux()
			mux.Handle("/mcp", nethttp.Handler(noting{}))
			mux.Handle("/sse", nethttp.SSE(noting{}))
			s := serve(t, tt.wrap(mux), func(*httptest.Server) {})
			answer := text(t, post(t.Context(), t, s.Client(), s.URL+"/mcp", transporttest.Frame("x", "1")))
			if strings.Contains(answer, "note") == tt.held || !strings.Contains(answer, fmt.Sprintf(`"result":%t`, tt.held)) {
				t.Errorf("POST: %q", answer)
			}
			for path, status := range map[string]int{"/mcp": http.StatusMethodNotAllowed, "/sse": http.StatusInternalServerError} {
				if !tt.held && path == "/mcp" {
					status = http.StatusBadRequest // there is no session
				} else if !tt.held {
					status = http.StatusOK
				}
				got, allow := get(t, s, path)
				if got != status || status == http.StatusMethodNotAllowed && allow != "POST, DELETE" {
					t.Errorf("GET %s: %d, want %d; Allow is %q", path, got, status, allow)
				}
			}
		})
	}
}

// get asks for a stream, and leaves.
func get(t *testing.T, s *httptest.Server, path string) (status int, allow string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", "text/event-stream")
	response, err := s.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	return response.StatusCode, response.Header.Get("Allow")
}
