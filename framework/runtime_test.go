package framework_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
)

func TestPaging(t *testing.T) {
	t.Parallel()
	app := quiet(framework.WithPageSize(2))
	for i := range 5 {
		app.Add(framework.Tool(fmt.Sprintf("t%d", i), none), framework.Resource(fmt.Sprintf("r://%d", i), text))
	}
	s, restarted := build(t, app), build(t, app)
	allRevisions(t, func(t *testing.T, rev protocol.Revision) {
		p := dial(t, s, rev)
		if got := fmt.Sprint(pages(p, "tools/list", "tools", "name")); got != "[[t0 t1] [t2 t3] [t4]]" {
			t.Errorf("pages = %s", got)
		}
		if got := fmt.Sprint(pages(p, "resources/list", "resources", "uri")); got != "[[r://0 r://1] [r://2 r://3] [r://4]]" {
			t.Errorf("pages = %s", got)
		}
		next, _ := p.call("tools/list", "").field("nextCursor").(string)
		if got := dial(t, restarted, rev).call("tools/list", fmt.Sprintf(`{"cursor":%q}`, next)).names("tools", "name"); fmt.Sprint(got) != "[t2 t3]" {
			t.Errorf("after a restart: %v", got)
		}
		for _, bad := range []string{"", "x", next + "A", next[1:], "AAAA" + next} {
			p.call("tools/list", fmt.Sprintf(`{"cursor":%q}`, bad)).code(protocol.CodeInvalidParams).mentions("invalid cursor")
		}
		p.call("resources/list", fmt.Sprintf(`{"cursor":%q}`, next)).code(protocol.CodeInvalidParams)
	})
}

func TestCursorSurvivesChanges(t *testing.T) {
	t.Parallel()
	tools := map[string]framework.Component{}
	app := quiet(framework.WithPageSize(2))
	for i := range 6 {
		name := fmt.Sprintf("t%d", i)
		tools[name] = framework.Tool(name, none)
		app.Add(tools[name])
	}
	for name, tt := range map[string]struct {
		change func(s *framework.Server) error
		want   string
	}{
		"last seen removed": {func(s *framework.Server) error { s.Remove(tools["t1"]); return nil }, "[t2 t3]"},
		"first removed":     {func(s *framework.Server) error { s.RemoveTools("t0"); return nil }, "[t2 t3]"},
		"next removed":      {func(s *framework.Server) error { s.RemoveTools("t2"); return nil }, "[t3 t4]"},
		"added":             {func(s *framework.Server) error { return s.Add(framework.Tool("a", none)) }, "[t2 t3]"},
		"last seen replaced": {func(s *framework.Server) error {
			return s.Replace([]framework.Component{tools["t1"]}, []framework.Component{framework.Tool("t1", search)})
		}, "[t2 t3]"},
		"next renamed": {func(s *framework.Server) error {
			return s.Replace([]framework.Component{tools["t2"]}, []framework.Component{framework.Tool("z", search)})
		}, "[t3 t4]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := build(t, app)
			p := dial(t, s, protocol.Rev20260728)
			next, _ := p.call("tools/list", "").field("nextCursor").(string)
			if err := tt.change(s); err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprint(p.call("tools/list", fmt.Sprintf(`{"cursor":%q}`, next)).names("tools", "name")); got != tt.want {
				t.Errorf("the second page is %s, want %s", got, tt.want)
			}
		})
	}
}

func TestChangesAtRunTime(t *testing.T) {
	t.Parallel()
	first := framework.Tool("first", none)
	s := build(t, quiet().Add(first, framework.Prompt("p", prompt), framework.Resource("a://b", text), framework.ResourceTemplate("c://{x}", func(context.Context, struct{ X string }) (string, error) { return "", nil })))
	p := dial(t, s, protocol.Rev20251125)
	tools := func() string { return fmt.Sprint(p.call("tools/list", "").names("tools", "name")) }

	second := framework.Group("g", framework.Tool("second", none))
	if err := s.Add(second); err != nil {
		t.Fatal(err)
	}
	if got := tools(); got != "[first g_second]" {
		t.Errorf("after Add: %s", got)
	}
	badHeader := framework.Tool("h", none, framework.InputSchema(`{"type":"object","properties":{"n":{"type":"number","x-mcp-header":"N"}}}`))
	for what, c := range map[string]framework.Component{"name": framework.Tool("first", none), "handle": first, "fault": framework.Tool("a b", none), "header": badHeader} {
		var report *framework.BuildError
		if err := s.Add(framework.Tool("new", none), c); !errors.As(err, &report) || !strings.Contains(err.Error(), "Nothing was added.") {
			t.Errorf("Add of a taken %s = %v", what, err)
		}
	}
	if got := tools(); got != "[first g_second]" {
		t.Errorf("a refused Add left %s", got)
	}
	third := framework.Tool("third", none)
	if err := s.Replace([]framework.Component{first, framework.Tool("unknown", none)}, []framework.Component{framework.Tool("first", search), third}); err != nil {
		t.Fatal(err)
	}
	if got := tools(); got != "[first g_second third]" {
		t.Errorf("after Replace: %s", got)
	}
	p.tool("first", `{"query":"go"}`).mentions("go")
	s.Remove(second, third, nil)
	if got := tools(); got != "[first]" {
		t.Errorf("after Remove: %s", got)
	}
	if n := s.RemoveTools("first", "first", "unknown"); n != 1 {
		t.Errorf("RemoveTools = %d", n)
	}
	if n := s.RemovePrompts("p"); n != 1 {
		t.Errorf("RemovePrompts = %d", n)
	}
	if n := s.RemoveResources("a://b", "c://{x}", "d://e"); n != 2 {
		t.Errorf("RemoveResources = %d", n)
	}
	if err := s.Add(first); err != nil {
		t.Errorf("adding again what was removed: %v", err)
	}
}

func TestAddOrReplace(t *testing.T) {
	t.Parallel()
	says := func(name, text string) framework.Component {
		return framework.Tool(name, func(context.Context, struct{}) (string, error) { return text, nil }, framework.Describe(text))
	}
	first, note := says("first", "old"), framework.Resource("a://b", text)
	s := build(t, quiet().Add(first, says("last", "old"), framework.Group("g", says("one", "old")), note))
	p := dial(t, s, protocol.Rev20260728)
	if err := s.AddOrReplace(says("first", "new"), says("new", "new"), framework.Group("g", says("one", "new")), framework.Resource("a://b", text)); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(p.call("tools/list", "").names("tools", "name")); got != "[first last g_one new]" {
		t.Errorf("after AddOrReplace: %s", got)
	}
	for name, want := range map[string]string{"first": "new", "last": "old", "g_one": "new"} {
		p.tool(name, `{}`).mentions(want)
	}
	for range 2 { // in its own place, too
		if err := s.AddOrReplace(first); err != nil {
			t.Error(err)
		}
	}
	p.tool("first", `{}`).mentions("old")
	for what, components := range map[string][]framework.Component{
		"twice": {says("last", "a"), says("last", "b")}, "a fault": {says("last", "a"), says("a b", "b")},
		"a handle under another name": {framework.Group("h", first)},
	} {
		var report *framework.BuildError
		if err := s.AddOrReplace(components...); !errors.As(err, &report) || !strings.Contains(err.Error(), "Nothing was added or replaced.") {
			t.Errorf("AddOrReplace of %s = %v", what, err)
		}
	}
	p.tool("last", `{}`).mentions("old")
}

func TestListChanged(t *testing.T) {
	t.Parallel()
	s := build(t, quiet().Add(framework.Tool("t", none), framework.Prompt("p", prompt), framework.Resource("a://b", text)))
	p := dial(t, s, protocol.Rev20251125)
	changed := make(chan string, 16)
	waitFor := func(method string) {
		t.Helper()
		if got := <-changed; got != method {
			t.Errorf("notified %s, want %s", got, method)
		}
	}
	p.watch(changed)
	if err := s.Add(framework.Tool("u", none)); err != nil {
		t.Fatal(err)
	}
	waitFor(protocol.NotificationToolsChanged)
	s.RemovePrompts("p")
	waitFor(protocol.NotificationPromptsChanged)
	if err := s.Add(framework.ResourceTemplate("c://{x}", func(context.Context, struct{ X string }) (string, error) { return "", nil })); err != nil {
		t.Fatal(err)
	}
	waitFor(protocol.NotificationResourcesChanged)
	p.call("resources/subscribe", `{"uri":"a://b"}`).ok()
	s.ResourceUpdated(t.Context(), "a://b")
	waitFor(protocol.NotificationResourceUpdated)
}

func TestConcurrentChanges(t *testing.T) {
	t.Parallel()
	s := build(t, quiet().Add(framework.Tool("fixed", none)))
	p := dial(t, s, protocol.Rev20260728)
	var work sync.WaitGroup
	for i := range 8 {
		work.Go(func() {
			tool := framework.Tool(fmt.Sprintf("t%d", i), none)
			for range 20 {
				if err := s.Add(tool); err != nil {
					t.Error(err)
				}
				s.Remove(tool)
			}
			if err := s.Add(tool); err != nil {
				t.Error(err)
			}
		})
	}
	for range 20 {
		if got := p.tool("fixed", `{}`).text(); got != "ok" {
			t.Errorf("got %q", got)
		}
	}
	work.Wait()
	got := p.call("tools/list", "").names("tools", "name")
	slices.Sort(got)
	if fmt.Sprint(got) != "[fixed t0 t1 t2 t3 t4 t5 t6 t7]" {
		t.Errorf("left %v", got)
	}
}

func TestZeroServer(t *testing.T) {
	t.Parallel()
	if framework.ServerFrom(t.Context()) == nil {
		t.Fatal("nil")
	}
	for name, s := range map[string]*framework.Server{"zero": framework.ServerFrom(t.Context()), "nil": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			neverBuilt(t, s)
		})
	}
}

func neverBuilt(t *testing.T, s *framework.Server) {
	t.Helper()
	s.Logger().Info("to nobody")
	if _, found := s.NameOf(framework.Tool("t", none)); found || s.Inspect() != nil || s.Claims() != nil {
		t.Error("a server that was not built has components or a store")
	}
	s.Remove(framework.Tool("t", none))
	s.ResourceUpdated(t.Context(), "a://b")
	if n := s.RemoveTools("t") + s.RemovePrompts("t") + s.RemoveResources("t"); n != 0 {
		t.Errorf("removed %d", n)
	}
	_, acceptErr := s.Accept(t.Context(), []byte(`{}`))
	_, workerErr := s.Worker()
	for name, err := range map[string]error{
		"Worker": workerErr,
		"Add":    s.Add(framework.Tool("t", none)), "Replace": s.Replace(nil, nil), "AddOrReplace": s.AddOrReplace(), "Serve": s.Serve(t.Context()), "Start": s.Start(t.Context()), "Accept": acceptErr,
	} {
		if err == nil {
			t.Errorf("%s of a server that was not built succeeds", name)
		}
	}
	if err := errors.Join(s.Shutdown(t.Context()), s.ElicitationComplete(t.Context(), "id")); err != nil {
		t.Error(err)
	}
	if o := s.Services(); o.Authenticator != nil || o.Events != nil || o.Closing != nil || o.Warn != nil {
		t.Error("a server that was not built has something for carriers")
	}
}

// TestLastOneRemoved checks that capabilities stay declared, because a client that is notified of a
// change requests the list.
func TestLastOneRemoved(t *testing.T) {
	t.Parallel()
	tool, prompt := framework.Tool("t", none), framework.Prompt("p", func(context.Context, struct{}) (framework.Messages, error) { return nil, nil })
	resource := framework.Resource("r://r", func(context.Context) (string, error) { return "", nil })
	s := build(t, quiet().Add(tool, prompt, resource))
	p := dial(t, s, protocol.Rev20251125)
	s.Remove(tool, prompt, resource)
	for _, list := range []string{"tools", "prompts", "resources"} {
		if got := string(p.call(list+"/list", `{}`).ok().Result); !strings.Contains(got, `"`+list+`":[]`) {
			t.Errorf("%s: %s", list, got)
		}
	}
}

// TestListChangedOnlyAfterAVisibleChange checks that clients are not notified if lists show the replacement
// like the component before.
func TestListChangedOnlyAfterAVisibleChange(t *testing.T) {
	t.Parallel()
	says := func(description, answer string, opts ...framework.Option) framework.Component {
		return framework.Tool("t", func(context.Context, struct{}) (string, error) { return answer, nil }, append(opts, framework.Describe(description))...)
	}
	synctest.Test(t, func(t *testing.T) {
		s := build(t, quiet().Add(says("d", "one")))
		p := dial(t, s, protocol.Rev20251125)
		for _, tt := range []struct {
			component framework.Component
			heard     int
		}{{says("d", "two"), 0}, {says("e", "three"), 1}, {says("e", "four", framework.Hidden()), 2}, {says("e", "five", framework.Hidden()), 2}, {framework.Resource("a://b", text), 2}} {
			if err := s.AddOrReplace(tt.component); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if got := len(p.notifications("notifications/tools/list_changed")); got != tt.heard {
				t.Errorf("%d notifications, want %d", got, tt.heard)
			}
		}
		p.tool("t", `{}`).mentions("five")
	})
}

// TestWarningsAtRunTime checks that a component added to a running server causes the same warnings
// as a component of the app.
func TestWarningsAtRunTime(t *testing.T) {
	t.Parallel()
	observed, logs := observer.New(zap.WarnLevel)
	s := build(t, framework.New("test", "1", framework.WithLogger(zap.New(observed))).Add(framework.Tool("fine", none, framework.Describe("d"))))
	if err := s.Add(framework.Tool("bare", none), framework.Tool("also", none, framework.Describe("d"))); err != nil {
		t.Fatal(err)
	}
	if err := s.AddOrReplace(framework.Tool("bare", none)); err != nil { // as a mirror does each minute
		t.Fatal(err)
	}
	if all := logs.All(); len(all) != 1 || !strings.HasPrefix(all[0].Message, `tool "bare": no description`) {
		t.Errorf("the log has %v", all)
	}
}

// TestLoggerMayCallTheServer: a logger that uses the server does not wait for the function that logs.
func TestLoggerMayCallTheServer(t *testing.T) {
	t.Parallel()
	var s *framework.Server
	var calls int
	core, _ := observer.New(zap.WarnLevel)
	logger := zap.New(core, zap.Hooks(func(zapcore.Entry) error {
		if calls++; calls < 3 {
			_ = connect(t.Context(), s)
			s.RemoveTools("bare")
		}
		return nil
	}))
	s = build(t, framework.New("test", "1", framework.WithLogger(logger)).OnStart(func(context.Context, *framework.Server) error { return errors.New("no database") }))
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = connect(t.Context(), s)
		_ = s.Add(framework.Tool("bare", none))
	}()
	select {
	case <-done:
		if calls != 2 {
			t.Errorf("%d entries, want one of the start and one of the tool", calls)
		}
	case <-time.After(10 * time.Second):
		t.Error("the server waits for its logger")
	}
}
