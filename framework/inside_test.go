package framework_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
)

func doing(fn func(ctx context.Context) error, opts ...framework.Option) framework.Component {
	return framework.Tool("t", func(ctx context.Context, _ struct{}) (string, error) { return "done", fn(ctx) }, opts...)
}

func TestProgress(t *testing.T) {
	t.Parallel()
	s := build(t, quiet().Add(doing(func(ctx context.Context) error {
		framework.Progress(ctx, 1, 4, "one")
		framework.Progress(ctx, 1, 4, "again")
		framework.Progress(ctx, 2.5, 0, "")
		return nil
	})))
	bothEras(t, func(t *testing.T, rev protocol.Revision) {
		p := dial(t, s, rev, withMeta("progressToken", `"tok"`))
		p.tool("t", `{}`).ok()
		got := p.notifications(protocol.NotificationProgress)
		if len(got) != 2 || !sameJSON(t, string(got[0]), `{"progressToken":"tok","progress":1,"total":4,"message":"one"}`) || !sameJSON(t, string(got[1]), `{"progressToken":"tok","progress":2.5}`) {
			t.Errorf("notified %s", got)
		}
		silent := dial(t, s, rev)
		silent.tool("t", `{}`).ok()
		if got := silent.notifications(protocol.NotificationProgress); got != nil {
			t.Errorf("unasked progress: %s", got)
		}
	})
}

// TestProgressOfNoNumbers: what JSON cannot say must not stand in the way of what follows.
func TestProgressOfNoNumbers(t *testing.T) {
	t.Parallel()
	s := build(t, quiet().Add(doing(func(ctx context.Context) error {
		framework.Progress(ctx, math.NaN(), 4, "nothing yet")
		framework.Progress(ctx, 1, 4, "")
		framework.Progress(ctx, math.Inf(1), 4, "")
		framework.Progress(ctx, math.NaN(), 4, "")
		framework.Progress(ctx, 0.5, 4, "less than before")
		framework.Progress(ctx, 2, math.Inf(1), "")
		return nil
	})))
	bothEras(t, func(t *testing.T, rev protocol.Revision) {
		p := dial(t, s, rev, withMeta("progressToken", `7`))
		p.tool("t", `{}`).ok()
		got := fmt.Sprintf("%s", p.notifications(protocol.NotificationProgress))
		if want := `[{"progressToken":7,"progress":1,"total":4} {"progressToken":7,"progress":2}]`; got != want {
			t.Errorf("notified %s, want %s", got, want)
		}
	})
}

func TestTrack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		items := make([]int, 100)
		s := build(t, quiet().Add(doing(func(ctx context.Context) error {
			n := 0
			for i := range framework.Track(ctx, items, "work") {
				if i != n {
					t.Errorf("item %d comes as %d", n, i)
				}
				n++
				time.Sleep(10 * time.Millisecond)
			}
			if n != len(items) {
				t.Errorf("%d items", n)
			}
			return nil
		})))
		p := dial(t, s, protocol.Rev20260728, withMeta("progressToken", `1`))
		p.tool("t", `{}`).ok()
		got := p.notifications(protocol.NotificationProgress)
		if len(got) < 9 || len(got) > 12 {
			t.Errorf("%d reports in a second", len(got))
		}
		if last := string(got[len(got)-1]); !strings.Contains(last, `"progress":100,"total":100`) || !strings.Contains(last, "work") {
			t.Errorf("the last report is %s", last)
		}
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n := 0
	for range framework.Track(ctx, make([]int, 10), "") {
		n++
		cancel()
	}
	if n != 1 {
		t.Errorf("a cancelled loop went on for %d items", n)
	}
}

func TestLogReachesTheClient(t *testing.T) {
	t.Parallel()
	core, logs := observer.New(zap.WarnLevel)
	s := build(t, framework.New("test", "1", framework.WithLogger(zap.New(core))).Add(doing(func(ctx context.Context) error {
		log := framework.Log(ctx).Named("db")
		log.Debug("not wanted")
		log.With(zap.Int64("id", 1<<53+1)).Info("hello", zap.String("api_key", "hunter2"), zap.Duration("took", time.Second))
		log.Error("bad", zap.Error(errors.New("cause")))
		framework.Notify(ctx, protocol.LevelNotice, "note", zap.String("password", "hunter2"))
		type account struct{ Name, Password string }
		framework.Notify(ctx, protocol.LevelNotice, "deeper", zap.Any("all", []account{{"ann", "hunter2"}}), zap.Namespace("in"),
			zap.Dict("db", zap.String("token", "hunter2"), zap.Int("port", 1)), zap.Any("none", map[string]int{}), zap.Ints("no", []int{}))
		framework.Notify(ctx, "silly", "no level")
		return nil
	})))
	check := func(t *testing.T, p *peer) {
		t.Helper()
		p.tool("t", `{}`).ok()
		want := []string{
			`{"level":"info","logger":"db","data":{"message":"hello","id":9007199254740993,"api_key":"[hidden]","took":"1s"}}`,
			`{"level":"error","logger":"db","data":{"message":"bad","error":"cause"}}`,
			`{"level":"notice","data":{"message":"note","password":"[hidden]"}}`,
			`{"level":"notice","data":{"message":"deeper","all":[{"Name":"ann","Password":"[hidden]"}],"in":{"db":{"token":"[hidden]","port":1},"none":{},"no":[]}}}`,
		}
		got := p.notifications(protocol.NotificationMessage)
		if len(got) != len(want) {
			t.Fatalf("notified %s", got)
		}
		for i := range want {
			if !sameJSON(t, string(got[i]), want[i]) {
				t.Errorf("got  %s\nwant %s", got[i], want[i])
			}
		}
	}
	check(t, dial(t, s, protocol.Rev20260728, withMeta("io.modelcontextprotocol/logLevel", `"info"`)))
	legacy := dial(t, s, protocol.Rev20251125)
	legacy.call("logging/setLevel", `{"level":"info"}`).ok()
	check(t, legacy)
	silent := dial(t, s, protocol.Rev20260728)
	silent.tool("t", `{}`).ok()
	if got := silent.notifications(protocol.NotificationMessage); got != nil {
		t.Errorf("unasked: %s", got)
	}
	if got := logs.FilterMessage("bad"); got.Len() != 3 || got.All()[0].ContextMap()["tool"] != "t" {
		t.Errorf("the app's log has %v", got.All())
	}
}

func TestLogIsThrottled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := build(t, quiet().Add(doing(func(ctx context.Context) error {
			for range 1000 {
				framework.Log(ctx).Info("flood")
			}
			time.Sleep(time.Second)
			framework.Log(ctx).Info("later")
			for range 30 {
				framework.Notify(ctx, protocol.LevelInfo, "explicit")
			}
			return nil
		})))
		p := dial(t, s, protocol.Rev20260728, withMeta("io.modelcontextprotocol/logLevel", `"debug"`))
		p.tool("t", `{}`).ok()
		got := p.notifications(protocol.NotificationMessage)
		if len(got) != 51 || !sameJSON(t, string(got[20]), `{"level":"info","data":{"message":"later","dropped":980}}`) {
			t.Errorf("%d messages, the 21st is %s", len(got), got[min(20, len(got)-1)])
		}
	})
}

type userKey struct{}

func TestCaller(t *testing.T) {
	t.Parallel()
	var info *framework.CallInfo
	var server *framework.Server
	s := build(t, quiet().Add(
		doing(func(ctx context.Context) error {
			ctx, cancel := context.WithCancel(context.WithValue(ctx, userKey{}, 1))
			defer cancel()
			info, server = framework.Caller(ctx), framework.ServerFrom(ctx)
			return nil
		}),
		framework.ResourceTemplate("a://{x}", func(ctx context.Context, _ struct{ X string }) (string, error) {
			info = framework.Caller(ctx)
			return "", nil
		}),
	))
	modern := dial(t, s, protocol.Rev20260728, withMeta("example.com/x", `"y"`), withCaps(`{"elicitation":{}}`), as(&framework.Principal{Subject: "ann"}))
	modern.tool("t", `{}`).ok()
	if info.Principal.Subject != "ann" || info.Client.Name != "peer" || !info.Capabilities.Elicitation || info.Revision != "2026-07-28" ||
		info.Session != "" || info.Request != "1" || info.Call == "" || info.Meta["example.com/x"] != "y" || info.Header != nil {
		t.Errorf("Caller = %+v", info)
	}
	if server != s {
		t.Error("ServerFrom is another server")
	}
	modern.read("a://b").ok()
	if info.URI != "a://b" {
		t.Errorf("URI = %q", info.URI)
	}
	dial(t, s, protocol.Rev20250618).tool("t", `{}`).ok()
	if info.Session == "" || info.Client.Name != "peer" || info.Principal != nil {
		t.Errorf("Caller = %+v", info)
	}
}

func TestOutsideOfHandlers(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	framework.Progress(ctx, 1, 2, "")
	framework.Notify(ctx, protocol.LevelInfo, "x")
	framework.Log(ctx).Info("x")
	if framework.Caller(ctx) == nil || framework.ServerFrom(ctx) == nil {
		t.Error("nil")
	}
	_, elicitErr := framework.Elicit[bool](ctx, "?")
	_, generateErr := framework.Generate(ctx, "?")
	_, rootsErr := framework.Roots(ctx)
	for _, err := range []error{elicitErr, generateErr, rootsErr} {
		if !errors.Is(err, framework.ErrUnsupported) || !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("got %v", err)
		}
	}
}

type booking struct {
	Name  string `json:"name" title:"Your name" validate:"min=2"`
	Seats int    `json:"seats,omitempty" default:"1" validate:"min=1,max=9"`
	Class string `json:"class,omitempty" validate:"oneof=eco first"`
}

// elicits runs a tool that asks, and returns its answer and the questions.
func elicits(t *testing.T, fn func(ctx context.Context) (string, error), answers ...string) (reply, []json.RawMessage) {
	t.Helper()
	s := build(t, quiet().Add(framework.Tool("t", func(ctx context.Context, _ struct{}) (string, error) { return fn(ctx) })))
	p := dial(t, s, protocol.Rev20251125, withCaps(`{"elicitation":{},"sampling":{},"roots":{}}`), answering(func(string, json.RawMessage) string {
		if len(answers) == 0 {
			return `"error":{"code":-32603,"message":"no more answers, secret"}`
		}
		next := answers[0]
		answers = answers[1:]
		return next
	}))
	r := p.tool("t", `{}`)
	p.mu.Lock()
	defer p.mu.Unlock()
	var asked []json.RawMessage
	for _, f := range p.asked {
		asked = append(asked, f.Params)
	}
	return r, asked
}

func accept(content string) string {
	return `"result":{"action":"accept","content":` + content + `}`
}

func TestElicit(t *testing.T) {
	t.Parallel()
	ask := func(opts ...framework.AskOption) func(context.Context) (string, error) {
		return func(ctx context.Context) (string, error) {
			b, err := framework.Elicit[booking](ctx, "Who?", opts...)
			return fmt.Sprintf("%+v", b), err
		}
	}
	t.Run("accept", func(t *testing.T) {
		t.Parallel()
		r, asked := elicits(t, ask(), accept(`{"name":"Ann","seats":3}`))
		if r.text() != "{Name:Ann Seats:3 Class:}" {
			t.Errorf("got %s", r.text())
		}
		var q struct {
			Message         string `json:"message"`
			RequestedSchema struct {
				Type       string                    `json:"type"`
				Properties map[string]map[string]any `json:"properties"`
				Required   []string                  `json:"required"`
			} `json:"requestedSchema"`
		}
		if err := json.Unmarshal(asked[0], &q); err != nil {
			t.Fatal(err)
		}
		if q.Message != "Who?" || q.RequestedSchema.Type != "object" || fmt.Sprint(q.RequestedSchema.Required) != "[name]" ||
			q.RequestedSchema.Properties["name"]["title"] != "Your name" || q.RequestedSchema.Properties["seats"]["default"] != 1.0 {
			t.Errorf("asked %s", asked[0])
		}
	})
	t.Run("again", func(t *testing.T) {
		t.Parallel()
		r, asked := elicits(t, ask(), accept(`{"name":"A","seats":30}`), accept(`{"name":"Ann"}`))
		if r.text() != "{Name:Ann Seats:1 Class:}" || len(asked) != 2 {
			t.Errorf("got %s after %d questions", r.text(), len(asked))
		}
		if second := string(asked[1]); !strings.Contains(second, "Who?") || !strings.Contains(second, "Your name must be") || !strings.Contains(second, "Seats must be") {
			t.Errorf("asked again: %s", second)
		}
	})
	t.Run("attempts", func(t *testing.T) {
		t.Parallel()
		wrong := accept(`{"name":"A"}`)
		r, asked := elicits(t, ask(), wrong, wrong, wrong, wrong)
		if len(asked) != 3 {
			t.Errorf("asked %d times", len(asked))
		}
		r.isError()
		r, asked = elicits(t, ask(framework.Attempts(1)), wrong)
		if len(asked) != 1 {
			t.Errorf("asked %d times", len(asked))
		}
		r.isError()
	})
	t.Run("refusals", func(t *testing.T) {
		t.Parallel()
		r, _ := elicits(t, ask(), `"result":{"action":"decline"}`)
		r.isError().mentions("The user declined") // its own safe text
		r, _ = elicits(t, ask(), `"result":{"action":"cancel"}`)
		r.isError().mentions("dismissed")
		r, _ = elicits(t, ask())
		r.isError().omits("secret").mentions("The tool failed")
		r, _ = elicits(t, ask(), `"result":{"action":"shrug"}`)
		r.isError()
		r, _ = elicits(t, func(ctx context.Context) (string, error) {
			a, err := framework.ElicitAnswer[bool](ctx, "?")
			return a.Action, err
		}, `"result":{"action":"decline"}`)
		if r.text() != "decline" {
			t.Errorf("got %s", r.text())
		}
	})
}

func TestElicitScalars(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		ask    func(ctx context.Context) (string, error)
		answer string
		want   string
	}{
		"bool":   {scalar[bool], `{"value":true}`, "true"},
		"string": {scalar[string], `{"value":"x"}`, "x"},
		"int":    {scalar[int], `{"value":7}`, "7"},
		"float":  {scalar[float64], `{"value":1.5}`, "1.5"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, asked := elicits(t, tt.ask, accept(tt.answer))
			if r.text() != tt.want || !strings.Contains(string(asked[0]), `"value":{`) {
				t.Errorf("got %s for %s", r.text(), asked[0])
			}
		})
	}
}

// TestElicitConsent: a form without fields is still one that clients accept.
func TestElicitConsent(t *testing.T) {
	t.Parallel()
	r, asked := elicits(t, scalar[struct{}], accept(`{}`))
	if r.text() != "{}" || !strings.Contains(string(asked[0]), `"requestedSchema":{"type":"object","properties":{}}`) {
		t.Errorf("got %s for %s", r.text(), asked[0])
	}
}

func scalar[T any](ctx context.Context) (string, error) {
	v, err := framework.Elicit[T](ctx, "?")
	return fmt.Sprint(v), err
}

func TestElicitOptions(t *testing.T) {
	t.Parallel()
	properties := func(t *testing.T, asked json.RawMessage) map[string]json.RawMessage {
		t.Helper()
		var q struct {
			RequestedSchema struct {
				Properties map[string]json.RawMessage `json:"properties"`
			} `json:"requestedSchema"`
		}
		if err := json.Unmarshal(asked, &q); err != nil {
			t.Fatal(err)
		}
		return q.RequestedSchema.Properties
	}
	t.Run("prefill", func(t *testing.T) {
		t.Parallel()
		_, asked := elicits(t, func(ctx context.Context) (string, error) {
			_, err := framework.Elicit[booking](ctx, "?", framework.Prefill(booking{Name: "Ann", Seats: 4}))
			return "", err
		}, accept(`{"name":"Ann"}`))
		p := properties(t, asked[0])
		if !strings.Contains(string(p["name"]), `"default":"Ann"`) || !strings.Contains(string(p["seats"]), `"default":4`) {
			t.Errorf("asked %s", asked[0])
		}
	})
	t.Run("prefill of another type", func(t *testing.T) {
		t.Parallel()
		r, asked := elicits(t, func(ctx context.Context) (string, error) {
			_, err := framework.Elicit[booking](ctx, "?", framework.Prefill(3))
			return "", err
		})
		if r.isError(); asked != nil {
			t.Errorf("asked %s", asked)
		}
	})
	t.Run("choices", func(t *testing.T) {
		t.Parallel()
		r, asked := elicits(t, func(ctx context.Context) (string, error) {
			return framework.Elicit[string](ctx, "?", framework.Choices("value", framework.Choice{Value: "a"}, framework.Choice{Value: "b"}))
		}, accept(`{"value":"c"}`), accept(`{"value":"b"}`))
		if r.text() != "b" || len(asked) != 2 || !strings.Contains(string(properties(t, asked[0])["value"]), `"enum":["a","b"]`) {
			t.Errorf("got %s for %s", r.text(), asked)
		}
	})
	t.Run("choices of no field", func(t *testing.T) {
		t.Parallel()
		var err error
		r, asked := elicits(t, func(ctx context.Context) (string, error) {
			_, err = framework.Elicit[string](ctx, "?", framework.Choices("color", framework.Choice{Value: "a"}))
			return "", err
		})
		if r.isError(); asked != nil || err == nil || !strings.Contains(err.Error(), `Choices names the field "color", which the question does not have: it has ["value"]`) {
			t.Errorf("asked %s: %v", asked, err)
		}
	})
	t.Run("titled choices", func(t *testing.T) {
		t.Parallel()
		_, asked := elicits(t, func(ctx context.Context) (string, error) {
			_, err := framework.Elicit[booking](ctx, "?", framework.Choices("name", framework.Choice{Value: "a1", Title: "Ann"}, framework.Choice{Value: "b1"}))
			return "", err
		}, accept(`{"name":"a1"}`))
		if p := properties(t, asked[0]); !strings.Contains(string(p["name"]), `"oneOf":[{"const":"a1","title":"Ann"},{"const":"b1","title":"b1"}]`) {
			t.Errorf("asked %s", asked[0])
		}
	})
	t.Run("form", func(t *testing.T) {
		t.Parallel()
		r, asked := elicits(t, func(ctx context.Context) (string, error) {
			raw, err := framework.Elicit[json.RawMessage](ctx, "?", framework.Form(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`))
			return string(raw), err
		}, accept(`{}`), accept(`{"n":3}`))
		if r.text() != `{"n":3}` || len(asked) != 2 {
			t.Errorf("got %s for %s", r.text(), asked)
		}
	})
}

func TestUnsupportedQuestions(t *testing.T) {
	t.Parallel()
	s := build(t, quiet().Add(
		framework.Tool("elicit", func(ctx context.Context, _ struct{}) (bool, error) { return framework.Elicit[bool](ctx, "?") }),
		framework.Tool("generate", func(ctx context.Context, _ struct{}) (string, error) {
			g, err := framework.Generate(ctx, "?")
			return g.Text(), err
		}),
		framework.Tool("roots", func(ctx context.Context, _ struct{}) (int, error) {
			r, err := framework.Roots(ctx)
			return len(r), err
		}),
		framework.Tool("handled", func(ctx context.Context, _ struct{}) (string, error) {
			if _, err := framework.Elicit[bool](ctx, "?"); errors.Is(err, framework.ErrUnsupported) {
				return "went on", nil
			}
			return "", errors.New("not unsupported")
		}),
	))
	allRevisions(t, func(t *testing.T, rev protocol.Revision) {
		p := dial(t, s, rev)
		for tool, capability := range map[string]string{"elicit": "elicitation", "generate": "sampling", "roots": "roots"} {
			r := p.tool(tool, `{}`)
			if rev != protocol.Rev20260728 {
				r.isError().mentions("not possible")
				continue
			}
			if r.code(-32021); !strings.Contains(string(r.Error.Data), `"`+capability+`":{`) {
				t.Errorf("%s: data = %s", tool, r.Error.Data)
			}
		}
		if got := p.tool("handled", `{}`).text(); got != "went on" {
			t.Errorf("got %q", got)
		}
	})
}

func TestGenerateAndRoots(t *testing.T) {
	t.Parallel()
	r, asked := elicits(t, func(ctx context.Context) (string, error) {
		g, err := framework.Generate(ctx, "100% sure?", framework.System("be short"), framework.MaxTokens(7), framework.Temperature(0.5),
			framework.History(framework.User("hi"), framework.Assistant("hello")), framework.Hints("small"), framework.Priorities(1, 0.5, 0), framework.StopSequences("END"))
		return fmt.Sprintf("%s %s %s %d", g.Text(), g.Model, g.StopReason, g.Turns), err
	}, `"result":{"role":"assistant","content":{"type":"text","text":"yes"},"model":"m","stopReason":"endTurn"}`)
	if r.text() != "yes m endTurn 1" {
		t.Errorf("got %s", r.text())
	}
	want := `{"messages":[{"role":"user","content":{"type":"text","text":"hi"}},{"role":"assistant","content":{"type":"text","text":"hello"}},{"role":"user","content":{"type":"text","text":"100% sure?"}}],
		"systemPrompt":"be short","maxTokens":7,"temperature":0.5,"stopSequences":["END"],
		"modelPreferences":{"hints":[{"name":"small"}],"costPriority":1,"speedPriority":0.5,"intelligencePriority":0}}`
	if !sameJSON(t, string(asked[0]), want) {
		t.Errorf("asked %s", asked[0])
	}
	r, _ = elicits(t, func(ctx context.Context) (string, error) {
		_, err := framework.Generate(ctx, "?")
		return "", err
	}, `"error":{"code":-1,"message":"User rejected sampling request"}`)
	r.isError().mentions("declined")
	r, _ = elicits(t, func(ctx context.Context) (string, error) {
		_, err := framework.Elicit[bool](ctx, "?")
		if errors.Is(err, framework.ErrUnsupported) {
			return "without asking", nil
		}
		return "", err
	}, `"error":{"code":-32601,"message":"Method not found"}`)
	if r.text() != "without asking" {
		t.Errorf("a bridge that passes on what the client declares, but no questions: %s", r.text())
	}
	r, _ = elicits(t, func(ctx context.Context) (string, error) {
		roots, err := framework.Roots(ctx)
		return fmt.Sprint(roots[0].URI, roots[0].Name), err
	}, `"result":{"roots":[{"uri":"file:///a","name":"a"}]}`)
	if r.text() != "file:///aa" {
		t.Errorf("got %s", r.text())
	}
}

func TestRootsChanged(t *testing.T) {
	t.Parallel()
	called := make(chan *framework.Server, 2)
	core, logs := observer.New(zap.ErrorLevel)
	s := build(t, quiet(framework.WithLogger(zap.New(core))).Add(framework.Tool("t", none)).
		OnRootsChanged(func(context.Context) { panic("caught") }).
		OnRootsChanged(func(ctx context.Context) { called <- framework.ServerFrom(ctx) }))
	p := dial(t, s, protocol.Rev20251125, withCaps(`{"roots":{"listChanged":true}}`))
	p.frame(`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`)
	if got := <-called; got != s {
		t.Error("the hook does not know its server")
	}
	if got := logs.FilterMessage("background work failed").All(); len(got) != 1 || !strings.Contains(fmt.Sprint(got[0].ContextMap()["error"]), "OnRootsChanged") {
		t.Errorf("%d entries of %d", len(got), logs.Len())
	}
}

// A tool that a model calls logs to the same client, within the same bound.
func TestLogOfInnerParts(t *testing.T) {
	t.Parallel()
	inner := framework.Tool("inner", func(ctx context.Context, _ struct{}) (string, error) {
		for range 30 {
			framework.Log(ctx).Info("inner")
		}
		return "", nil
	})
	s := build(t, quiet().Add(framework.Tool("t", func(ctx context.Context, _ struct{}) (string, error) {
		framework.Log(ctx).Info("outer")
		g, err := framework.Generate(ctx, "go", framework.WithTools(inner))
		return g.Text(), err
	})))
	turn := 0
	a := newAsker(t, s, protocol.Rev20251125, func(string, question) string {
		if turn++; turn == 1 {
			return using("inner", `{}`)
		}
		return model("bye")
	})
	a.call("logging/setLevel", `{"level":"info"}`).ok()
	if got := a.tool("t", `{}`).text(); got != "bye" {
		t.Errorf("got %q", got)
	}
	if got := len(a.notifications(protocol.NotificationMessage)); got < 20 || got > 25 {
		t.Errorf("%d messages", got)
	}
}

// TestLogOfALateLevel: a client that sets its level during a call gets what the call logs from then on.
func TestLogOfALateLevel(t *testing.T) {
	t.Parallel()
	var p *peer
	s := build(t, quiet().Add(doing(func(ctx context.Context) error {
		framework.Log(ctx).Info("early")
		p.call("logging/setLevel", `{"level":"info"}`).ok()
		framework.Log(ctx).Info("late")
		return nil
	})))
	p = dial(t, s, protocol.Rev20251125)
	p.tool("t", `{}`).ok()
	if got := p.notifications(protocol.NotificationMessage); len(got) != 1 || !sameJSON(t, string(got[0]), `{"level":"info","data":{"message":"late"}}`) {
		t.Errorf("notified %s", got)
	}
}
