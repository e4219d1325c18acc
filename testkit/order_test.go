package testkit_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/testkit"
)

// growing adds a tool to itself, and says how it goes.
func growing() *framework.App {
	return framework.New("kit", "1").Add(framework.Tool("grow", func(ctx context.Context, _ struct{}) (string, error) {
		framework.Progress(ctx, 1, 2, "half")
		framework.Notify(ctx, protocol.LevelInfo, "planted")
		framework.Progress(ctx, 2, 2, "whole")
		return "grown", framework.ServerFrom(ctx).Add(framework.Tool("leaf", func(context.Context, struct{}) (string, error) { return "", nil }))
	}))
}

func TestOrder(t *testing.T) {
	t.Parallel()
	testkit.Matrix(t, growing, func(_ *testing.T, s *testkit.Session) {
		s.LogLevel("info")
		s.CallRaw("grow", "").OK()
		s.InOrder(`notifications/progress "progress":1`, "notifications/message planted", `notifications/progress "progress":2`)
		s.InOrder("notifications/progress", "notifications/progress")
		s.Eventually("the leaf is there", func() bool { return len(s.Tools()) == 2 })
		s.AwaitNotification(protocol.NotificationToolsChanged)
	})
}

func TestOrderFails(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]mustFail{
		"InOrder": {func(t testing.TB) {
			s := testkit.New(t, growing())
			s.CallRaw("grow", "").OK()
			s.InOrder("notifications/progress whole", "notifications/progress half")
		}, []string{`no "notifications/progress half" after "notifications/progress whole"`, `notifications/progress {`, `sent: tools/call {"name":"grow"}`}},
		"InOrder of words that are in many": {func(t testing.TB) {
			s := testkit.New(t, framework.New("kit", "1").Add(framework.Tool("walk", func(ctx context.Context, _ struct{}) (string, error) {
				framework.Progress(ctx, 1, 2, "step 1")
				framework.Progress(ctx, 2, 2, "step 2")
				return "", nil
			})))
			s.CallRaw("walk", "").OK()
			s.InOrder("notifications/progress step 2", "notifications/progress step 1")
		}, []string{`no "notifications/progress step 1" after "notifications/progress step 2"`}},
		"InOrder of nothing": {func(t testing.TB) {
			testkit.New(t, growing()).InOrder("notifications/progress")
		}, []string{`no "notifications/progress" at all; seen so far, in order: none`}},
		"Eventually": {func(t testing.TB) {
			testkit.New(t, growing(), testkit.Timeout(time.Second)).Eventually("it rains", func() bool { return false })
		}, []string{`Eventually("it rains"): not true within 1s`, "none"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, tt.once)
		})
	}
}
