package testkit_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/testkit"
)

func TestCall(t *testing.T) {
	t.Parallel()
	h := newHandles()
	testkit.AllRevisions(t, h.app, func(t *testing.T, s *testkit.Session) {
		out, err := testkit.Call(s, h.wait, waitIn{For: 90 * time.Second, Exact: 1<<62 + 1})
		if err != nil || out.Waited != 90*time.Second || out.Exact != 1<<62+1 || out.Names == nil {
			t.Errorf("wait: %+v, %v", out, err)
		}
		n, err := testkit.Call(s, h.sum, struct{ Values []int64 }{[]int64{1, 2}})
		if err != nil || n != 3 {
			t.Errorf("sum: %d, %v", n, err)
		}
		var failed *testkit.Error
		_, err = testkit.Call(s, h.fail, struct{}{})
		if !errors.As(err, &failed) || failed.Code != 0 || failed.Text != "out of tea" || failed.Result == nil {
			t.Errorf("fail: %v", err)
		}
		_, err = testkit.Call(s, h.wait, waitIn{For: -1})
		if !errors.As(err, &failed) || !strings.Contains(failed.Text, "/for") {
			t.Errorf("invalid: %v", err)
		}
	})
}

func TestCallAs(t *testing.T) {
	t.Parallel()
	testkit.AllRevisions(t, newHandles().app, func(t *testing.T, s *testkit.Session) {
		out, err := testkit.CallAs[waitOut](s, "wait", waitIn{For: time.Minute})
		if err != nil || out.Waited != time.Minute {
			t.Errorf("struct: %+v, %v", out, err)
		}
		out, err = testkit.CallAs[waitOut](s, "wait", map[string]any{"for": "2m"})
		if err != nil || out.Waited != 2*time.Minute {
			t.Errorf("map: %+v, %v", out, err)
		}
		n, err := testkit.CallAs[int64](s, "math_sum", json.RawMessage(`{"Values":[4,5]}`))
		if err != nil || n != 9 {
			t.Errorf("raw: %d, %v", n, err)
		}
		who, err := testkit.CallAs[string](s, "whoami", nil)
		if err != nil || who != "nobody" {
			t.Errorf("nil: %q, %v", who, err)
		}
		if _, err := testkit.CallAs[int64](s, "whoami", nil); err == nil {
			t.Error("a text was read as a number")
		}
		rich, err := testkit.CallAs[framework.Rich[waitOut]](s, "rich", nil)
		if err != nil || len(rich.Content) != 1 || rich.Meta["k"] != "v" || len(rich.Meta) != 1 {
			t.Errorf("rich: %+v, %v", rich, err)
		}
	})
}

func TestReadAs(t *testing.T) {
	t.Parallel()
	testkit.AllRevisions(t, newHandles().app, func(t *testing.T, s *testkit.Session) {
		menu, err := testkit.ReadAs[waitOut](s, "tea://menu")
		if err != nil || menu.Waited != time.Minute || !slices.Equal(menu.Names, []string{"sencha"}) {
			t.Errorf("got %+v, %v", menu, err)
		}
		var failed *testkit.Error
		if _, err := testkit.ReadAs[waitOut](s, "tea://none"); !errors.As(err, &failed) || failed.Code == 0 {
			t.Errorf("missing: %v", err)
		}
		if _, err := testkit.ReadAs[waitOut](s, "tea://blob"); err == nil {
			t.Error("a blob was read as JSON")
		}
		if _, err := testkit.ReadAs[[]int](s, "tea://menu"); err == nil {
			t.Error("an object was read as a list")
		}
	})
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	testkit.AllRevisions(t, newHandles().app, func(t *testing.T, s *testkit.Session) {
		var out waitOutJSON
		s.CallRaw("wait", `{"for":"1m30s"}`).OK().Mentions("1m30s").Omits("error").JSON(&out)
		if out.Waited != "1m30s" {
			t.Errorf("JSON: %+v", out)
		}
		var n int
		if s.CallRaw("math_sum", `{"Values":[1,2]}`).JSON(&n); n != 3 {
			t.Errorf("wrapped JSON: %d", n)
		}
		s.CallRaw("fail", "").IsError().Mentions("out of tea")
		s.CallRaw("wait", `{"for":7,"what":1}`).IsError().Mentions("/for", "/what")
		s.CallRaw("wait", `[1]`).IsError().Code(-32602)
		s.CallRaw("nothing", `{}`).IsError().Code(protocol.CodeInvalidParams)
		if blocks := s.CallRaw("whoami", "").Blocks(); len(blocks) != 1 || blocks[0].(protocol.Text).Text != "nobody" {
			t.Errorf("Blocks: %v", blocks)
		}
		if got := s.CallRaw("rich", "{}").Meta()["k"]; got != "v" {
			t.Errorf("Meta: %v", got)
		}
		if c := s.Read("tea://cups/oolong").OK().Contents(); len(c) != 1 || c[0].Text != "a cup of oolong" {
			t.Errorf("Contents: %+v", c)
		}
		s.Read("tea://none").IsError()
		s.Read("tea://menu").JSON(&out)
		if m := s.Get("brew", map[string]string{"tea": "mate"}).OK().Mentions("Brew mate").Messages(); len(m) != 1 {
			t.Errorf("Messages: %+v", m)
		}
		s.Get("brew", nil).IsError().Code(-32602)
	})
}

type waitOutJSON struct {
	Waited string `json:"waited"`
}

func TestRaw(t *testing.T) {
	t.Parallel()
	testkit.BothEras(t, newHandles().app, func(t *testing.T, s *testkit.Session) {
		s.Raw(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"whoami"` + meta(s) + `}}`).OK().Mentions("nobody").Blocks()
		s.Raw(`{"jsonrpc":"2.0","id":1,"method":"no/such","params":{"a":1` + meta(s) + `}}`).Code(-32601)
		s.Raw(`{"jsonrpc":`).Code(-32700)
		s.Raw(`[]`).Code(-32600)
		if got := s.Raw(`{"jsonrpc":"2.0","method":"notifications/none"}`).OK().Text(); got != "" {
			t.Errorf("a notification was answered with %s", got)
		}
	})
}

func TestRawBatch(t *testing.T) {
	t.Parallel()
	const batch = `[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":"b","method":"tools/call","params":{"name":"whoami"}}]`
	s := testkit.New(t, newHandles().app(), testkit.At(protocol.Rev20250326))
	s.Raw(batch).OK().Mentions(`"id":1`, `"id":"b"`, "nobody")
	testkit.New(t, newHandles().app(), testkit.At(protocol.Rev20251125)).Raw(batch).Code(-32600)
}

// An error in a batch is an error, of the protocol or of a tool.
func TestRawBatchWithErrors(t *testing.T) {
	t.Parallel()
	const fine = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	for name, other := range map[string]string{
		"of the protocol":  `{"jsonrpc":"2.0","id":"b","method":"no/such"}`,
		"of a tool":        `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"fail"}}`,
		"without a method": `{"jsonrpc":"2.0","id":2}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			batch := "[" + fine + "," + other + "]"
			testkit.New(t, newHandles().app(), testkit.At(protocol.Rev20250326)).Raw(batch).IsError()
			got := failures(t, func(t testing.TB) {
				testkit.New(t, newHandles().app(), testkit.At(protocol.Rev20250326)).Raw(batch).OK()
			})
			if len(got) != 1 || !strings.Contains(got[0], "want success") {
				t.Errorf("complaints: %q", got)
			}
		})
	}
}

// meta is the _meta of a raw request, after other members.
func meta(s *testkit.Session) string {
	if testkit.IsHandshake(s) {
		return ""
	}
	return `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
}

func TestLists(t *testing.T) {
	t.Parallel()
	testkit.AllRevisions(t, newHandles().app, func(t *testing.T, s *testkit.Session) {
		if tools := s.Tools(); len(tools) != 9 || tools[1].Name != "math_sum" {
			t.Errorf("%d tools: %+v", len(tools), tools)
		}
		if tools := s.As("root", "admin").Tools(); len(tools) != 10 {
			t.Errorf("%d tools for an admin", len(tools))
		}
		if r := s.Resources(); len(r) != 2 || r[0].URI != "tea://menu" {
			t.Errorf("resources: %+v", r)
		}
		if r := s.Templates(); len(r) != 1 || r[0].URITemplate != "tea://cups/{name}" {
			t.Errorf("templates: %+v", r)
		}
		if p := s.Prompts(); len(p) != 1 || p[0].Name != "brew" {
			t.Errorf("prompts: %+v", p)
		}
		if got := s.Complete("brew", "tea", "ma", nil); !slices.Equal(got, []string{"macha"}) {
			t.Errorf("completion of a prompt: %v", got)
		}
		if got := s.Complete("tea://cups/{name}", "name", "", nil); !slices.Contains(got, "gyokuro") {
			t.Errorf("completion of a template: %v", got)
		}
	})
}

// TestCompleteKnowsTemplates: they have braces; names of prompts may have colons.
func TestCompleteKnowsTemplates(t *testing.T) {
	t.Parallel()
	offer := func(context.Context, string, map[string]string) ([]string, error) { return []string{"macha"}, nil }
	brew := func(context.Context, struct{ Tea string }) (framework.Messages, error) { return nil, nil }
	s := testkit.New(t, framework.New("kit", "1").Add(framework.Prompt("tea:brew", brew, framework.Complete("tea", offer))))
	if got := s.Complete("tea:brew", "tea", "ma", nil); !slices.Equal(got, []string{"macha"}) {
		t.Errorf("offered are %q", got)
	}
}

func TestPrincipals(t *testing.T) {
	t.Parallel()
	testkit.BothEras(t, newHandles().app, func(t *testing.T, s *testkit.Session) {
		s.CallRaw("whoami", "").Mentions("ann")
		s.CallRaw("secret", "").IsError()
		other := s.As("bob", "admin")
		other.CallRaw("whoami", "").Mentions("bob")
		other.CallRaw("secret", "").OK().Mentions("42")
		if other.Server() != s.Server() {
			t.Error("As opened another server")
		}
		if p := framework.Caller(other.Context()).Principal; p == nil || p.Subject != "bob" {
			t.Errorf("principal of the context: %+v", p)
		}
	}, testkit.User("ann"))
}

func TestProgressAndLogs(t *testing.T) {
	t.Parallel()
	testkit.AllRevisions(t, newHandles().app, func(t *testing.T, s *testkit.Session) {
		s.CallRaw("wait", `{"for":"1s"}`).OK()
		if p := s.Progress(); len(p) != 5 || p[0].Done != 1 || p[4].Done != 5 || p[4].Total != 5 {
			t.Errorf("progress %+v", p)
		}
		if logs := s.Logs(); len(logs) != 0 {
			t.Errorf("logs without a level: %+v", logs)
		}
		s.LogLevel("info")
		s.CallRaw("wait", `{"for":"1s"}`).OK()
		logs := s.Logs()
		if len(logs) != 1 || logs[0].Level != "info" || !strings.Contains(string(logs[0].Data), "waited") {
			t.Errorf("logs %+v", logs)
		}
		if n := s.AwaitNotification(protocol.NotificationMessage); !strings.Contains(string(n.Params), "waited") {
			t.Errorf("awaited %s", n.Params)
		}
		if n := len(s.Notifications()); n != 11 {
			t.Errorf("%d notifications", n)
		}
	})
}

func TestChanges(t *testing.T) {
	t.Parallel()
	testkit.AllRevisions(t, newHandles().app, func(t *testing.T, s *testkit.Session) {
		if n := s.Notifications(); len(n) != 0 {
			t.Errorf("notifications before any change: %v", n)
		}
		s.Subscribe("tea://menu")
		s.Server().ResourceUpdated(s.Context(), "tea://menu")
		if n := s.AwaitNotification(protocol.NotificationResourceUpdated); !strings.Contains(string(n.Params), "tea://menu") {
			t.Errorf("updated: %s", n.Params)
		}
		for range 2 {
			s.Server().RemoveTools("fail")
			s.AwaitNotification(protocol.NotificationToolsChanged)
			if err := s.Server().Add(newHandles().fail); err != nil {
				t.Fatal(err)
			}
			s.AwaitNotification(protocol.NotificationToolsChanged)
		}
	})
}

// TestScript: the script answers live and in rounds.
func TestScript(t *testing.T) {
	t.Parallel()
	testkit.BothEras(t, newHandles().app, script)
}

func script(t *testing.T, s *testkit.Session) {
	s.OnElicit("city", "asked last")
	s.OnElicit("name", "Ann")
	s.OnElicit("name", testkit.Decline)
	s.OnElicit("name", testkit.Cancel)
	s.OnElicit("name", func(f testkit.Form) any {
		if f.Message != "What is your name?" || !strings.Contains(string(f.Schema), "value") || f.URL != "" {
			t.Errorf("form %+v", f)
		}
		return map[string]any{"value": "Bob"}
	})
	for _, want := range []string{"accept Ann", "decline", "cancel", "accept Bob"} {
		if got := strings.TrimSpace(s.CallRaw("greet", "").OK().Text()); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	s.CallRaw("travel", "").OK().Mentions("asked last")
	s.OnSample("number", "seven")
	s.CallRaw("think", "").OK().Mentions("seven")
	s.Roots(protocol.Root{URI: "file:///a"}, protocol.Root{URI: "file:///b"})
	s.CallRaw("where", "").OK().Mentions("2", "file:///a")
}

// TestUnmet: what a revision cannot ask is not missed.
func TestUnmet(t *testing.T) {
	t.Parallel()
	for _, rev := range []protocol.Revision{protocol.Rev20241105, protocol.Rev20250326} {
		s := testkit.New(t, newHandles().app(), testkit.At(rev))
		s.OnElicit("name", "Ann")
		s.OnSampleTools(testkit.Turn{Reply: "none"})
		s.CallRaw("greet", "").IsError()
	}
}

func TestWithout(t *testing.T) {
	t.Parallel()
	testkit.BothEras(t, newHandles().app, without, testkit.Without("elicitation", "sampling"), testkit.Without("roots", "tasks"))
}

func without(t *testing.T, s *testkit.Session) {
	t.Helper()
	for _, tool := range []string{"greet", "think", "where"} {
		s.CallRaw(tool, "").IsError()
	}
}

func TestSources(t *testing.T) {
	t.Parallel()
	app := newHandles().app()
	testkit.New(t, app).CallRaw("whoami", "").OK()
	testkit.New(t, app).CallRaw("whoami", "").OK() // one app, two servers
	testkit.New(t, newHandles().app).CallRaw("whoami", "").OK()
	testkit.New(t, func(t testing.TB) *framework.App {
		t.Helper()
		return newHandles().app()
	}, testkit.Principal(framework.Principal{Subject: "carl"})).CallRaw("whoami", "").Mentions("carl")
}

func TestStartAndStop(t *testing.T) {
	var steps []string
	note := func(step string) func(context.Context, *framework.Server) error {
		return func(context.Context, *framework.Server) error {
			steps = append(steps, step)
			return nil
		}
	}
	t.Run("session", func(t *testing.T) {
		s := testkit.New(t, newHandles().app().OnStart(note("start")).OnStop(note("stop")))
		s.CallRaw("whoami", "").OK()
	})
	if !slices.Equal(steps, []string{"start", "stop"}) {
		t.Errorf("steps %v", steps)
	}
}

func TestInABubble(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := testkit.New(t, newHandles().app())
		s.CallRaw("wait", `{"for":"1s"}`).OK()
		s.Server().ResourceUpdated(s.Context(), "tea://menu")
		synctest.Wait()
	})
}

// What a result says in an embedded resource or a link is text, on every revision.
func TestWordsOfBlocks(t *testing.T) {
	app := framework.New("blocks", "1").Add(
		framework.Tool("blocks", func(context.Context, struct{}) (framework.Content, error) {
			return framework.Content{
				framework.Text("first"),
				framework.Embedded{Contents: framework.Contents{URI: "x://e", Text: "within"}},
				framework.Link{URI: "x://l", Name: "name", Description: "about it"},
			}, nil
		}, framework.Describe("Show blocks.")),
		framework.Prompt("blocks", func(context.Context, struct{}) (framework.Messages, error) {
			return framework.Messages{framework.UserBlock(framework.Embedded{Contents: framework.Contents{URI: "x://e", Text: "within"}})}, nil
		}, framework.Describe("Show blocks.")))
	testkit.AllRevisions(t, app, func(_ *testing.T, s *testkit.Session) {
		s.CallRaw("blocks", "").OK().Mentions("first", "within", "name", "x://l", "about it")
		s.Get("blocks", nil).OK().Mentions("within")
	})
}

// TestUnchecked: an answer that does not fit the form reaches the server, which asks again.
func TestUnchecked(t *testing.T) {
	t.Parallel()
	type form struct {
		N int `json:"n" validate:"min=1"`
	}
	app := func() *framework.App {
		return framework.New("asks", "1").Add(framework.Tool("count", func(ctx context.Context, _ struct{}) (int, error) {
			f, err := framework.Elicit[form](ctx, "How many?")
			return f.N, err
		}))
	}
	for _, name := range []string{"2025-11-25", "2026-07-28"} {
		revision, _ := protocol.ParseRevision(name)
		s := testkit.New(t, app, testkit.At(revision))
		if got := s.Revision(); got != revision {
			t.Errorf("the revision is %s, want %s", got, revision)
		}
		s.OnElicit("How many?", testkit.Unchecked(map[string]any{"n": "x"}))
		s.OnElicit("How many?", testkit.Unchecked(map[string]any{"n": 0}))
		s.OnElicit("How many?", form{N: 2})
		s.CallRaw("count", "").OK().Mentions("2")
	}
}

// TestTextOfAnImage checks that the text of an answer without text is "", and not the answer's
// JSON.
func TestTextOfAnImage(t *testing.T) {
	t.Parallel()
	app := framework.New("kit", "1").Add(framework.Tool("chart", func(context.Context, struct{}) (framework.Content, error) {
		return framework.Content{protocol.Image{Data: []byte("x"), MIME: "image/png"}}, nil
	}))
	if got := testkit.New(t, app).CallRaw("chart", "").OK().Text(); got != "" {
		t.Errorf("the text %q", got)
	}
}
