package auth_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kagami-mcp/kagami/middleware/auth"
	"github.com/kagami-mcp/kagami/transport/nethttp"
)

// served is one call of the tool with a token, without a network in between.
func served(t *testing.T, h http.Handler, token string) (status int, header http.Header, body string) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/mcp", strings.NewReader(whoami))
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Authorization": "Bearer " + token,
		"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "whoami",
	} {
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code, w.Header(), w.Body.String()
}

// While the keys of the issuer cannot be fetched, no answer says that the token is wrong, and no
// answer repeats what the issuer said.
func TestIssuerFailsOverHTTP(t *testing.T) {
	t.Parallel()
	for name, broken := range map[string]func(i *issuer){
		"down":  func(i *issuer) { i.serve = func(*http.Request) (int, string) { return 0, "" } },
		"fails": func(i *issuer) { i.serve = func(*http.Request) (int, string) { return 500, "s3cret" } },
		"slow":  func(i *issuer) { i.delay = time.Hour },
		"huge": func(i *issuer) {
			i.serve = func(*http.Request) (int, string) { return 200, strings.Repeat(" ", 1<<20) }
		},
		"malformed": func(i *issuer) { i.serve = func(*http.Request) (int, string) { return 200, "<html>s3cret" } },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				i := newIssuer(t, "k1")
				token := i.token(t, "k1")
				i.change(func() { broken(i) })
				server, err := newApp(auth.Bearer(i.jwt(), auth.Require("mcp"))).Build()
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = server.Shutdown(context.WithoutCancel(t.Context())) }()
				h := nethttp.Handler(server)
				began := time.Now()
				status, header, body := served(t, h, token)
				want := http.Header{"Content-Type": {"application/json"}, "Retry-After": {"1"}, "Content-Length": header["Content-Length"]}
				if status != 503 || body != away || strings.Join(keys(header), "\n") != strings.Join(keys(want), "\n") {
					t.Errorf("%d %v %s", status, header, body)
				}
				if took := time.Since(began); took > 5*time.Second {
					t.Errorf("it took %s", took)
				}
				i.change(func() { i.serve, i.delay = nil, 0 })
				time.Sleep(time.Second)
				if status, header, _ := served(t, h, token); status != 403 { // of a token without scopes
					t.Errorf("back again: %d %v", status, header)
				}
			})
		})
	}
}
