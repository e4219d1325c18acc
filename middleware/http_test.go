package middleware_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kagami-mcp/kagami/middleware"
	"github.com/kagami-mcp/kagami/transport/nethttp"
)

// post sends one frame over HTTP.
func post(t *testing.T, h http.Handler, header map[string]string, frame string) (status int, fields http.Header, body string) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1/mcp", strings.NewReader(frame))
	r.RemoteAddr = "192.0.2.1:1234"
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for k, v := range header {
		r.Header.Set(k, v)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code, w.Header(), w.Body.String()
}

// TestRateLimitOverHTTP checks that the status is 429 on revisions with statuses for errors.
// Clients of a handshake revision get 200, because some of them end their session at any other
// status. Both responses contain, in whole seconds, when to come back.
func TestRateLimitOverHTTP(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		init   string
		call   string
		header map[string]string
		status int
	}{
		"2026-07-28": {
			call: `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"t","arguments":{},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`,
			header: map[string]string{
				"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "t",
				"X-Forwarded-For": "203.0.113.1", "Forwarded": "for=203.0.113.1",
			},
			status: http.StatusTooManyRequests,
		},
		"2025-11-25": {
			init:   `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`,
			call:   `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"t","arguments":{}}}`,
			header: map[string]string{"MCP-Protocol-Version": "2025-11-25"},
			status: http.StatusOK,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s, err := quiet().Use(middleware.RateLimit(middleware.Rate{Events: 1, Per: 90 * time.Second})).Add(doing(nothing)).Build()
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = s.Shutdown(context.WithoutCancel(t.Context())) }()
				h := nethttp.Handler(s)
				if tt.init != "" {
					status, fields, body := post(t, h, nil, tt.init)
					if status != http.StatusOK {
						t.Fatalf("%d: %s", status, body)
					}
					tt.header["Mcp-Session-Id"] = fields.Get("Mcp-Session-Id")
				}
				if status, fields, body := post(t, h, tt.header, tt.call); status != http.StatusOK || fields.Get("Retry-After") != "" {
					t.Errorf("the first: %d %v %s", status, fields, body)
				}
				time.Sleep(1500 * time.Millisecond)
				tt.header["X-Forwarded-For"] = "203.0.113.2"
				status, fields, body := post(t, h, tt.header, tt.call)
				want := `{"jsonrpc":"2.0","id":7,"error":{"code":429,"message":"too many calls: try again in 1m29s","data":{"retryAfterMs":88500}}}`
				if status != tt.status || fields.Get("Retry-After") != "89" || body != want || fields.Get("Content-Type") != "application/json" {
					t.Errorf("the second: %d %v\n%s\nwant\n%s", status, fields, body, want)
				}
			})
		})
	}
}
