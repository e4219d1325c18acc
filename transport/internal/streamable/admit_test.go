package streamable_test

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/internal/streamable"
)

// TestGate: a request for a name that is not listed, or from a page of another origin, is
// refused on every method before anything else is looked at (2025-11-25 basic/transports
// "Security Warning").
func TestGate(t *testing.T) {
	t.Parallel()
	var handled atomic.Int32
	s := newSite(t, &host{plan: modern, handle: func(context.Context, string, func(string) error) (int, string) {
		handled.Add(1)
		return http.StatusOK, `{"a":1}`
	}}, streamable.Config{AllowedHosts: []string{"shop.example"}, AllowedOrigins: []string{"https://app.example"}})
	defer s.stop()
	for _, tt := range []struct {
		host, origin string
		allowed      bool
		more         []string // further fields Origin
	}{
		{host: "localhost:8080", allowed: true},
		{host: "127.0.0.1", allowed: true},
		{host: "[::1]:8080", allowed: true},
		{host: "shop.example", allowed: true},
		{host: "shop.example:443", allowed: true},
		{host: "evil.example"},
		{host: "shop.example.evil.example"},
		{host: "localhost.evil.example"},
		{host: ""},
		{host: ":8080"},
		{host: "[::1"},
		{host: "[::1]evil.example"},
		{host: "shop.example:443:443"},
		{host: "localhost@evil.example"},
		{host: "shop.example", origin: "https://app.example", allowed: true},
		{host: "shop.example", origin: "https://shop.example", allowed: true},
		{host: "shop.example", origin: "https://evil.example"},
		{host: "shop.example", origin: "http://app.example"},
		{host: "shop.example", origin: "https://app.example.evil.example"},
		{host: "shop.example", origin: "null"},
		{host: "localhost:8080", origin: "http://localhost:3000", allowed: true}, // pages of this machine
		{host: "shop.example", origin: "http://localhost:3000", allowed: true},
		{host: "evil.example", origin: "https://app.example"},
		{host: "shop.example", more: []string{""}},
		{host: "shop.example", origin: "https://app.example", more: []string{"https://app.example"}},
		{host: "shop.example", origin: "https://app.example", more: []string{"https://evil.example"}},
		{host: "shop.example", origin: "https://evil.example", more: []string{"https://app.example"}},
	} {
		for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodDelete, http.MethodOptions, http.MethodPut} {
			fields := http.Header{"Accept": {"application/json, text/event-stream"}, "Content-Type": {"application/json"}}
			if tt.origin != "" {
				fields.Set("Origin", tt.origin)
			}
			for _, origin := range tt.more {
				fields.Add("Origin", origin)
			}
			handled.Store(0)
			visit, reply := s.e.Check(t.Context(), &streamable.Request{Method: method, Host: tt.host, Fields: transport.HeaderFields(fields), RemoteAddr: "192.0.2.1:1"})
			if reply == nil {
				reply = visit.Serve([]byte(`{"jsonrpc":"2.0","id":1,"method":"x"}`))
			}
			if refused := reply.Status == http.StatusForbidden; refused == tt.allowed {
				t.Errorf("%s for %q from %q: %d", method, tt.host, fields["Origin"], reply.Status)
			}
			if want := tt.allowed && method == http.MethodPost; (handled.Load() == 1) != want {
				t.Errorf("%s for %q from %q was handled %d times", method, tt.host, fields["Origin"], handled.Load())
			}
		}
	}
}
