package testkit

import (
	"context"
	"slices"
	"testing"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/transport"
)

// AppSource is an app, or a function that makes a fresh one for each subtest.
type AppSource interface {
	*framework.App | func() *framework.App | func(testing.TB) *framework.App
}

// Session is one client.
type Session struct {
	t      testing.TB
	ctx    context.Context //nolint:containedctx // of the test
	config config
	server *framework.Server
	client *client.Client
	record record
	script script
}

// New opens an in-memory session at the newest revision. The server is built and
// started for it; the session and the server end with the test.
func New[A AppSource](t testing.TB, app A, opts ...Option) *Session {
	t.Helper()
	server, err := appOf(t, app).Build()
	if err != nil {
		t.Fatalf("testkit: the app does not build: %v", err)
	}
	if err := server.Start(t.Context()); err != nil {
		t.Fatalf("testkit: the server does not start: %v", err)
	}
	c := newConfig(opts)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), c.timeout)
		defer cancel()
		if err := server.Shutdown(ctx); err != nil {
			t.Errorf("testkit: the server does not shut down: %v", err)
		}
	})
	return open(t, server, c)
}

func appOf[A AppSource](t testing.TB, source A) *framework.App {
	switch app := any(source).(type) {
	case func() *framework.App:
		return app()
	case func(testing.TB) *framework.App:
		return app(t)
	case *framework.App:
		return app
	}
	return nil
}

// open connects one client.
func open(t testing.TB, server *framework.Server, c config) *Session {
	t.Helper()
	if name := c.unknown(); name != "" {
		t.Fatalf("testkit: Without an unknown capability: %s", name)
	}
	if c.dialect == nil {
		t.Fatalf("testkit: At needs a published revision")
	}
	s := &Session{t: t, ctx: t.Context(), config: c, server: server}
	if c.principal != nil {
		s.ctx = transport.WithPrincipal(s.ctx, c.principal)
	}
	s.record.changed = make(chan struct{})
	ctx, cancel := s.bounded()
	defer cancel()
	connected, err := client.Connect(ctx, client.InMemory(server), s.clientOptions()...)
	if err != nil {
		t.Fatalf("testkit: connecting at %s: %v", c.dialect, err)
	}
	s.client = connected
	t.Cleanup(func() {
		if err := connected.Close(); err != nil {
			t.Errorf("testkit: closing the session: %v", err)
		}
	})
	s.listen(ctx)
	return s
}

func (s *Session) clientOptions() []client.Option {
	opts := []client.Option{
		client.Name("testkit", "1"),
		client.Revisions(s.config.dialect.Revision()),
		client.OnNotification(s.notified),
	}
	if s.config.has("elicitation") {
		opts = append(opts, client.OnElicit(s.elicit))
	}
	if s.config.has("sampling") {
		opts = append(opts, client.OnSample(s.sample))
	}
	if s.config.has("roots") {
		opts = append(opts, client.OnRoots(s.listRoots))
	}
	return opts
}

// listen asks for changes of lists where a revision announces them on request
// only, so that tests see them on all revisions.
func (s *Session) listen(ctx context.Context) {
	s.t.Helper()
	can := s.client.Capabilities()
	filter := protocol.SubscriptionFilter{
		Tools: can.ToolsListChanged, Prompts: can.PromptsListChanged, Resources: can.ResourcesChanged,
	}
	if !s.config.dialect.ListenStream() || !filter.Tools && !filter.Prompts && !filter.Resources {
		return
	}
	if err := s.watch(ctx, filter); err != nil {
		s.t.Fatalf("testkit: listening for changes: %v", err)
	}
}

// watch listens until the session is closed; ctx bounds the acknowledgement only.
func (s *Session) watch(ctx context.Context, filter protocol.SubscriptionFilter) error {
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	release := context.AfterFunc(ctx, cancel)
	_, err := s.client.Listen(life, filter)
	release()
	if err != nil {
		cancel()
		return err
	}
	s.t.Cleanup(cancel)
	return nil
}

// bounded is the context of one call.
func (s *Session) bounded() (context.Context, context.CancelFunc) {
	return context.WithTimeout(s.ctx, s.config.timeout)
}

// BothEras runs body at the newest revision with a handshake (2025-11-25) and at
// the newest without (2026-07-28), in memory, each on an app of its own where app
// is a function.
func BothEras[A AppSource](t *testing.T, app A, body func(*testing.T, *Session), opts ...Option) {
	t.Helper()
	all := dialect.All()
	run(t, app, body, opts, []*dialect.Dialect{dialect.Handshake(""), all[len(all)-1]})
}

// AllRevisions runs body at every revision in memory, each on an app of its own
// where app is a function.
func AllRevisions[A AppSource](t *testing.T, app A, body func(*testing.T, *Session), opts ...Option) {
	t.Helper()
	run(t, app, body, opts, dialect.All())
}

func run[A AppSource](t *testing.T, app A, body func(*testing.T, *Session), opts []Option, dialects []*dialect.Dialect) {
	t.Helper()
	for _, d := range dialects {
		t.Run(d.String(), func(t *testing.T) {
			body(t, New(t, app, append(slices.Clip(opts), At(d.Revision()))...))
		})
	}
}

// As opens a second session as another user, on the same server and otherwise
// with the same options.
func (s *Session) As(subject string, scopes ...string) *Session {
	s.t.Helper()
	c := s.config
	c.principal = &framework.Principal{Subject: subject, Scopes: scopes}
	return open(s.t, s.server, c)
}

// Server under test.
func (s *Session) Server() *framework.Server { return s.server }

// Context of the test, with the session's principal.
func (s *Session) Context() context.Context { return s.ctx }
