package mcpfx_test

import (
	"context"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/fx"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/mcpfx"
	"github.com/kagami-mcp/kagami/transport/nethttp"
)

// own is an HTTP server of the program's own, which listens as long as the program runs.
func own(l net.Listener, note func(string)) func(fx.Lifecycle) *http.ServeMux {
	return func(lc fx.Lifecycle) *http.ServeMux {
		mux := http.NewServeMux()
		server := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
		var served sync.WaitGroup
		lc.Append(fx.Hook{
			OnStart: func(context.Context) error {
				served.Go(func() { _ = server.Serve(l) })
				return nil
			},
			OnStop: func(ctx context.Context) error {
				note("closed")
				err := server.Shutdown(ctx)
				served.Wait()
				return err
			},
		})
		return mux
	}
}

// The program carries the server itself; its hooks run, and a call in flight is answered
// before the listener is closed.
func TestMounted(t *testing.T) {
	t.Parallel()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var order []string
	note := func(what string) {
		mu.Lock()
		defer mu.Unlock()
		order = append(order, what)
	}
	hook := func(what string) func(context.Context, *framework.Server) error {
		return func(context.Context, *framework.Server) error { note(what); return nil }
	}
	inside, release := make(chan struct{}), make(chan struct{})
	app := fx.New(
		fx.Provide(own(l, note)),
		fx.Invoke(func(mux *http.ServeMux, s *framework.Server) { mux.Handle("/mcp", nethttp.Handler(s)) }),
		mcpfx.Module("shop", "1.0.0", mcpfx.Mounted()),
		mcpfx.Provide(func() slow { return func() { close(inside); <-release; note("answered") } }),
		fx.Decorate(func(app *framework.App) *framework.App {
			return app.OnStart(hook("started")).OnStop(hook("stopped"))
		}),
		fx.NopLogger)
	if err := app.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if mu.Lock(); !slices.Equal(order, []string{"started"}) {
		t.Errorf("after the start: %v", order)
	}
	mu.Unlock()
	stopInFlight(t, app, "http://"+l.Addr().String()+"/mcp", inside, release)
	if !slices.Equal(order, []string{"started", "answered", "stopped", "closed"}) {
		t.Errorf("%v", order)
	}
}
