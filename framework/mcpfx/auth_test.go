package mcpfx_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/fx"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/mcpfx"
	"github.com/kagami-mcp/kagami/framework/store/memory"
	"github.com/kagami-mcp/kagami/transport"
)

// guard is an authenticator that lets in no caller.
type guard struct{}

func newGuard() *guard { return &guard{} }

func (*guard) Authenticate(context.Context, http.Header) (*transport.Principal, error) {
	return nil, errors.New("closed")
}

// TestAuth: an authenticator of the program guards the server, also if its constructor returns a type
// of its own.
func TestAuth(t *testing.T) {
	t.Parallel()
	for name, opt := range map[string]fx.Option{
		"its own type":     mcpfx.Auth(newGuard),
		"with an error":    mcpfx.Auth(func() (*guard, error) { return newGuard(), nil }),
		"interface":        mcpfx.Auth(func() transport.Authenticator { return newGuard() }),
		"of the graph":     fx.Provide(func() transport.Authenticator { return newGuard() }),
		"supplied value":   fx.Options(fx.Supply(newGuard()), mcpfx.Auth(func() transport.Authenticator { return newGuard() })),
		"used by the rest": fx.Options(mcpfx.Auth(newGuard), fx.Invoke(func(*guard) {})),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := serving(t, mcpfx.Provide(newBilling), opt)
			request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader("{}"))
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("Content-Type", "application/json")
			answer, err := http.DefaultClient.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			if err := answer.Body.Close(); err != nil || answer.StatusCode != http.StatusUnauthorized {
				t.Errorf("status %d, %v", answer.StatusCode, err)
			}
			http.DefaultClient.CloseIdleConnections()
		})
	}
}

// TestStore: the server uses a store, although its constructor returns a type of its own.
func TestStore(t *testing.T) {
	t.Parallel()
	var used bool
	app := fx.New(
		mcpfx.Module("shop", "1.0.0", mcpfx.Stdio()), fx.NopLogger,
		mcpfx.Provide(newBilling), mcpfx.Store(memory.New),
		fx.Invoke(func(s *framework.Server, _ *memory.Store) { used = s.Services().Sessions != nil }),
	)
	if app.Err() != nil || !used {
		t.Errorf("%v; it is used: %t", app.Err(), used)
	}
}

// TestPortMissing: Auth and Store do not let a server start without the value. If the constructor lacks a
// dependency, fx treats the value as missing, and the server would be open.
func TestPortMissing(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		opt  fx.Option
		want []string
	}{
		"a missing dependency":   {mcpfx.Auth(func(*config) *guard { return newGuard() }), []string{"missing type", "mcpfx_test.config"}},
		"of an interface":        {mcpfx.Auth(func(*config) transport.Authenticator { return newGuard() }), []string{"missing type", "mcpfx_test.config"}},
		"of a store":             {mcpfx.Store(func(*config) *memory.Store { return memory.New() }), []string{"missing type", "mcpfx_test.config"}},
		"nil":                    {mcpfx.Auth(func() transport.Authenticator { return nil }), []string{"mcpfx.Auth at", "auth_test.go:", "nil"}},
		"a nil pointer":          {mcpfx.Auth(func() *guard { return nil }), []string{"nil"}},
		"no store":               {mcpfx.Store(func() framework.Store { return nil }), []string{"mcpfx.Store at", "auth_test.go:", "nil"}},
		"in a module of its own": {fx.Module("m", mcpfx.Auth(func(*config) *guard { return newGuard() })), []string{"missing type", "mcpfx_test.config"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			app := fx.New(mcpfx.Module("shop", "1.0.0", mcpfx.Stdio()), mcpfx.Provide(newBilling), tt.opt, fx.NopLogger)
			refused(t, app.Err(), tt.want...)
		})
	}
}

// config is not in any graph.
type config struct{}

// TestPortFaults: a constructor of something else, and an option without a Module, are errors.
func TestPortFaults(t *testing.T) {
	t.Parallel()
	module := mcpfx.Module("shop", "1.0.0", mcpfx.Stdio())
	refused(t, fx.New(module, mcpfx.Auth(newBilling), fx.NopLogger).Err(), "mcpfx.Auth", "transport.Authenticator")
	refused(t, fx.New(module, mcpfx.Store(newGuard), fx.NopLogger).Err(), "mcpfx.Store", "framework.Store")
	refused(t, fx.New(mcpfx.Auth(newGuard), fx.NopLogger).Err(), "mcpfx.Auth at", "auth_test.go:", "mcpfx.Module")
}
