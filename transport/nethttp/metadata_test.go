package nethttp_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/nethttp"
)

// described is a host whose authenticator tells something at one path.
type described struct{ transport.Server }

func (described) Services() transport.Services { return transport.Services{Authenticator: teller{}} }

type teller struct{}

func (teller) Authenticate(context.Context, http.Header) (*transport.Principal, error) {
	return nil, errors.New("nobody")
}

func (teller) ServeMetadata(method, path string) (int, http.Header, []byte) {
	if path == "/.well-known/oauth-protected-resource/a%2Fb" {
		return http.StatusOK, http.Header{"Content-Type": {"application/json"}, "Cache-Control": {"public"}}, []byte(`{"method":"` + method + `"}`)
	}
	if path == "/.well-known/oauth-protected-resource/panic" {
		panic("as if the program had done it")
	}
	return http.StatusMethodNotAllowed, http.Header{"Allow": {"GET"}}, nil
}

// undescribed is one whose authenticator has nothing to tell.
type undescribed struct{ described }

func (undescribed) Services() transport.Services { return transport.Services{} }

func TestMetadata(t *testing.T) {
	t.Parallel()
	tests := []struct {
		host         transport.Host
		method, path string
		status       int
		body         string
	}{
		{described{}, "GET", "/.well-known/oauth-protected-resource/a%2Fb", 200, `{"method":"GET"}`},
		{described{}, "POST", "/.well-known/oauth-protected-resource/a%2Fb?x=y", 200, `{"method":"POST"}`},
		{described{}, "GET", "/.well-known/oauth-protected-resource", 405, `{"jsonrpc":"2.0","error":{"code":-32600,"message":"Method Not Allowed"}}`},
		{described{}, "GET", "/.well-known/oauth-protected-resource/panic", 500, `{"jsonrpc":"2.0","error":{"code":-32603,"message":"internal error"}}`},
		{undescribed{}, "GET", "/.well-known/oauth-protected-resource", 404, `{"jsonrpc":"2.0","error":{"code":-32600,"message":"Not Found"}}`},
	}
	for _, tt := range tests {
		w := httptest.NewRecorder()
		nethttp.Metadata(tt.host, nethttp.BodyLimit(1)).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), tt.method, tt.path, nil))
		if w.Code != tt.status || w.Body.String() != tt.body || w.Header().Get("Content-Type") != "application/json" || tt.status == 405 && w.Header().Get("Allow") != "GET" {
			t.Errorf("%s %s: %d %s %v", tt.method, tt.path, w.Code, w.Body, w.Header())
		}
	}
}
