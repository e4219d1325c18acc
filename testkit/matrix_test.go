package testkit_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/testkit"
)

// TestMatrix: each combination has a session and an app of its own, and all of them
// together are quick enough to be the usual way of testing.
func TestMatrix(t *testing.T) {
	t.Parallel()
	apps, start := 0, time.Now()
	var names []string
	testkit.Matrix(t, func() *framework.App { apps++; return newHandles().app() }, func(t *testing.T, s *testkit.Session) {
		names = append(names, t.Name()[len("TestMatrix/"):])
		s.CallRaw("whoami", "").OK().Mentions("ann")
		s.As("bob").CallRaw("whoami", "").OK().Mentions("bob")
		s.CallRaw("wait", `{"for":"1s"}`).OK()
		if p := s.Progress(); len(p) != 5 {
			t.Errorf("progress %+v", p)
		}
		s.Subscribe("tea://menu")
		s.Server().ResourceUpdated(s.Context(), "tea://menu")
		s.AwaitNotification(protocol.NotificationResourceUpdated)
	}, testkit.User("ann"))
	if len(names) < 20 || apps != len(names) {
		t.Errorf("%d apps for %q", apps, names)
	}
	for _, want := range []string{"2024-11-05/inmem", "2025-03-26/stdio", "2025-06-18/fiber", "2025-11-25/fiber-socket", "2026-07-28/nethttp"} {
		if !slices.Contains(names, want) {
			t.Errorf("no %s", want)
		}
	}
	t.Logf("%d combinations in %v", len(names), time.Since(start))
}

func TestAllCarriers(t *testing.T) {
	t.Parallel()
	var names []string
	testkit.AllCarriers(t, newHandles().app(), func(t *testing.T, s *testkit.Session) {
		names = append(names, t.Name()[strings.LastIndexByte(t.Name(), '/')+1:])
		s.CallRaw("whoami", "").OK().Mentions("nobody")
		if testkit.IsHandshake(s) {
			t.Errorf("not at %s", dialect.All()[len(dialect.All())-1])
		}
	})
	if !slices.Equal(names, []string{"inmem", "stdio", "fiber", "fiber-socket", "nethttp"}) {
		t.Errorf("%q", names)
	}
	testkit.AllCarriers(t, newHandles().app(), func(t *testing.T, s *testkit.Session) {
		t.Helper()
		if got := testkit.Revision(s); got != protocol.Rev20250618.String() {
			t.Errorf("at %s", got)
		}
	}, testkit.At(protocol.Rev20250618))
}
