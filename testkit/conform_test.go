package testkit_test

import (
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/middleware"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/testkit"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	empty := func() *framework.App { return framework.New("empty", "1") }
	for _, rev := range protocol.Revisions() {
		t.Run(rev.String(), func(t *testing.T) {
			t.Parallel()
			testkit.Conformance(t, newHandles().app(), rev.String())
		})
		t.Run(rev.String()+"/empty", func(t *testing.T) {
			t.Parallel()
			testkit.Conformance(t, empty, rev.String())
		})
	}
}

// What an app allows one caller is not used up by all rules together.
func TestConformanceOfALimitedApp(t *testing.T) {
	t.Parallel()
	app := func() *framework.App {
		return newHandles().app().Use(middleware.RateLimit(middleware.Rate{Events: 30, Per: time.Hour}))
	}
	for _, rev := range protocol.Revisions() {
		t.Run(rev.String(), func(t *testing.T) {
			t.Parallel()
			testkit.Conformance(t, app, rev.String())
		})
	}
}
