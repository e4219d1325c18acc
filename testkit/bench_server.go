package testkit

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"go.uber.org/zap"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/testhook"
	"github.com/kagami-mcp/kagami/protocol/client"
	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/protocol/engine"
	"github.com/kagami-mcp/kagami/transport"
)

// bare is a server as in production, without the additions of a Session: no handler runs twice, and
// nothing is recorded. The server ends with the test.
type bare struct {
	ctx      context.Context //nolint:containedctx // of the test
	server   *framework.Server
	panicked atomic.Pointer[engine.PanicError] // the latest panic of a handler
	called   atomic.Bool                       // a call has reached the tool
}

// newBare builds and starts a bare server.
func newBare(t testing.TB, app *framework.App) *bare {
	t.Helper()
	b := &bare{ctx: t.Context()}
	b.start(t, app, nil)
	return b
}

// start builds and starts the server. types may be a tool. The server then takes OneOf and
// Validation from the app that the tool was last built in. If types is nil, the app has its own.
func (b *bare) start(t testing.TB, app *framework.App, types framework.Component) {
	t.Helper()
	server, err := app.BuildForTest(&testhook.Hooks{Logger: newJournal(t).logger(), Types: types})
	if err != nil {
		t.Fatalf("testkit: the app does not build: %v", err)
		return
	}
	b.server = server
	b.ctx = transport.WithPrincipal(b.ctx, mayAll(server))
	if err := server.Start(b.ctx); err != nil {
		t.Fatalf("testkit: the server does not start: %v", err)
		return
	}
	t.Cleanup(func() {
		t.Helper()
		if err := shutdown(t, server, defaultTimeout); err != nil {
			t.Errorf("testkit: the server does not shut down: %v", err)
		}
	})
}

// mayAll returns a principal with all scopes that components of the server need.
func mayAll(server *framework.Server) *framework.Principal {
	p := &framework.Principal{Subject: "testkit"}
	for _, c := range server.Inspect().Components {
		p.Scopes = append(p.Scopes, c.Scopes...)
	}
	return p
}

// bareTool starts a server that has only this tool, with the types of the app that the tool was
// last built in.
func bareTool(t testing.TB, tool framework.Component, opts ...framework.AppOption) *bare {
	t.Helper()
	opts = append(opts, framework.WithLogger(zap.NewNop())) // errors are expected here
	b := &bare{ctx: t.Context()}
	b.start(t, framework.New("testkit", "1", opts...).Add(tool).Use(framework.Middleware{Name: "testkit", Wrap: b.watch}), tool)
	return b
}

// watch is middleware that records what clients do not see: panics, and whether the tool was called.
func (b *bare) watch(next framework.Handler) framework.Handler {
	return func(ctx context.Context, call *framework.Call) (*framework.Result, error) {
		b.called.Store(true)
		result, err := next(ctx, call)
		if p, ok := errors.AsType[*engine.PanicError](err); ok {
			b.panicked.Store(p)
		}
		return result, err
	}
}

// connect opens a client that answers no questions of the server. The caller closes it.
func (b *bare) connect(t testing.TB, d *dialect.Dialect) *client.Client {
	t.Helper()
	c, err := client.Connect(b.ctx, client.InMemory(b.server), client.Name("testkit", "1"), client.Revisions(d.Revision()))
	if err != nil {
		t.Fatalf("testkit: connecting at %s: %v", d, err)
	}
	return c
}
