package framework_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
)

type forecast struct {
	City string `json:"city" validate:"min=2"`
	High int    `json:"high" validate:"min=-90,max=60"`
}

func generating[T any](opts ...framework.GenerateOption) framework.Component {
	return framework.Tool("t", func(ctx context.Context, _ struct{}) (string, error) {
		v, err := framework.GenerateAs[T](ctx, "what?", opts...)
		if raw, ok := any(v).(json.RawMessage); ok {
			return string(raw), err
		}
		return fmt.Sprintf("%+v", v), err
	})
}

func TestGenerateAs(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		tool    framework.Component
		answers []string
		want    string
	}{
		"struct":          {generating[forecast](), []string{`{"city":"Oslo","high":3}`}, "{City:Oslo High:3}"},
		"fence":           {generating[forecast](), []string{"Here it is:\n```json\n{\"city\":\"Oslo\",\"high\":3}\n```\nBye."}, "{City:Oslo High:3}"},
		"fence of a line": {generating[forecast](), []string{"```{\"city\":\"Oslo\",\"high\":3}```"}, "{City:Oslo High:3}"},
		"number":          {generating[int](), []string{`42`}, "42"},
		"wrapped":         {generating[int](), []string{`{"value":42}`}, "42"},
		"list":            {generating[[]string](), []string{`["a","b"]`}, "[a b]"},
		"map":             {generating[map[string]int](), []string{`{"a":1}`}, "map[a:1]"},
		"text":            {generating[string](), []string{`{"a":1}`}, `{"a":1}`},
		"raw":             {generating[json.RawMessage](), []string{"```\n[1]\n```"}, `[1]`},
		"taught":          {generating[forecast](), []string{`It is cold.`, `{"city":"O","high":300}`, `{"city":"Oslo","high":3}`}, "{City:Oslo High:3}"},
		"never":           {generating[forecast](), []string{`{}`, `{}`, `{}`}, "The model gave no valid answer in 3 attempts."},
		"of a bad type":   {generating[chan int](), nil, "The tool failed. The error was logged."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := build(t, quiet().Add(tt.tool))
			bothEras(t, func(t *testing.T, rev protocol.Revision) {
				answers := tt.answers
				var asked []question
				a := newAsker(t, s, rev, func(_ string, q question) string {
					asked = append(asked, q)
					next := answers[0]
					answers = answers[1:]
					return model(next)
				})
				if got := a.do("tools/call", `{"name":"t"}`).text(); got != tt.want || len(answers) != 0 {
					t.Errorf("got %q, %d answers left", got, len(answers))
				}
				if name != "taught" {
					return
				}
				if first := asked[0].last(); !strings.Contains(first, "what?") || !strings.Contains(first, `\"city\"`) {
					t.Errorf("the schema is not in %s", first)
				}
				last := asked[2]
				if len(last.Messages) != 5 || last.Messages[3].Role != "assistant" || !strings.Contains(last.last(), "/city") || !strings.Contains(last.last(), "/high") {
					t.Errorf("taught by %s", last.last())
				}
			})
		})
	}
}

func TestGenerateDeclined(t *testing.T) {
	t.Parallel()
	s := build(t, quiet().Add(generating[int]()))
	a := newAsker(t, s, protocol.Rev20251125, func(string, question) string { return "" })
	a.tool("t", `{}`).isError().mentions("declined")
}

func TestSamplingParameters(t *testing.T) {
	t.Parallel()
	s := build(t, quiet().Add(generating[string](framework.IncludeContext("thisServer"), framework.Metadata(map[string]int{"a": 1}), framework.ToolChoice("required"))))
	for caps, want := range map[string]string{
		`{"sampling":{}}`:             `{"messages":[{"role":"user","content":{"type":"text","text":"what?"}}],"maxTokens":1024,"metadata":{"a":1}}`,
		`{"sampling":{"context":{}}}`: `{"messages":[{"role":"user","content":{"type":"text","text":"what?"}}],"maxTokens":1024,"metadata":{"a":1},"includeContext":"thisServer"}`,
	} {
		bothEras(t, func(t *testing.T, rev protocol.Revision) {
			a := newAsker(t, s, rev, byMessage(nil), withCaps(caps))
			a.do("tools/call", `{"name":"t"}`).ok()
			if !sameJSON(t, string(a.params[0]), want) {
				t.Errorf("asked %s", a.params[0])
			}
		})
	}
	for _, opt := range []framework.GenerateOption{
		framework.IncludeContext("all"), framework.Metadata(1), framework.Metadata(func() {}), framework.ToolChoice("any"), framework.MaxTurns(0), framework.MaxTokens(0), framework.MaxTokens(-1), framework.Priorities(0, 1.5, 0), framework.Priorities(math.NaN(), 0, 0),
	} {
		s := build(t, quiet().Add(generating[string](opt)))
		dial(t, s, protocol.Rev20251125, withCaps(all)).tool("t", `{}`).isError().mentions("failed")
	}
}

type city struct {
	City string `json:"city" validate:"min=2"`
}

// lab is a server with a tool loop.
type lab struct {
	runs, mws  atomic.Int32
	weather    framework.Component
	confirm    framework.Component
	plain      framework.Component
	admin      framework.Component
	app        *framework.App
	ids, outer []string
}

func newLab(opts ...framework.AppOption) *lab {
	l := &lab{}
	l.weather = framework.Tool("weather", func(_ context.Context, in city) (forecast, error) {
		l.runs.Add(1)
		return forecast{City: in.City, High: 3}, nil
	})
	l.confirm = framework.Tool("confirm", func(ctx context.Context, _ struct{}) (string, error) {
		a, err := ask(ctx, "first")
		if err != nil {
			return "", err
		}
		b, err := ask(ctx, "second")
		if err == nil {
			l.runs.Add(1)
		}
		return a + b, err
	})
	l.plain = framework.Tool("plain", func(ctx context.Context, _ struct{}) (struct{}, error) {
		return framework.Once(ctx, "do", func(context.Context) (struct{}, error) {
			l.runs.Add(1)
			return struct{}{}, nil
		})
	})
	l.admin = framework.Tool("admin", none, framework.Scopes("admin"))
	counting := framework.OncePerCall(framework.OnToolCall("counting", func(ctx context.Context, call *framework.Call, next framework.Next[*protocol.CallToolResult]) (*protocol.CallToolResult, error) {
		if call.Name != "t" {
			l.mws.Add(1)
			l.ids = append(l.ids, call.ID)
			if info := framework.Caller(ctx); info.Call != call.ID || info.Round != 0 || call.Method != "tools/call" || call.Component.Name != call.Name {
				return nil, framework.UserErrorf("%+v %+v", call, info)
			}
		} else {
			l.outer = append(l.outer, call.ID)
		}
		return next(ctx, call)
	}))
	l.app = quiet(opts...).Use(counting).Add(framework.Group("g", l.weather), l.confirm, l.admin)
	return l
}

// loop adds a tool that asks a model with tools.
func (l *lab) loop(opts ...framework.GenerateOption) *framework.App {
	return l.app.Add(framework.Tool("t", func(ctx context.Context, _ struct{}) (string, error) {
		g, err := framework.Generate(ctx, "go", append([]framework.GenerateOption{framework.WithTools(l.weather, l.confirm, l.plain, l.admin)}, opts...)...)
		return fmt.Sprint(g.Text(), " in ", g.Turns), err
	}))
}

func TestToolLoop(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"once", "twice", "elsewhere"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			bothEras(t, func(t *testing.T, rev protocol.Revision) { toolLoop(t, rev, mode) })
		})
	}
}

func toolLoop(t *testing.T, rev protocol.Revision, mode string) {
	t.Helper()
	l := newLab(framework.WithStateSecrets([]byte("a secret that all of them share")))
	app := l.loop()
	s := build(t, app)
	turn := 0
	var results []string
	a := newAsker(t, s, rev, func(method string, q question) string {
		if method != protocol.MethodCreateMessage {
			return said(`"` + q.Message + `!"`)
		}
		turn++
		results = append(results, q.last())
		var names []string
		for _, tool := range q.Tools {
			names = append(names, tool.Name)
		}
		if fmt.Sprint(names) != "[g_weather confirm plain]" {
			t.Errorf("offered %q", names)
		}
		switch turn {
		case 1:
			return using("g_weather", `{"city":"Oslo"}`, "g_weather", `{"city":"O"}`, "wether", `{}`, "admin", `{}`)
		case 2:
			return using("confirm", `{}`, "plain", `{}`)
		case 3:
			return using("g_weather", `{"city":"Rome"}`)
		}
		return model("bye")
	})
	a.twice = mode == "twice"
	if mode == "elsewhere" {
		a.between = func() { a.server = build(t, app) }
	}
	if got := a.do("tools/call", `{"name":"t"}`).text(); got != "bye in 4" {
		t.Fatalf("got %q", got)
	}
	if l.runs.Load() != 4 || l.mws.Load() != 5 { // the refused arguments have passed the middleware
		t.Errorf("%d runs, %d times through the middleware", l.runs.Load(), l.mws.Load())
	}
	if len(l.outer) != 1 || !strings.HasPrefix(l.ids[0], l.outer[0]+"/") || l.ids[0] == l.ids[1] {
		t.Errorf("ids %q in %q", l.ids, l.outer)
	}
	for word, in := range map[string]string{
		`"toolUseId":"use0"`: results[1], `"structuredContent":{"city":"Oslo","high":3}`: results[1],
		"/city": results[1], `There is no tool \"wether\". Did you mean \"g_weather\"?`: results[1], `There is no tool \"admin\"`: results[1],
		"first!second!": results[2], `"toolUseId":"use1"`: results[2], "Rome": results[3],
	} {
		if !strings.Contains(in, word) {
			t.Errorf("%q is not in %s", word, in)
		}
	}
	var blocks []struct {
		Type    string
		IsError bool
	}
	unmarshal(t, []byte(results[1]), &blocks)
	if fmt.Sprint(blocks) != "[{tool_result false} {tool_result true} {tool_result true} {tool_result true}]" {
		t.Errorf("results %v", blocks)
	}
	if fmt.Sprint(a.asked) != "[model model first second model model]" {
		t.Errorf("asked %q", a.asked)
	}
}

// TestToolsOfAChangedQuestion checks what happens if another version of the program changes a
// question, so that the model is asked again. If the model then asks for another call, it gets the
// result of that call, and not of the earlier one.
func TestToolsOfAChangedQuestion(t *testing.T) {
	t.Parallel()
	type room struct {
		Room string `json:"room"`
	}
	for name, tt := range map[string]struct {
		again string // the model's turn when it is asked again
		want  string
	}{
		"other input": {using("price", `{"room":"double"}`), "price single, price double"},
		"other tool":  {using("book", `{"room":"single"}`), "price single, book single"},
		"the same":    {using("price", `{ "room": "single" }`), "price single"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var ran []string
			version := func(about string) *framework.Server {
				tool := func(name string) framework.Component {
					return framework.Tool(name, func(_ context.Context, in room) (string, error) {
						ran = append(ran, name+" "+in.Room)
						return "did " + name + " " + in.Room, nil
					}, framework.Describe(about))
				}
				return build(t, quiet(framework.WithStateSecrets([]byte("a secret that both of them share"))).Add(
					generating[string](framework.WithTools(tool("price"), tool("book")))))
			}
			turn, last := using("price", `{"room":"single"}`), ""
			a := newAsker(t, version("old"), protocol.Rev20260728, func(_ string, q question) string {
				if len(q.Messages) == 1 {
					return turn
				}
				last = q.last()
				return model("bye")
			})
			rounds := 0
			a.between = func() {
				if rounds++; rounds == 2 { // the tool has run, and the model is asked with its result
					a.server, turn = version("new"), tt.again
				}
			}
			if got := a.do("tools/call", `{"name":"t"}`).text(); got != "bye" {
				t.Errorf("got %q", got)
			}
			if got := strings.Join(ran, ", "); got != tt.want {
				t.Errorf("ran %s, want %s", got, tt.want)
			}
			if want := "did " + ran[len(ran)-1]; !strings.Contains(last, want) {
				t.Errorf("the model got %s, want %s", last, want)
			}
		})
	}
}

func TestToolLoopBounds(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		opts    []framework.GenerateOption
		turns   int
		choices string
	}{
		"default":  {nil, 10, "[         none]"},
		"three":    {[]framework.GenerateOption{framework.MaxTurns(3)}, 3, "[  none]"},
		"required": {[]framework.GenerateOption{framework.MaxTurns(4), framework.ToolChoice("required")}, 4, "[required auto auto none]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bothEras(t, func(t *testing.T, rev protocol.Revision) {
				l := newLab()
				s := build(t, l.loop(tt.opts...))
				var choices []string
				a := newAsker(t, s, rev, func(_ string, q question) string {
					choices = append(choices, q.ToolChoice.Mode)
					return using("plain", `{}`)
				})
				a.do("tools/call", `{"name":"t"}`).isError().mentions("failed")
				if int(l.runs.Load()) != tt.turns-1 || fmt.Sprint(choices) != tt.choices {
					t.Errorf("%d runs, choices %q", l.runs.Load(), choices)
				}
			})
		})
	}
}

func TestToolLoopNeedsTheCapability(t *testing.T) {
	t.Parallel()
	s := build(t, newLab().loop())
	for _, rev := range protocol.Revisions() {
		p := dial(t, s, rev, withCaps(`{"sampling":{}}`))
		if rev == protocol.Rev20260728 {
			if r := p.tool("t", `{}`).code(-32021); !strings.Contains(string(r.Error.Data), `"sampling":{"tools":{}}`) {
				t.Errorf("data = %s", r.Error.Data)
			}
			continue
		}
		p.tool("t", `{}`).isError().mentions("with tools is not possible")
	}
}

func TestToolsThatCannotBeOffered(t *testing.T) {
	t.Parallel()
	for _, tools := range [][]framework.Component{
		{nil},
		{framework.Group("x")},
		{framework.Resource("r://x", text)},
		{framework.Tool("a", none), framework.Tool("a", none)},
		{framework.Tool("bad", func(context.Context, chan int) (string, error) { return "", nil })},
	} {
		s := build(t, quiet().Add(generating[string](framework.WithTools(tools...))))
		dial(t, s, protocol.Rev20251125, withCaps(all)).tool("t", `{}`).isError().mentions("failed")
	}
}

func TestToolsOfAGroup(t *testing.T) {
	t.Parallel()
	registered, other := framework.Tool("a", none), framework.Tool("b", none)
	s := build(t, quiet().Add(framework.Group("g", registered), generating[string](framework.WithTools(framework.Group("g", registered), framework.Group("x", other)))))
	a := newAsker(t, s, protocol.Rev20260728, func(_ string, q question) string {
		if fmt.Sprint(q.Tools) != "[{g_a} {x_b}]" {
			t.Errorf("offered %v", q.Tools)
		}
		return model("ok")
	})
	a.do("tools/call", `{"name":"t"}`).ok()
	if got := fmt.Sprint(a.call("tools/list", "").names("tools", "name")); got != "[g_a t]" {
		t.Errorf("offering has registered: %s", got)
	}
}

// ownModel is a model of the app.
type ownModel struct {
	calls atomic.Int32
	say   func(n int32, req *framework.ModelRequest) (framework.Generation, error)
}

func (m *ownModel) Generate(_ context.Context, req *framework.ModelRequest) (framework.Generation, error) {
	return m.say(m.calls.Add(1), req)
}

func TestAppModel(t *testing.T) {
	t.Parallel()
	allRevisions(t, func(t *testing.T, rev protocol.Revision) {
		m := &ownModel{say: func(n int32, req *framework.ModelRequest) (framework.Generation, error) {
			if n == 1 && len(req.Tools) == 3 && req.MaxTokens == 1024 && req.System == "s" {
				return framework.Generation{Model: "own", Content: framework.Content{protocol.ToolUse{ID: "a", Name: "plain", Input: json.RawMessage(`{}`)}}}, nil
			}
			return framework.Generation{Model: "own", Content: framework.Content{protocol.Text{Text: fmt.Sprint(len(req.Messages))}}}, nil
		}}
		l := newLab(framework.WithModel(m))
		s := build(t, l.app.Add(framework.Tool("t", func(ctx context.Context, _ struct{}) (string, error) {
			g, err := framework.Generate(ctx, "go", framework.System("s"), framework.WithTools(l.weather, l.confirm, l.plain))
			if err != nil {
				return "", err
			}
			s, err := ask(ctx, "a")
			if errors.Is(err, framework.ErrUnsupported) {
				s, err = "nobody", nil
			}
			return g.Model + g.Text() + s, err
		})))
		a := newAsker(t, s, rev, byMessage(nil), withCaps(`{"elicitation":{}}`))
		want := "own3a!"
		if rev == protocol.Rev20241105 || rev == protocol.Rev20250326 {
			want = "own3nobody"
		}
		if got := a.do("tools/call", `{"name":"t"}`).text(); got != want || m.calls.Load() != 2 || l.runs.Load() != 1 {
			t.Errorf("got %q after %d calls and %d runs", got, m.calls.Load(), l.runs.Load())
		}
	})
}

func TestWhichModel(t *testing.T) {
	t.Parallel()
	own := func(int32, *framework.ModelRequest) (framework.Generation, error) {
		return framework.Generation{Content: framework.Content{protocol.Text{Text: "own"}}}, nil
	}
	bothEras(t, func(t *testing.T, rev protocol.Revision) {
		s := build(t, quiet(framework.WithModel(&ownModel{say: own})).Add(
			framework.Tool("client", func(ctx context.Context, _ struct{}) (string, error) {
				return framework.GenerateAs[string](ctx, "?")
			}),
			framework.Tool("app", func(ctx context.Context, _ struct{}) (string, error) {
				return framework.GenerateAs[string](ctx, "?", framework.PreferApp())
			}),
			framework.Tool("gather", func(ctx context.Context, _ struct{}) (string, error) {
				a, b, err := framework.Gather2(ctx, framework.AskModel[string]("?", framework.PreferApp()), framework.AskModel[string]("?"))
				return a + b, err
			}),
		))
		a := newAsker(t, s, rev, byMessage(nil))
		for tool, want := range map[string]string{"client": "42", "app": "own", "gather": "own42"} {
			if got := a.do("tools/call", `{"name":"`+tool+`"}`).text(); got != want {
				t.Errorf("%s: got %q", tool, got)
			}
		}
		if got := dial(t, s, rev).tool("client", `{}`).text(); got != "own" {
			t.Errorf("without sampling: %q", got)
		}
	})
	for name, say := range map[string]func(int32, *framework.ModelRequest) (framework.Generation, error){
		"failed": func(int32, *framework.ModelRequest) (framework.Generation, error) {
			return framework.Generation{}, errors.New("no")
		},
		"The tool": func(int32, *framework.ModelRequest) (framework.Generation, error) { panic("no") },
		"too dear": func(int32, *framework.ModelRequest) (framework.Generation, error) {
			return framework.Generation{}, framework.UserErrorf("too dear")
		},
	} {
		s := build(t, quiet(framework.WithModel(&ownModel{say: say})).Add(generating[string]()))
		dial(t, s, protocol.Rev20260728).tool("t", `{}`).isError().mentions(name)
	}
}

func TestRootsOfASession(t *testing.T) {
	t.Parallel()
	s := build(t, quiet().Add(framework.Tool("t", func(ctx context.Context, _ struct{}) (string, error) {
		roots, err := framework.Roots(ctx)
		if len(roots) > 0 {
			defer func() { roots[0].URI = "changed by the handler" }()
			return roots[0].URI, err
		}
		return "none", err
	})))
	for _, rev := range []protocol.Revision{protocol.Rev20241105, protocol.Rev20251125} {
		n := 0
		answer := func(string, question) string {
			if n++; n == 3 {
				return `{"roots":[]}`
			}
			return fmt.Sprintf(`{"roots":[{"uri":"file:///%d"}]}`, n)
		}
		a := newAsker(t, s, rev, answer)
		var got []string
		call := func() { got = append(got, a.tool("t", `{}`).text()) }
		call()
		call()
		call()
		a.frame(`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`)
		call()
		call()
		a.frame(`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`)
		call()
		call()
		if want := "[file:///1 file:///1 file:///1 file:///2 file:///2 none none]"; fmt.Sprint(got) != want {
			t.Errorf("%s: got %v", rev, got)
		}
		n = 0
		a = newAsker(t, s, rev, answer, withCaps(`{"roots":{}}`)) // which will not say when they change
		if first, second := a.tool("t", `{}`).text(), a.tool("t", `{}`).text(); first == second {
			t.Errorf("%s: kept %s for ever", rev, first)
		}
	}
}

// TestFenceInsideAnAnswer: a text of the answer may have a code fence of its own.
func TestFenceInsideAnAnswer(t *testing.T) {
	t.Parallel()
	s := build(t, quiet().Add(generating[forecast]()))
	bothEras(t, func(t *testing.T, rev protocol.Revision) {
		a := newAsker(t, s, rev, func(string, question) string {
			return model("```json\n{\"city\":\"see ```go```\",\"high\":3}\n```")
		})
		if got := a.do("tools/call", `{"name":"t"}`).text(); got != "{City:see ```go``` High:3}" {
			t.Errorf("got %q", got)
		}
	})
}

// TestTemperatureIsANumber: the app's model is not asked with a temperature that is no number.
func TestTemperatureIsANumber(t *testing.T) {
	t.Parallel()
	m := &ownModel{say: func(int32, *framework.ModelRequest) (framework.Generation, error) {
		return framework.Generation{Content: framework.Content{protocol.Text{Text: "own"}}}, nil
	}}
	var got error
	s := build(t, quiet(framework.WithModel(m)).Add(doing(func(ctx context.Context) error {
		_, got = framework.Generate(ctx, "?", framework.Temperature(math.Inf(1)))
		return got
	})))
	dial(t, s, protocol.Rev20260728).tool("t", `{}`).isError()
	if got == nil || m.calls.Load() != 0 {
		t.Errorf("%v after %d calls", got, m.calls.Load())
	}
}

// TestLargeRootsAreNotKept: roots of a megabyte are asked for in each call, small ones once.
func TestLargeRootsAreNotKept(t *testing.T) {
	t.Parallel()
	for roots, want := range map[string]int{
		`{"uri":"file:///` + strings.Repeat("x", 1<<20) + `"}`: 2,
		`{"uri":"file:///a","_meta":{"x":1}}`:                  1,
	} {
		if asked := rootsAsked(t, roots); asked != want {
			t.Errorf("asked %d times for %.40s", asked, roots)
		}
	}
}

// rootsAsked returns how often two calls ask for a root.
func rootsAsked(t *testing.T, root string) (asked int) {
	t.Helper()
	s := build(t, quiet().Add(framework.Tool("t", func(ctx context.Context, _ struct{}) (string, error) {
		roots, err := framework.Roots(ctx)
		return fmt.Sprint(len(roots)), err
	})))
	a := newAsker(t, s, protocol.Rev20251125, func(string, question) string {
		asked++
		return `{"roots":[` + root + `]}`
	})
	a.tool("t", `{}`).ok()
	a.tool("t", `{}`).ok()
	return asked
}
