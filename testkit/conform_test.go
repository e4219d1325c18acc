package testkit_test

import (
	"context"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/middleware"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/testkit"
)

func empty() *framework.App { return framework.New("empty", "1") }

func TestConformance(t *testing.T) {
	t.Parallel()
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

// TestConformanceOfTasks checks a tool that always runs as a task. It cannot be called without a
// task, so the checks of its arguments do not apply.
func TestConformanceOfTasks(t *testing.T) {
	t.Parallel()
	type in struct {
		Film string `json:"film"`
	}
	app := framework.New("studio", "1").Add(framework.Tool("render", func(context.Context, in) (string, error) {
		t.Error("the handler ran")
		return "", nil
	}, framework.Task(framework.TaskRequired)))
	for _, rev := range protocol.Revisions() {
		t.Run(rev.String(), func(t *testing.T) {
			t.Parallel()
			testkit.Conformance(t, app, rev.String())
		})
	}
}

// TestConformanceOfAStrictApp checks that the tools which Conformance adds have what WithStrict
// requires.
func TestConformanceOfAStrictApp(t *testing.T) {
	t.Parallel()
	app := framework.New("strict", "1", framework.WithStrict()).Add(framework.Tool("tea", func(context.Context, struct{}) (string, error) {
		return "", nil
	}, framework.Describe("Makes tea.")))
	for _, rev := range protocol.Revisions() {
		t.Run(rev.String(), func(t *testing.T) {
			t.Parallel()
			testkit.Conformance(t, app, rev.String())
		})
	}
}

// Kagami keeps all rules, those that no app can break included.
func TestAllRules(t *testing.T) {
	t.Parallel()
	for _, rev := range protocol.Revisions() {
		t.Run(rev.String(), func(t *testing.T) {
			t.Parallel()
			testkit.AllRules(t, newHandles().app(), rev.String())
		})
		t.Run(rev.String()+"/empty", func(t *testing.T) {
			t.Parallel()
			testkit.AllRules(t, empty, rev.String())
		})
	}
}

// What an app allows one caller is not used up by all rules together.
func TestAllRulesOfALimitedApp(t *testing.T) {
	t.Parallel()
	app := func() *framework.App {
		return newHandles().app().Use(middleware.RateLimit(middleware.Rate{Events: 30, Per: time.Hour}))
	}
	for _, rev := range protocol.Revisions() {
		t.Run(rev.String(), func(t *testing.T) {
			t.Parallel()
			testkit.AllRules(t, app, rev.String())
		})
	}
}

// The tools that Conformance adds are removed after each rule.
func TestConformanceLeavesNothing(t *testing.T) {
	t.Parallel()
	if n := testkit.Left(t, newHandles().app(), modern); n != 0 {
		t.Errorf("%d components are left", n)
	}
}
