package framework_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
)

// recorder is middleware that writes down who ran.
type recorder struct {
	mu  sync.Mutex
	ran []string
}

func (r *recorder) step(name string, phase framework.Phase) framework.Middleware {
	return framework.Middleware{Name: name, Phase: phase, Wrap: func(next framework.Handler) framework.Handler {
		return func(ctx context.Context, call *framework.Call) (*framework.Result, error) {
			r.mu.Lock()
			r.ran = append(r.ran, name)
			r.mu.Unlock()
			return next(ctx, call)
		}
	}}
}

func (r *recorder) take() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	defer func() { r.ran = nil }()
	return strings.Join(r.ran, " ")
}

func TestChainOrder(t *testing.T) {
	t.Parallel()
	r := &recorder{}
	tool := framework.Tool("t", none, framework.With(r.step("own", framework.PhaseApp), r.step("own-auth", framework.PhaseAuth)))
	inner := framework.Group("in", tool).With(framework.With(r.step("inner", framework.PhaseApp)))
	outer := framework.Group("out", inner).With(framework.With(r.step("outer", framework.PhaseApp), r.step("outer-trace", framework.PhaseTrace)))
	s := build(t, quiet().Use(
		r.step("app1", framework.PhaseApp), r.step("validate", framework.PhaseValidate), r.step("cache", framework.PhaseCache),
		r.step("limit", framework.PhaseLimit), r.step("auth", framework.PhaseAuth), r.step("trace", framework.PhaseTrace),
	).Use(r.step("app2", framework.PhaseApp)).Add(outer))
	p := dial(t, s, protocol.Rev20260728)
	p.tool("out_in_t", `{}`).ok()
	want := "trace outer-trace auth own-auth limit cache validate app1 app2 outer inner own"
	if got := r.take(); got != want {
		t.Errorf("ran %s\nwant %s", got, want)
	}
	p.call("tools/list", "").ok()
	if got, want := r.take(), "trace auth limit cache validate app1 app2"; got != want {
		t.Errorf("a list ran %s\nwant %s", got, want)
	}
}

func TestCallAndComponent(t *testing.T) {
	t.Parallel()
	var seen []framework.Call
	see := framework.Middleware{Name: "see", Wrap: func(next framework.Handler) framework.Handler {
		return func(ctx context.Context, call *framework.Call) (*framework.Result, error) {
			seen = append(seen, *call)
			return next(ctx, call)
		}
	}}
	s := build(t, quiet().Use(see).Add(framework.Group("g",
		framework.Tool("t", search, framework.ReadOnly(), framework.Meta("k", "v")),
		framework.Prompt("p", func(_ context.Context, in struct {
			A string `json:"a"`
		},
		) (framework.Messages, error) {
			return framework.Messages{framework.User(in.A)}, nil
		}),
		framework.Resource("a://b", text),
		framework.ResourceTemplate("c://{x}", func(_ context.Context, in struct{ X string }) (string, error) { return in.X, nil }),
		framework.Method("example.com/m", search),
	)))
	p := dial(t, s, protocol.Rev20260728)
	p.tool("g_t", `{"query":"go"}`).ok()
	p.call("prompts/get", `{"name":"g_p","arguments":{"a":"x"}}`).ok()
	p.read("a://b").ok()
	p.read("c://7").ok()
	p.call("example.com/m", `{"query":"go"}`).ok()
	var got []string
	ids := map[string]bool{}
	for _, c := range seen {
		ids[c.ID] = true
		got = append(got, fmt.Sprintf("%s %s %s %s %s %s", c.Method, c.Name, c.Arguments, c.Component.Kind, c.Component.Name, c.Component.Group))
	}
	want := []string{
		`tools/call g_t {"query":"go"} tool g_t g`,
		`prompts/get g_p {"a":"x"} prompt g_p g`,
		`resources/read a://b  resource a://b g`,
		`resources/read c://7  template c://{x} g`,
		`example.com/m example.com/m {"query":"go"} method example.com/m g`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("saw\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if len(ids) != len(seen) || ids[""] {
		t.Errorf("the ids of logical calls are not unique: %v", ids)
	}
	if a := seen[0].Component; a.Annotations.ReadOnly == nil || a.Meta["k"] != "v" {
		t.Errorf("component = %+v", a)
	}
}

func TestTypedAdapters(t *testing.T) {
	t.Parallel()
	tool := framework.OnToolCall("tool", func(ctx context.Context, call *framework.Call, next framework.Next[*protocol.CallToolResult]) (*protocol.CallToolResult, error) {
		call.Arguments = json.RawMessage(`{"query":"changed"}`)
		r, err := next(ctx, call)
		if err == nil {
			r.Content = append(r.Content, framework.Text("seen"))
		}
		return r, err
	})
	read := framework.OnRead("read", func(ctx context.Context, call *framework.Call, next framework.Next[*protocol.ReadResourceResult]) (*protocol.ReadResourceResult, error) {
		r, err := next(ctx, call)
		if err == nil {
			r.Contents[0].Text += " seen"
		}
		return r, err
	})
	get := framework.OnPrompt("prompt", func(ctx context.Context, call *framework.Call, next framework.Next[*protocol.GetPromptResult]) (*protocol.GetPromptResult, error) {
		r, err := next(ctx, call)
		if err == nil {
			r.Description = "seen"
		}
		return r, err
	})
	s := build(t, quiet().Use(tool, read, get).Add(
		framework.Tool("t", search), framework.Prompt("p", prompt),
		framework.Resource("a://b", func(context.Context) (string, error) { return "x", nil }),
	))
	bothEras(t, func(t *testing.T, rev protocol.Revision) {
		p := dial(t, s, rev)
		p.tool("t", `{"query":"go"}`).mentions("changed", "seen")
		if got := p.read("a://b").field("contents.0.text"); got != "x seen" {
			t.Errorf("read %v", got)
		}
		if got := p.call("prompts/get", `{"name":"p"}`).field("description"); got != "seen" {
			t.Errorf("description = %v", got)
		}
		if got := p.call("tools/list", "").names("tools", "name"); len(got) != 1 {
			t.Errorf("listed %v", got)
		}
	})
}

func TestMiddlewareAnswersItself(t *testing.T) {
	t.Parallel()
	wrap := func(h framework.Handler) framework.Component {
		return framework.Tool("t", none, framework.With(framework.Middleware{Name: "m", Wrap: func(framework.Handler) framework.Handler { return h }}))
	}
	bothEras(t, func(t *testing.T, rev protocol.Revision) {
		denied := build(t, quiet().Add(wrap(func(context.Context, *framework.Call) (*framework.Result, error) {
			return nil, framework.UserErrorf("not today")
		})))
		dial(t, denied, rev).tool("t", `{}`).isError().mentions("not today")
		empty := build(t, quiet().Add(wrap(func(context.Context, *framework.Call) (*framework.Result, error) { return nil, nil })))
		dial(t, empty, rev).tool("t", `{}`).isError().mentions("The tool failed")
		bodiless := build(t, quiet().Add(wrap(func(context.Context, *framework.Call) (*framework.Result, error) { return &framework.Result{}, nil })))
		dial(t, bodiless, rev).tool("t", `{}`).isError().mentions("The tool failed")
		cached := build(t, quiet().Add(wrap(func(context.Context, *framework.Call) (*framework.Result, error) {
			return &framework.Result{Body: &protocol.CallToolResult{Content: []protocol.Block{framework.Text("kept")}}}, nil
		})))
		if got := dial(t, cached, rev).tool("t", `{}`).text(); got != "kept" {
			t.Errorf("got %q", got)
		}
	})
}

// TestMiddlewareAnswersNoJSON: structured content of a step is sent if it is JSON, and breaks no frame.
func TestMiddlewareAnswersNoJSON(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", 2000) + strings.Repeat("]", 2000)
	for _, raw := range []string{"{bad", "\"\xff\"", `{"a":1},"isError":true`, `"\ud800"`, deep, `{"sum":7}`} {
		step := framework.OnToolCall("swap", func(ctx context.Context, call *framework.Call, next framework.Next[*protocol.CallToolResult]) (*protocol.CallToolResult, error) {
			r, err := next(ctx, call)
			if err == nil {
				r.Structured = []byte(raw)
			}
			return r, err
		})
		s := build(t, quiet().Use(step).Add(framework.Tool("t", func(context.Context, struct{}) (map[string]int, error) {
			return map[string]int{"sum": 5}, nil
		})))
		bothEras(t, func(t *testing.T, rev protocol.Revision) {
			r := dial(t, s, rev).tool("t", `{}`)
			if raw != `{"sum":7}` {
				r.isError().mentions("The tool failed")
			} else if got := r.ok(); !strings.Contains(string(got.Result), `"structuredContent":{"sum":7}`) {
				t.Errorf("%s", got.Result)
			}
		})
	}
}

// TestMiddlewareCallsNextAtOnce: a step may try twice at the same time, and take one of the answers.
func TestMiddlewareCallsNextAtOnce(t *testing.T) {
	t.Parallel()
	twice := framework.OnToolCall("twice", func(ctx context.Context, call *framework.Call, next framework.Next[*protocol.CallToolResult]) (*protocol.CallToolResult, error) {
		var one, other *protocol.CallToolResult
		var both sync.WaitGroup
		both.Go(func() { one, _ = next(ctx, call) })
		both.Go(func() { other, _ = next(ctx, call) })
		both.Wait()
		if other == nil || one == nil {
			return nil, errors.New("no answer")
		}
		return one, nil
	})
	s := build(t, quiet().Use(twice).Add(framework.Tool("t", func(context.Context, struct{}) (map[string]int, error) {
		return map[string]int{"sum": 5}, nil
	})))
	bothEras(t, func(t *testing.T, rev protocol.Revision) {
		if got := dial(t, s, rev).tool("t", `{}`).ok(); !strings.Contains(string(got.Result), `"structuredContent":{"sum":5}`) {
			t.Errorf("%s", got.Result)
		}
	})
}

// TestMiddlewareAnswersAnotherMethod: what does not answer the method never goes out.
func TestMiddlewareAnswersAnotherMethod(t *testing.T) {
	t.Parallel()
	bodies := map[string]protocol.Result{
		"tool":   &protocol.CallToolResult{},
		"read":   &protocol.ReadResourceResult{},
		"prompt": &protocol.GetPromptResult{},
		"method": &protocol.CustomResult{Raw: []byte(`{}`)},
		"none":   (*protocol.CallToolResult)(nil),
		"other":  &protocol.EmptyResult{},
	}
	for name, body := range bodies {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wrong := framework.Middleware{Name: "wrong", Wrap: func(framework.Handler) framework.Handler {
				return func(context.Context, *framework.Call) (*framework.Result, error) {
					return &framework.Result{Body: body}, nil
				}
			}}
			bothEras(t, func(t *testing.T, rev protocol.Revision) {
				core, logs := observer.New(zap.ErrorLevel)
				p := dial(t, build(t, framework.New("test", "1", framework.WithLogger(zap.New(core))).Use(wrong).Add(
					framework.Tool("t", none), framework.Prompt("p", prompt), framework.Resource("a://b", text),
					framework.ResourceTemplate("c://{d}", func(context.Context, struct{ D string }) (string, error) { return "", nil }),
					framework.Method("x/y", func(context.Context, struct{}) (map[string]string, error) { return map[string]string{}, nil }),
				)), rev)
				fails := 0
				for _, ask := range []struct{ kind, method, params string }{
					{"tool", "tools/call", `{"name":"t"}`},
					{"prompt", "prompts/get", `{"name":"p"}`},
					{"read", "resources/read", `{"uri":"a://b"}`},
					{"read", "resources/read", `{"uri":"c://d"}`},
					{"method", "x/y", `{}`},
				} {
					r := p.call(ask.method, ask.params)
					switch ask.kind {
					case name:
						r.ok()
						continue
					case "tool":
						r.isError().mentions("The tool failed")
					default:
						r.code(protocol.CodeInternal)
					}
					fails++
				}
				if got := logs.Len(); got != fails {
					t.Errorf("%d of %d failures are logged", got, fails)
				}
			})
		})
	}
}

func TestOnList(t *testing.T) {
	t.Parallel()
	filter := framework.OnList("odd", func(ctx context.Context, call *framework.Call, next framework.Next[[]framework.ComponentInfo]) ([]framework.ComponentInfo, error) {
		list, err := next(ctx, call)
		if call.Method == protocol.MethodListPrompts {
			return nil, framework.UserErrorf("no prompts")
		}
		return slices.DeleteFunc(list, func(c framework.ComponentInfo) bool { return strings.HasSuffix(c.Name, "2") }), err
	})
	app := quiet(framework.WithPageSize(2)).Use(filter).Add(framework.Prompt("p", prompt))
	for i := range 6 {
		app.Add(framework.Tool(fmt.Sprintf("t%d", i), none))
	}
	s := build(t, app)
	bothEras(t, func(t *testing.T, rev protocol.Revision) {
		p := dial(t, s, rev)
		if got := fmt.Sprint(pages(p, "tools/list", "tools", "name")); got != "[[t0 t1] [t3 t4] [t5]]" {
			t.Errorf("pages = %s", got)
		}
		p.call("prompts/list", "").code(protocol.CodeInternal).mentions("no prompts")
		if got := p.tool("t2", `{}`).text(); got != "ok" {
			t.Errorf("a filtered tool answered %q", got)
		}
	})
}

// pages follows the cursors.
func pages(p *peer, method, list, member string) [][]string {
	p.t.Helper()
	var out [][]string
	params := ""
	for range 100 {
		r := p.call(method, params)
		out = append(out, r.names(list, member))
		next, ok := r.field("nextCursor").(string)
		if !ok {
			return out
		}
		params = fmt.Sprintf(`{"cursor":%q}`, next)
	}
	p.t.Fatal("the pages do not end")
	return nil
}

func TestOncePerCall(t *testing.T) {
	t.Parallel()
	r := &recorder{}
	mw := framework.OncePerCall(r.step("once", framework.PhaseApp))
	if !mw.PerCall {
		t.Fatal("PerCall is not set")
	}
	s := build(t, quiet().Use(mw).Add(framework.Tool("t", none)))
	dial(t, s, protocol.Rev20260728).tool("t", `{}`).ok()
	if got := r.take(); got != "once" {
		t.Errorf("the first round ran %q", got)
	}
}

func TestGroupOptions(t *testing.T) {
	t.Parallel()
	s := build(t, quiet().Add(framework.Group("g",
		framework.Tool("a", none),
		framework.Tool("b", none, framework.Describe("own"), framework.Destructive(true)),
		framework.Resource("x://y", text),
		framework.Group("h", framework.Tool("c", none)),
	).With(framework.Describe("shared"), framework.Destructive(false))))
	bothEras(t, func(t *testing.T, rev protocol.Revision) {
		p := dial(t, s, rev)
		r := p.call("tools/list", "")
		if got := fmt.Sprint(r.names("tools", "name"), r.names("tools", "description")); got != "[g_a g_b g_h_c] [shared own shared]" {
			t.Errorf("listed %s", got)
		}
		if r.field("tools.0.annotations.destructiveHint") != false || r.field("tools.1.annotations.destructiveHint") != true {
			t.Errorf("annotations: %s", r.Result)
		}
		if got := p.call("resources/list", "").field("resources.0.description"); got != "shared" {
			t.Errorf("resource: %v", got)
		}
	})
}

func TestScopes(t *testing.T) {
	t.Parallel()
	s := build(t, quiet().Add(
		framework.Group("g", framework.Tool("admin", none, framework.Scopes("write"))).With(framework.Scopes("admin")),
		framework.Tool("open", none),
		framework.Resource("a://secret", text, framework.Scopes("admin")),
		framework.Prompt("p", prompt, framework.Scopes("admin")),
	))
	bothEras(t, func(t *testing.T, rev protocol.Revision) {
		tests := map[string]struct {
			scopes []string
			tools  string
			sees   bool
		}{
			"nobody": {nil, "[open]", false},
			"half":   {[]string{"admin"}, "[open]", true},
			"all":    {[]string{"write", "admin"}, "[g_admin open]", true},
		}
		for name, tt := range tests {
			var opts []peerOption
			if tt.scopes != nil {
				opts = append(opts, as(&framework.Principal{Subject: "u", Scopes: tt.scopes}))
			}
			p := dial(t, s, rev, opts...)
			list := p.call("tools/list", "")
			if got := fmt.Sprint(list.names("tools", "name")); got != tt.tools {
				t.Errorf("%s sees %s", name, got)
			}
			if rev == protocol.Rev20260728 && list.field("cacheScope") != "private" {
				t.Errorf("cacheScope = %v", list.field("cacheScope"))
			}
			if strings.Contains(tt.tools, "g_admin") {
				p.tool("g_admin", `{}`).ok()
			} else {
				p.tool("g_admin", `{}`).code(protocol.CodeInvalidParams).mentions("unknown tool")
			}
			if tt.sees {
				p.read("a://secret").ok()
				p.call("prompts/get", `{"name":"p"}`).ok()
			} else {
				if p.read("a://secret").Error == nil || p.call("prompts/get", `{"name":"p"}`).Error == nil {
					t.Errorf("%s reads what it must not see", name)
				}
			}
		}
	})
}
