package testkit_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/testkit"
)

// TestJournal: what the app logs is in the log of a test that fails, and nowhere else.
func TestJournal(t *testing.T) {
	t.Parallel()
	broken := func(opts ...framework.AppOption) *framework.App {
		return framework.New("kit", "1", opts...).Add(framework.Tool("t", func(context.Context, struct{}) (string, error) {
			return "", errors.New("no database")
		}))
	}
	failed := ended(t, func(t testing.TB) { testkit.New(t, broken()).CallRaw("t", "").OK() })
	if all := strings.Join(failed.logged, "\n"); !strings.Contains(all, "the app has logged") || !strings.Contains(all, "no database") {
		t.Errorf("%q", failed.logged)
	}
	passed := ended(t, func(t testing.TB) { testkit.New(t, broken()).CallRaw("t", "").IsError() })
	if passed.Failed() || len(passed.logged) > 0 {
		t.Errorf("%q, %q", passed.failed, passed.logged)
	}
	core, own := observer.New(zap.InfoLevel)
	testkit.New(t, broken(framework.WithLogger(zap.New(core)))).CallRaw("t", "").IsError()
	if own.Len() != 1 {
		t.Errorf("the app's own logger has %d lines", own.Len())
	}
}

// TestBuiltOnce: an app is built as often as it is served, and no more.
func TestBuiltOnce(t *testing.T) {
	t.Parallel()
	wrapped := 0
	app := newHandles().app().Use(framework.Middleware{Name: "count", Wrap: func(next framework.Handler) framework.Handler {
		wrapped++
		return next
	}})
	if _, err := app.Build(); err != nil {
		t.Fatal(err)
	}
	once := wrapped
	testkit.New(t, app)
	if wrapped != 2*once {
		t.Errorf("built %d times", wrapped/once-1)
	}
}
