package framework_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/fiberhttp"
	"github.com/kagami-mcp/kagami/transport/nethttp"
)

// Scopes without an authenticator, which no caller could have, are a warning at Build, and an error if
// callers without a login are served.
func TestScopesWithoutAuthenticator(t *testing.T) {
	t.Parallel()
	scoped := framework.Tool("t", none, framework.Describe("x"), framework.Scopes("a"))
	var report *framework.BuildError
	if _, err := quiet(framework.WithStrict()).Add(scoped).Build(); !errors.As(err, &report) || len(report.Faults) != 1 || !strings.Contains(err.Error(), "WithAuth") {
		t.Errorf("strict: %v", err)
	}
	if _, err := quiet(framework.WithStrict(), framework.WithAuth(door{})).Add(scoped).Build(); err != nil {
		t.Errorf("with an authenticator: %v", err)
	}
	s := build(t, quiet().Add(scoped))
	for _, carrier := range []transport.Transport{fiberhttp.New("127.0.0.1:0"), nethttp.New("127.0.0.1:0")} {
		if err := carrier.Serve(t.Context(), s); err == nil || !strings.Contains(err.Error(), `"t" needs scopes`) {
			t.Errorf("Serve: %v", err)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, ok := range []*framework.Server{build(t, quiet(framework.WithAuth(door{})).Add(scoped)), build(t, quiet().Add(framework.Tool("t", none)))} {
		if err := nethttp.New("127.0.0.1:0").Serve(ended, ok); err != nil {
			t.Errorf("Serve: %v", err)
		}
	}
}

// unready is a door that reports that it can admit no caller.
type unready struct{ door }

func (unready) Ready() error { return errors.New("no issuer") }

// TestAuthenticatorThatIsNotReady checks that an authenticator that cannot accept a caller is
// treated as a missing one.
func TestAuthenticatorThatIsNotReady(t *testing.T) {
	t.Parallel()
	var report *framework.BuildError
	_, err := quiet(framework.WithStrict(), framework.WithAuth(unready{})).Build()
	if !errors.As(err, &report) || len(report.Faults) != 1 || !strings.Contains(err.Error(), "WithAuth: no issuer") {
		t.Errorf("strict: %v", err)
	}
	s := build(t, quiet(framework.WithAuth(unready{})))
	for _, carrier := range []transport.Transport{fiberhttp.New("127.0.0.1:0"), nethttp.New("127.0.0.1:0")} {
		if err := carrier.Serve(t.Context(), s); err == nil || !strings.Contains(err.Error(), "WithAuth: no issuer") {
			t.Errorf("Serve: %v", err)
		}
	}
}

// shrug lets everybody in, and never asks for more scopes.
type shrug struct{}

func (shrug) Authenticate(context.Context, http.Header) (*transport.Principal, error) {
	return &transport.Principal{Subject: "anyone"}, nil
}
func (shrug) InsufficientScope([]string) *transport.AuthError { return nil }

// What needs scopes does not exist where the authenticator has no challenge.
func TestNoChallenge(t *testing.T) {
	t.Parallel()
	s := build(t, quiet(framework.WithAuth(shrug{})).Add(framework.Tool("t", none, framework.Scopes("a"))))
	const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
		`"io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/mcp", strings.NewReader(call))
	for name, value := range map[string]string{
		"Accept": "application/json, text/event-stream", "Content-Type": "application/json",
		"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "t",
	} {
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	nethttp.Handler(s).ServeHTTP(w, r)
	if body := w.Body.String(); w.Code != http.StatusOK || !strings.Contains(body, "-32602") || !strings.Contains(body, "nknown tool") {
		t.Errorf("%d %s", w.Code, body)
	}
}
