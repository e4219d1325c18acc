package framework_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/framework"
)

func steps(chain []framework.Step) string {
	var all []string
	for _, s := range chain {
		text := s.Origin + ":" + s.Phase.String() + ":" + s.Name
		if s.PerCall {
			text += ":once"
		}
		all = append(all, text)
	}
	return strings.Join(all, " ")
}

// What Inspect says of the chain is what runs (TestChainOrder), the engine's own first.
func TestInspect(t *testing.T) {
	t.Parallel()
	r := &recorder{}
	onlyTools := framework.OnToolCall("tools", nil)
	onlyTools.Wrap = r.step("", 0).Wrap
	tool := framework.Tool("t", none, framework.With(r.step("own", framework.PhaseApp), r.step("own-auth", framework.PhaseAuth)),
		framework.Timeout(time.Second), framework.Scopes("a"))
	group := framework.Group("g", tool, framework.Resource("a://b", text)).
		With(framework.With(r.step("group", framework.PhaseApp)), framework.Scopes("b"))
	app := quiet().Use(
		r.step("app", framework.PhaseApp), onlyTools, framework.OncePerCall(r.step("limit", framework.PhaseLimit)),
		r.step("cache", framework.PhaseCache), r.step("validate", framework.PhaseValidate), r.step("trace", framework.PhaseTrace),
	).Add(group, framework.Method("example.com/m", search), framework.Prompt("p", prompt, framework.Hidden()))
	s := build(t, app)
	got := s.Inspect()
	const lists = "engine:app:recovery engine:app:scopes app:trace:trace app:limit:limit:once app:cache:cache app:validate:validate app:app:app"
	if text := steps(got.Lists); text != lists {
		t.Errorf("lists: %s", text)
	}
	want := []string{
		"tool g_t g [b a] false engine:app:recovery engine:app:scopes engine:app:timeout 1s app:trace:trace component:auth:own-auth " +
			"app:limit:limit:once app:cache:cache app:validate:validate app:app:app app:app:tools group:app:group component:app:own",
		"resource a://b g [b] false " + lists + " group:app:group",
		"method example.com/m  [] false " + lists,
		"prompt p  [] true " + lists,
	}
	if len(got.Components) != len(want) {
		t.Fatalf("%d components", len(got.Components))
	}
	for i, c := range got.Components {
		if text := fmt.Sprint(c.Kind, " ", c.Name, " ", c.Group, " ", c.Scopes, " ", c.Hidden, " ", steps(c.Chain)); text != want[i] {
			t.Errorf("%s\nwant %s", text, want[i])
		}
		if !strings.Contains(c.Where, "_test.go:") || c.Function == "" || !strings.HasPrefix(c.Added, "inspection_test.go:") {
			t.Errorf("%s: %q in %q, added at %q", c.Name, c.Function, c.Where, c.Added)
		}
	}
	if framework.ServerFrom(context.Background()).Inspect() != nil {
		t.Error("a server that was not built has something")
	}
}
