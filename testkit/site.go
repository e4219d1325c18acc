package testkit

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/rehearsal"
)

// site is a server under test, with what makes others like it.
type site struct {
	server *framework.Server
	source func() *framework.App // a fresh app each time; nil: there is one app only
	skew   *atomic.Int64         // added to the server's clock, in nanoseconds
}

// newSite builds and starts a server that ends with the test.
func newSite[A AppSource](t testing.TB, source A, timeout time.Duration) *site {
	t.Helper()
	app, fresh := appOf(t, source)
	st := &site{source: fresh, skew: &atomic.Int64{}}
	server, err := app.BuildFor(&rehearsal.Stage{
		Now:     func() time.Time { return time.Now().Add(time.Duration(st.skew.Load())) },
		Differs: differs(t),
	})
	if err != nil {
		t.Fatalf("testkit: the app does not build: %v", err)
		return nil
	}
	st.server = server
	if err := server.Start(t.Context()); err != nil {
		t.Fatalf("testkit: the server does not start: %v", err)
	}
	t.Cleanup(func() { shutdown(t, server, timeout) })
	return st
}

func shutdown(t testing.TB, server *framework.Server, timeout time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), timeout)
	defer cancel()
	if err := server.Shutdown(ctx); err != nil {
		t.Errorf("testkit: the server does not shut down: %v", err)
	}
}

// differs fails the test for a handler that is no function of its answers.
func differs(t testing.TB) func(what string) {
	return func(what string) { t.Errorf("testkit: %s", what) }
}

// appOf is the app, and what makes fresh ones where the source can.
func appOf[A AppSource](t testing.TB, source A) (app *framework.App, fresh func() *framework.App) {
	switch source := any(source).(type) {
	case func() *framework.App:
		fresh = source
	case func(testing.TB) *framework.App:
		fresh = func() *framework.App { return source(t) }
	case *framework.App:
		return source, nil
	}
	return fresh(), fresh
}
