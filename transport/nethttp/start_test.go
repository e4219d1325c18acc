package nethttp_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.uber.org/zap"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/transport/nethttp"
)

// TestServerThatCannotStart checks that clients are not notified of a shutdown when OnStart has failed.
func TestServerThatCannotStart(t *testing.T) {
	t.Parallel()
	app := framework.New("test", "1", framework.WithLogger(zap.NewNop())).
		OnStart(func(context.Context, *framework.Server) error { return errors.New("no database") })
	server, err := app.Build()
	if err != nil {
		t.Fatal(err)
	}
	h := nethttp.Handler(server)
	answers := func(want string) {
		t.Helper()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), want) || strings.Contains(w.Body.String(), "database") {
			t.Errorf("status %d %s, want %q", w.Code, w.Body, want)
		}
	}
	answers("the server is not ready")
	if err := server.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	answers("the server is shutting down")
}
