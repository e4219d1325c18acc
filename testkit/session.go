package testkit

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
	"github.com/kagami-mcp/kagami/transport"
)

// AppSource is an app, or a function that makes a fresh app for each subtest.
type AppSource interface {
	*framework.App | func() *framework.App | func(testing.TB) *framework.App
}

// Session is one client.
type Session struct {
	t          testing.TB
	ctx        context.Context //nolint:containedctx // of the test
	config     config
	testServer *testServer
	client     *client.Client
	wire       *tap
	record     notices
	script     script
	chaos      atomic.Pointer[chaos] // nil: calls are made as they are
}

// New opens an in-memory session at the newest revision. The server is built and started for it;
// the session and the server end with the test.
//
// If the handler of a call asks, it is run once more with the same answers, as in the next round of
// 2026-07-28. A question or an effect that differs fails the test, with the difference. Functions
// of Once do not run again.
func New[A AppSource](t testing.TB, app A, opts ...Option) *Session {
	t.Helper()
	if slices.Contains(opts, nil) {
		t.Fatalf("testkit: an Option is nil: remove it")
	}
	c := newConfig(opts)
	return open(t, newTestServer(t, app, c), c)
}

// open connects one client.
func open(t testing.TB, st *testServer, c config) *Session {
	t.Helper()
	if name := c.unknown(); name != "" {
		t.Fatalf("testkit: Without an unknown capability: %s", name)
	}
	if c.dialect == nil {
		t.Fatalf("testkit: At needs a published revision")
	}
	s := &Session{t: t, ctx: t.Context(), config: c, testServer: st, wire: &tap{&exchange{speaker: &st.speaker}, c.faults.fresh(), st.owned}}
	if c.principal != nil {
		s.ctx = transport.WithPrincipal(s.ctx, expanded(st.server, c.principal))
	}
	s.record.changed = make(chan struct{})
	ctx, cancel := s.bounded()
	defer cancel()
	connected, hangUp, err := s.connect(ctx, st.server)
	if err != nil {
		t.Fatalf("testkit: connecting %s: %v", c.where(), err)
		return nil
	}
	s.client = connected
	t.Cleanup(func() {
		t.Helper()
		if err := hangUp(); err != nil {
			t.Errorf("testkit: closing the session: %v", err)
		}
		s.unmet()
		if t.Failed() {
			t.Logf("testkit: the exchange %s:\n%s", c.where(), s.wire.exchange.shown(c.verbose))
		}
	})
	s.listen(ctx)
	return s
}

// expanded returns p with the scopes that its scopes imply, if the app's authenticator declares that
// (auth.Implies).
func expanded(server *framework.Server, p *framework.Principal) *framework.Principal {
	if e, ok := server.Services().Authenticator.(interface {
		Expand(p *transport.Principal) *transport.Principal
	}); ok {
		return e.Expand(p)
	}
	return p
}

// connect opens one more connection of the session, to any server.
func (s *Session) connect(ctx context.Context, server *framework.Server) (*client.Client, func() error, error) {
	var l *line
	var c *client.Client
	err := s.testServer.labeled(s.t, func() (err error) {
		if l, err = s.config.carrier.open(s.ctx, server, s.wire); err == nil {
			c, err = client.Connect(ctx, l.target, s.clientOptions()...)
		}
		return err
	})
	switch {
	case l == nil:
		return nil, nil, err
	case err != nil:
		return nil, nil, errors.Join(err, l.hangUp())
	}
	return c, func() error { return errors.Join(c.Close(), l.hangUp()) }, nil
}

func (s *Session) clientOptions() []client.Option {
	opts := []client.Option{
		client.Name("testkit", "1"),
		client.Revisions(s.config.dialect.Revision()),
		client.OnNotification(s.notified),
	}
	if s.config.has("elicitation") {
		opts = append(opts, client.OnElicit(s.elicit), client.UncheckedForms()) // the script checks them
	}
	if s.config.has("sampling") {
		opts = append(opts, client.OnSample(s.sample))
	}
	if s.config.has("roots") {
		opts = append(opts, client.OnRoots(s.listRoots))
	}
	if !s.config.has("tasks") {
		opts = append(opts, client.NoTasks())
	}
	return opts
}

// listen subscribes to changes of lists on revisions that announce them only on request, so that
// tests see them on all revisions.
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

// watch listens until the session is closed. ctx bounds only the wait for the acknowledgement.
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

// bounded returns the context for one call.
func (s *Session) bounded() (context.Context, context.CancelFunc) {
	return context.WithTimeout(s.ctx, s.config.timeout)
}

// As opens a second session as another user, on the same server and otherwise
// with the same options.
func (s *Session) As(subject string, scopes ...string) *Session {
	s.t.Helper()
	c := s.config
	c.principal = &framework.Principal{Subject: subject, Scopes: scopes}
	return open(s.t, s.testServer, c)
}

// Revision returns the revision of the session.
func (s *Session) Revision() protocol.Revision { return s.config.dialect.Revision() }

// Server returns the server under test.
func (s *Session) Server() *framework.Server { return s.testServer.server }

// Context returns the context of the test, with the session's principal.
func (s *Session) Context() context.Context { return s.ctx }
