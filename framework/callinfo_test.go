package framework_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/transport"
)

func TestServerLogger(t *testing.T) {
	t.Parallel()
	core, logs := observer.New(zap.DebugLevel)
	s := build(t, framework.New("test", "1", framework.WithLogger(zap.New(core))))
	s.Logger().Info("x")
	if logs.Len() != 1 {
		t.Errorf("logged %v", logs.All())
	}
	framework.ServerFrom(t.Context()).Logger().Info("to nobody")
	if framework.ServerFrom(t.Context()).Claims() != nil || s.Claims() != nil {
		t.Error("there are shared claims without a store")
	}
}

// seeing is a middleware that sees what is at hand.
func seeing(see func(ctx context.Context, call *framework.Call)) framework.Middleware {
	return framework.Middleware{Name: "see", Wrap: func(next framework.Handler) framework.Handler {
		return func(ctx context.Context, call *framework.Call) (*framework.Result, error) {
			result, err := next(ctx, call)
			see(ctx, call)
			return result, err
		}
	}}
}

// TestCallerLite: CallerLite agrees with Caller.
func TestCallerLite(t *testing.T) {
	t.Parallel()
	bothEras(t, func(t *testing.T, rev protocol.Revision) {
		var lite framework.CallInfoLite
		var info *framework.CallInfo
		s := build(t, quiet().Use(seeing(func(ctx context.Context, _ *framework.Call) {
			lite, info = framework.CallerLite(ctx), framework.Caller(ctx)
		})).Add(framework.Tool("t", none)))
		p := dial(t, s, rev, as(&framework.Principal{Subject: "ann"}), withMeta("a", `1`))
		p.with(&transport.Request{Fields: transport.HeaderFields{}, RemoteAddr: "192.0.2.1:1"})
		p.tool("t", `{}`).ok()
		if lite.Principal != info.Principal || lite.Session != info.Session || lite.Revision != info.Revision ||
			lite.RemoteAddr != info.RemoteAddr || lite.Task != info.Task || lite.Meta == nil || lite.ReplayCheck {
			t.Errorf("%+v\n%+v", lite, info)
		}
	})
	if got := framework.CallerLite(transport.WithPrincipal(t.Context(), &framework.Principal{Subject: "ann"})); got.Principal.Subject != "ann" || got.Session != "" {
		t.Errorf("outside of a call: %+v", got)
	}
}

func TestAsked(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		fn   func(ctx context.Context) error
		want bool
	}{
		"nothing": {func(context.Context) error { return nil }, false},
		"effects": {func(ctx context.Context) error {
			_, err := framework.Once(ctx, "k", func(context.Context) (int, error) { return 1, nil })
			return err
		}, false},
		"a question": {func(ctx context.Context) error {
			_, err := framework.Elicit[struct {
				A string `json:"a"`
			}](ctx, "A?")
			return err
		}, true},
		"roots": {func(ctx context.Context) error {
			_, err := framework.Roots(ctx)
			return err
		}, true},
	} {
		bothEras(t, func(t *testing.T, rev protocol.Revision) {
			asked := false
			s := build(t, quiet().Use(seeing(func(ctx context.Context, _ *framework.Call) { asked = framework.CallerLite(ctx).Asked })).Add(doing(tt.fn)))
			p := dial(t, s, rev, withCaps(`{"elicitation":{},"roots":{"listChanged":true}}`), answering(func(method string, _ rawJSON) string {
				if method == "roots/list" {
					return `"result":{"roots":[]}`
				}
				return `"result":{"action":"accept","content":{"a":"x"}}`
			}))
			for range 2 { // the second time the roots of a session are known
				p.tool("t", `{}`)
				if asked != tt.want {
					t.Errorf("%s: asked is %v", name, asked)
				}
			}
		})
	}
	if framework.CallerLite(t.Context()).Asked {
		t.Error("asked outside of a call")
	}
}

// The log of the engine's own has no secret of the arguments, either, whether the handler
// failed or crashed.
func TestFailuresWithoutSecrets(t *testing.T) {
	t.Parallel()
	type in struct {
		Word []string `json:"word" secret:"true"`
		How  string   `json:"how"`
		More any      `json:"more"`
	}
	core, logs := observer.New(zap.ErrorLevel)
	s := build(t, framework.New("test", "1", framework.WithLogger(zap.New(core))).Add(framework.Tool("t", func(_ context.Context, in in) (string, error) {
		if in.How == "panic" {
			panic("no such word: " + in.Word[0])
		}
		if in.How == "more" {
			return "", fmt.Errorf("no such account: %v", in.More)
		}
		return "", fmt.Errorf("no such word: "+in.How, in.Word[0])
	})))
	p := dial(t, s, protocol.Rev20260728)
	for how, want := range map[string]string{"%s": "no such word: [hidden]", "%q": `no such word: "[hidden]"`, "panic": "panic: no such word: [hidden]", "more": "no such account: [map[apiKey:[hidden] name:ann]]"} {
		logs.TakeAll()
		p.tool("t", `{"word":["horse\"battery"],"how":"`+how+`","more":[{"name":"ann","apiKey":"hunter2"}]}`)
		got := logs.TakeAll()
		if len(got) != 1 || got[0].Message != "a tool failed" || got[0].ContextMap()["error"] != want {
			t.Errorf("%s: logged %v, want %q", how, got, want)
		}
	}
}

// The engine also reports errors of a call: of a task that will run again, and of a step that
// crashed. Each error is logged once, without secrets.
func TestFailuresOfTheEngineWithoutSecrets(t *testing.T) {
	t.Parallel()
	type in struct {
		Word string `json:"word" secret:"true"`
	}
	const word = `{"word":"hunter22"}`
	crashes := framework.OnToolCall("crashes", func(_ context.Context, call *framework.Call, _ framework.Next[*protocol.CallToolResult]) (*protocol.CallToolResult, error) {
		panic("no such word: " + string(call.Arguments))
	})
	refuses := func(_ context.Context, in in) (string, error) { return "", errors.New("no such word: " + in.Word) }
	outer := func(ctx context.Context, _ struct{}) (string, error) {
		_, err := framework.Generate(ctx, "?", framework.PreferApp(), framework.WithTools(framework.Tool("inner", refuses)))
		return "", err
	}
	calls := func(n int32, _ *framework.ModelRequest) (framework.Generation, error) {
		if n > 1 {
			return framework.Generation{Content: framework.Content{protocol.Text{Text: "done"}}}, nil
		}
		return framework.Generation{Content: framework.Content{protocol.ToolUse{ID: "1", Name: "inner", Input: rawJSON(word)}}}, nil
	}
	twice := framework.Task(framework.TaskOptional, framework.Retry(1))
	for name, test := range map[string]struct {
		tool      framework.Component
		arguments string
		task      bool
		entries   int
	}{
		"a task that runs again":          {framework.Tool("t", refuses, framework.Describe("d"), twice), word, true, 2},
		"a task with a step that crashes": {framework.Tool("t", refuses, framework.Describe("d"), twice, framework.With(crashes)), word, true, 2},
		"a step that crashes":             {framework.Tool("t", refuses, framework.With(crashes)), word, false, 1},
		// In the first run the inner tool fails, and then the outer tool.
		"a tool of a model in such a task": {framework.Tool("t", outer, framework.Describe("d"), twice), `{}`, true, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T) {
				core, logs := observer.New(zap.InfoLevel)
				p := dialTasks(t, build(t, framework.New("test", "1", framework.WithLogger(zap.New(core)), framework.WithModel(&ownModel{say: calls})).Add(test.tool)))
				if test.task {
					p.task("t", test.arguments)
					time.Sleep(time.Minute)
				} else {
					p.tool("t", test.arguments).code(protocol.CodeInternal)
				}
				if logs.Len() != test.entries {
					t.Errorf("%d entries, want %d: %v", logs.Len(), test.entries, logs.All())
				}
				for _, entry := range logs.All() {
					if text := fmt.Sprint(entry.ContextMap()["error"]); entry.Message != "a tool failed" || strings.Contains(text, "hunter") {
						t.Errorf("logged %s: %s", entry.Message, text)
					}
				}
			})
		})
	}
}

func TestRedactText(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text, want string
		hidden     []string
	}{
		{"a horse", "a [hidden]", []string{"horse"}},
		{"horse horses", "[hidden] [hidden]s", []string{"horse", ""}},
		{"1 of 1000", "1 of [hidden]", []string{"1", "1000"}},
		{`say "a\"bc"`, `say "[hidden]"`, []string{`a"bc`}},
		{"nothing", "nothing", nil},
		{"horse-4711", "[hidden]", []string{"horse", "horse-4711"}}, // one begins like the other
		{"abcdefgh", "[hidden]", []string{"abcdef", "cdefgh"}},
		{"ababab", "[hidden]ab", []string{"abab"}},
		{strings.Repeat("a", 4<<20), strings.Repeat("[hidden]", 4), []string{strings.Repeat("a", 1<<20)}}, // in no time
		{strings.Repeat("a", 64<<10), strings.Repeat("[hidden]", 16<<10), slices.Repeat([]string{"aaaa"}, 1000)},
		{strings.Repeat("a", 64<<10), "[hidden]", slices.Repeat([]string{"aaaa"}, 100_000)}, // as there are too many
		{"hidden horse", "[hidden] [hidden]", []string{"horse", "hidden"}},
		{`"a\u003cb\u003e\u0026c"`, `"[hidden]"`, []string{"a<b>&c"}}, // as encoding/json writes it
		{`"a<b>&\u0007c" "a<b>&\ac"`, `"[hidden]" "[hidden]"`, []string{"a<b>&\ac"}},
	} {
		if got := framework.RedactText(tt.text, tt.hidden); got != tt.want {
			t.Errorf("%.100q without %.100q: %.100q, want %.100q", tt.text, tt.hidden, got, tt.want)
		}
	}
}

func TestRedactArguments(t *testing.T) {
	t.Parallel()
	type in struct {
		User string `json:"user,omitempty"`
		Word any    `json:"word,omitempty" secret:"true"`
	}
	type strings struct {
		User string `json:"user,omitempty"`
		Word string `json:"word,omitempty" secret:"true"`
	}
	type vars struct {
		User string
		Word string `secret:"true"`
	}
	var redacted, name string
	var hidden []string
	s := build(t, quiet().Use(seeing(func(ctx context.Context, call *framework.Call) {
		raw, texts := framework.RedactArguments(ctx, call.Arguments)
		redacted, hidden, name = string(raw), texts, framework.RedactName(ctx, call)
	})).Add(
		framework.Tool("t", func(context.Context, in) (string, error) { return "", nil }),
		framework.Func("f", func(in) {}),
		framework.Method("example.com/m", func(context.Context, in) (struct{}, error) { return struct{}{}, nil }),
		framework.Prompt("p", func(context.Context, strings) (framework.Messages, error) { return nil, nil }),
		framework.ResourceTemplate("a://{user}/{word}", func(context.Context, vars) (string, error) { return "", nil }),
		framework.ResourceTemplate("b://{x}", func(context.Context, struct{ X string }) (string, error) { return "", nil }),
		framework.Tool("open", search),
	))
	p := dial(t, s, protocol.Rev20260728)
	for _, tt := range []struct{ method, params, redacted, name, hidden string }{
		{"tools/call", `{"name":"t","arguments":{"user":"ann","word":["s",{"a":1}]}}`, `{"user":"ann","word":"[hidden]"}`, "t", "[s 1]"},
		{"tools/call", `{"name":"f","arguments":{"word":"s"}}`, `{"word":"[hidden]"}`, "f", "[s]"},
		{"tools/call", `{"name":"open","arguments":{"query":"go"}}`, `{"query":"go"}`, "open", "[]"},
		{"tools/call", `{"name":"t"}`, ``, "t", "[]"},
		{"example.com/m", `{"word":"s"}`, `{"word":"[hidden]"}`, "example.com/m", "[s]"},
		{"prompts/get", `{"name":"p","arguments":{"word":"s","user":"ann"}}`, `{"user":"ann","word":"[hidden]"}`, "p", "[s]"},
		{"resources/read", `{"uri":"a://ann/s"}`, ``, "a://{user}/{word}", "[a://ann/s s]"},
		{"resources/read", `{"uri":"b://ann"}`, ``, "b://ann", "[]"},
	} {
		redacted, hidden, name = "", nil, ""
		p.call(tt.method, tt.params)
		if redacted != tt.redacted || name != tt.name || fmt.Sprint(hidden) != tt.hidden {
			t.Errorf("%s: %s, name %s, hidden %v", tt.params, redacted, name, hidden)
		}
	}
	if raw, hidden := framework.RedactArguments(t.Context(), rawJSON(`{"word":1}`)); string(raw) != `{"word":1}` || hidden != nil {
		t.Errorf("outside of a call: %s, %v", raw, hidden)
	}
	for name, want := range map[string]bool{"API-Key": true, "pass_phrase": true, "session.cookie": true, "query": false} {
		if framework.IsSecretName(name) != want {
			t.Errorf("IsSecretName(%q) is not %v", name, want)
		}
	}
}

func TestOutputChecker(t *testing.T) {
	t.Parallel()
	var fits, not error
	checked := 0
	s := build(t, quiet().Use(seeing(func(ctx context.Context, _ *framework.Call) {
		check, err := framework.OutputChecker(ctx)
		if err != nil {
			t.Error(err)
		}
		if check != nil {
			checked++
			fits, not = check(rawJSON(`{"found":["x"]}`)), check(rawJSON(`{"found":1}`))
		}
	})).Add(
		framework.Tool("t", func(context.Context, struct{}) (struct {
			Found []string `json:"found"`
		}, error,
		) {
			panic("not needed")
		}),
		framework.Tool("text", none), framework.Resource("a://b", text),
	))
	p := dial(t, s, protocol.Rev20260728)
	p.tool("t", `{}`)
	p.tool("text", `{}`)
	p.read("a://b")
	if checked != 1 || fits != nil || not == nil {
		t.Errorf("%d components have one; %v, %v", checked, fits, not)
	}
	if framework.OutcomeOf(t.Context(), nil, not) != framework.OutcomeFailed {
		t.Errorf("%v is blamed on the caller", not)
	}
	if check, err := framework.OutputChecker(t.Context()); check != nil || err != nil {
		t.Error("there is something to check outside of a call")
	}
}

func TestOutcome(t *testing.T) {
	t.Parallel()
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	ok := &framework.Result{Body: &protocol.CallToolResult{}}
	for i, tt := range []struct {
		ctx    context.Context
		result *framework.Result
		err    error
		want   framework.Outcome
	}{
		{t.Context(), ok, nil, framework.OutcomeOK},
		{t.Context(), &framework.Result{Body: &protocol.GetPromptResult{}}, nil, framework.OutcomeOK},
		{t.Context(), &framework.Result{}, nil, framework.OutcomeOK},
		{t.Context(), &framework.Result{Body: &protocol.CallToolResult{IsError: true}}, nil, framework.OutcomeToolError},
		{t.Context(), nil, nil, framework.OutcomeFailed},
		{t.Context(), nil, fmt.Errorf("x: %w", framework.ErrPending), framework.OutcomePending},
		{t.Context(), nil, framework.UserErrorf("x"), framework.OutcomeToolError},
		{t.Context(), nil, framework.Because(errors.New("x"), errors.New("y")), framework.OutcomeToolError},
		{t.Context(), nil, framework.UserErrorf("x: %w", context.DeadlineExceeded), framework.OutcomeTimeout},
		{t.Context(), nil, framework.ErrDeclined, framework.OutcomeDeclined},
		{t.Context(), nil, framework.ErrCancelled, framework.OutcomeDeclined},
		{t.Context(), nil, framework.InvalidArgumentf("a", "x"), framework.OutcomeInvalid},
		{t.Context(), nil, protocol.Faultf(protocol.FaultInvalidParams, "x"), framework.OutcomeInvalid},
		{t.Context(), nil, &protocol.Error{Code: protocol.CodeInvalidParams}, framework.OutcomeInvalid},
		{t.Context(), nil, framework.ErrNotFound, framework.OutcomeNotFound},
		{t.Context(), nil, protocol.Faultf(protocol.FaultResourceNotFound, "x"), framework.OutcomeNotFound},
		{t.Context(), nil, framework.ErrUnsupported, framework.OutcomeUnsupported},
		{t.Context(), nil, protocol.Faultf(protocol.FaultMissingCapability, "x"), framework.OutcomeUnsupported},
		{t.Context(), nil, protocol.TooMany(1, "x"), framework.OutcomeLimited},
		{t.Context(), nil, &protocol.Error{Code: -1}, framework.OutcomeRejected},
		{t.Context(), nil, protocol.Faultf(protocol.FaultMethodNotFound, "x"), framework.OutcomeRejected},
		{t.Context(), nil, &protocol.Error{Code: protocol.CodeInternal}, framework.OutcomeFailed},
		{t.Context(), nil, protocol.Faultf(protocol.FaultInternal, "x"), framework.OutcomeFailed},
		{t.Context(), nil, errors.New("x"), framework.OutcomeFailed},
		{t.Context(), nil, context.Canceled, framework.OutcomeFailed}, // of another context
		{cancelled, nil, fmt.Errorf("x: %w", context.Canceled), framework.OutcomeCancelled},
		{cancelled, ok, nil, framework.OutcomeOK},
	} {
		if got := framework.OutcomeOf(tt.ctx, tt.result, tt.err); got != tt.want {
			t.Errorf("%d: %v is %s, want %s", i, tt.err, got, tt.want)
		}
	}
}

// The outcome is what the client sees: the mapper has its say.
func TestOutcomeOfMapped(t *testing.T) {
	t.Parallel()
	gone := errors.New("no rows")
	var got []framework.Outcome
	watch := framework.Middleware{Name: "watch", Wrap: func(next framework.Handler) framework.Handler {
		return func(ctx context.Context, call *framework.Call) (*framework.Result, error) {
			result, err := next(ctx, call)
			got = append(got, framework.OutcomeOf(ctx, result, err))
			return result, err
		}
	}}
	s := build(t, quiet(framework.WithErrorMapper(func(_ context.Context, err error) error {
		if errors.Is(err, gone) {
			return framework.NotFoundf("no such order")
		}
		return nil
	})).Use(watch).Add(doing(func(context.Context) error { return gone })))
	dial(t, s, protocol.Rev20260728).tool("t", `{}`).mentions("no such order")
	if !slices.Equal(got, []framework.Outcome{framework.OutcomeNotFound}) {
		t.Errorf("outcomes %v", got)
	}
}

// TestOutputCheckerOfRevisions: the checker compares the schema and the result of the call's
// revision. Older revisions wrap a list in an object. Before 2025-06-18 there is no checker.
func TestOutputCheckerOfRevisions(t *testing.T) {
	t.Parallel()
	for revision, judges := range map[protocol.Revision]bool{
		protocol.Rev20241105: false, protocol.Rev20250326: false,
		protocol.Rev20250618: true, protocol.Rev20251125: true, protocol.Rev20260728: true,
	} {
		calls := 0
		s := build(t, quiet().Use(seeing(func(ctx context.Context, call *framework.Call) {
			calls++
			check, err := framework.OutputChecker(ctx)
			if err != nil || (check != nil) != judges {
				t.Errorf("%s: %s is judged: %v, %v", revision, call.Name, check != nil, err)
			}
			if check == nil {
				return
			}
			good, bad := rawJSON(`["x"]`), rawJSON(`[1]`)
			switch call.Name {
			case "nothing":
				good, bad = rawJSON(`null`), rawJSON(`{"n":"1"}`)
			case "open":
				good, bad = rawJSON(`{"x":1}`), rawJSON(`{"x":2}`)
			}
			if err := check(good); err != nil {
				t.Errorf("%s: %s with %s: %v", revision, call.Name, good, err)
			}
			if check(bad) == nil {
				t.Errorf("%s: %s takes %s", revision, call.Name, bad)
			}
		})).Add(
			framework.Tool("list", func(context.Context, struct{}) ([]string, error) { return nil, nil }),
			framework.Tool("nothing", func(context.Context, struct{}) (*struct {
				N int `json:"n"`
			}, error,
			) {
				return nil, nil //nolint:nilnil // which is what is tested
			}),
			framework.Tool("open", func(context.Context, struct{}) (any, error) { return nil, nil }, //nolint:nilnil // as above
				framework.OutputSchema(rawJSON(`{"enum":[{"x":1},null]}`))),
		))
		p := dial(t, s, revision)
		p.tool("list", `{}`)
		p.tool("nothing", `{}`)
		p.tool("open", `{}`)
		if calls != 3 {
			t.Errorf("%s: %d calls", revision, calls)
		}
	}
}
