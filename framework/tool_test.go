package framework_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
)

type searchIn struct {
	Query string `json:"query" doc:"words to look for" validate:"min=2"`
	Limit int    `json:"limit,omitempty" doc:"rows to return" default:"10" validate:"min=1,max=100"`
}

type searchOut struct {
	Rows  []string `json:"rows"`
	Limit int      `json:"limit"`
}

func search(_ context.Context, in searchIn) (searchOut, error) {
	return searchOut{Rows: []string{in.Query}, Limit: in.Limit}, nil
}

func none(context.Context, struct{}) (string, error) { return "ok", nil }

func TestToolCall(t *testing.T) {
	t.Parallel()
	s := build(t, quiet().Add(framework.Tool("search", search, framework.Describe("Search"), framework.ReadOnly())))
	allRevisions(t, func(t *testing.T, rev protocol.Revision) {
		p := dial(t, s, rev)
		r := p.tool("search", `{"query":"go"}`)
		if want := `{"rows":["go"],"limit":10}`; r.text() != want {
			t.Errorf("text = %s, want %s", r.text(), want)
		}
		list := p.call("tools/list", "")
		if got := list.names("tools", "name"); len(got) != 1 || got[0] != "search" {
			t.Errorf("listed %v", got)
		}
		if list.field("tools.0.inputSchema.type") != "object" {
			t.Errorf("inputSchema = %v", list.field("tools.0.inputSchema"))
		}
	})
}

func TestArgumentFaultsTeach(t *testing.T) {
	t.Parallel()
	s := build(t, quiet().Add(framework.Tool("search", search)))
	allRevisions(t, func(t *testing.T, rev protocol.Revision) {
		p := dial(t, s, rev)
		r := p.tool("search", `{"query":"x","limt":5}`)
		switch rev {
		case protocol.Rev20251125, protocol.Rev20260728:
			r.isError()
		default:
			r.code(protocol.CodeInvalidParams)
			if !strings.Contains(string(r.Error.Data), `"/limt"`) {
				t.Errorf("data = %s", r.Error.Data)
			}
		}
		r.mentions("search: 2 problems.", "/query", "/limt", `"limit"`)
	})
}

func TestRepairShowsInMeta(t *testing.T) {
	t.Parallel()
	bothEras(t, func(t *testing.T, rev protocol.Revision) {
		s := build(t, quiet().Add(framework.Tool("search", search)))
		got := dial(t, s, rev).tool("search", `{"query":"go","limit":"7"}`).tool()
		if fmt.Sprint(got.Meta["kagami/repaired"]) != "[/limit]" {
			t.Errorf("_meta = %v", got.Meta)
		}
		strict := build(t, quiet(framework.WithoutRepair()).Add(framework.Tool("search", search)))
		dial(t, strict, rev).tool("search", `{"query":"go","limit":"7"}`).isError()
		lax := build(t, quiet(framework.AllowUnknown()).Add(framework.Tool("search", search)))
		if dial(t, lax, rev).tool("search", `{"query":"go","other":1}`).tool().IsError {
			t.Error("AllowUnknown refused an unknown key")
		}
	})
}

func TestUnknownTool(t *testing.T) {
	t.Parallel()
	s := build(t, quiet().Add(framework.Tool("search", search), framework.Tool("secret", none, framework.Hidden())))
	bothEras(t, func(t *testing.T, rev protocol.Revision) {
		p := dial(t, s, rev)
		p.tool("serch", `{}`).code(protocol.CodeInvalidParams).mentions(`unknown tool "serch"`, `Did you mean "search"?`)
		p.tool("zzz", `{}`).code(protocol.CodeInvalidParams).omits("Did you mean")
		p.tool("a"+strings.Repeat("ä", 100), `{}`).code(protocol.CodeInvalidParams).mentions(`ä…"`) // not half of one
		p.tool("secre", `{}`).code(protocol.CodeInvalidParams).omits(`"secret"`)
		if got := p.tool("secret", `{}`).text(); got != "ok" {
			t.Errorf("a hidden tool answered %q", got)
		}
		if got := p.call("tools/list", "").names("tools", "name"); len(got) != 1 {
			t.Errorf("listed %v", got)
		}
	})
}

type color string

type tree struct {
	Name string  `json:"name"`
	Kids []*tree `json:"kids"`
}

func returning[Out any](out Out) framework.Component {
	return framework.Tool("t", func(context.Context, struct{}) (Out, error) { return out, nil })
}

func TestResults(t *testing.T) {
	t.Parallel()
	png := []byte("\x89PNG\r\n\x1a\n0000")
	tests := map[string]struct {
		component  framework.Component
		content    string // as JSON
		structured string // "" = absent
	}{
		"text":        {returning("hi"), `[{"type":"text","text":"hi"}]`, ""},
		"none":        {returning(struct{}{}), `[]`, ""},
		"bytes":       {returning([]byte("abc")), `[{"type":"resource","resource":{"uri":"result://t","mimeType":"text/plain","blob":"YWJj"}}]`, ""},
		"image":       {returning(framework.Image{Data: png}), `[{"type":"image","data":"iVBORw0KGgowMDAw","mimeType":"image/png"}]`, ""},
		"audio":       {returning(framework.Audio{Data: []byte("OggS"), MIME: "audio/ogg"}), `[{"type":"audio","data":"T2dnUw==","mimeType":"audio/ogg"}]`, ""},
		"link":        {returning(framework.Link{URI: "a://b", Name: "b"}), `[{"type":"resource_link","uri":"a://b","name":"b"}]`, ""},
		"embedded":    {returning(framework.Embedded{Contents: framework.Contents{URI: "a://b", MIME: "text/plain", Text: "x"}}), `[{"type":"resource","resource":{"uri":"a://b","mimeType":"text/plain","text":"x"}}]`, ""},
		"block":       {returning(framework.Text("x")), `[{"type":"text","text":"x"}]`, ""},
		"content":     {returning(framework.Content{framework.Text("a"), framework.Text("b")}), `[{"type":"text","text":"a"},{"type":"text","text":"b"}]`, ""},
		"no content":  {returning(framework.Content(nil)), `[]`, ""},
		"blocks":      {returning([]protocol.Block{framework.Text("a")}), `[{"type":"text","text":"a"}]`, ""},
		"struct":      {returning(searchOut{Limit: 1}), `[{"type":"text","text":"{\"rows\":[],\"limit\":1}"}]`, `{"rows":[],"limit":1}`},
		"map":         {returning(map[string]int{"b": 2, "a": 1}), `[{"type":"text","text":"{\"a\":1,\"b\":2}"}]`, `{"a":1,"b":2}`},
		"recursive":   {returning(tree{Name: "x"}), `[{"type":"text","text":"{\"name\":\"x\",\"kids\":[]}"}]`, `{"name":"x","kids":[]}`},
		"raw":         {returning(json.RawMessage(`{"a":1}`)), `[{"type":"text","text":"{\"a\":1}"}]`, `{"a":1}`},
		"rich":        {returning(framework.Rich[searchOut]{Value: searchOut{Limit: 1}}), `[{"type":"text","text":"{\"rows\":[],\"limit\":1}"}]`, `{"rows":[],"limit":1}`},
		"rich blocks": {returning(framework.Rich[searchOut]{Content: framework.Content{framework.Text("see")}}), `[{"type":"text","text":"see"}]`, `{"rows":[],"limit":0}`},
		"rich text":   {returning(framework.Rich[string]{Value: "x"}), `[{"type":"text","text":"x"}]`, ""},
		"rich raw":    {returning(framework.Rich[json.RawMessage]{Value: json.RawMessage(`{"a":1}`), Content: framework.Content{framework.Text("see")}}), `[{"type":"text","text":"see"}]`, `{"a":1}`},
		"rich no raw": {returning(framework.Rich[json.RawMessage]{Content: framework.Content{framework.Text("see")}}), `[{"type":"text","text":"see"}]`, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := build(t, quiet().Add(tt.component))
			for _, rev := range []protocol.Revision{protocol.Rev20251125, protocol.Rev20260728} {
				got := dial(t, s, rev).tool("t", `{}`).tool()
				if got.IsError {
					t.Fatalf("%s: isError: %v", rev, got.Content)
				}
				content, _ := json.Marshal(got.Content)
				if !sameJSON(t, string(content), tt.content) {
					t.Errorf("%s: content = %s, want %s", rev, content, tt.content)
				}
				if string(got.StructuredContent) != tt.structured {
					t.Errorf("%s: structured = %s, want %s", rev, got.StructuredContent, tt.structured)
				}
			}
		})
	}
}

// TestPointersAreObjects: a nullable object is no reason to wrap, be it one that contains
// itself or not.
func TestPointersAreObjects(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		component framework.Component
		want      string
	}{
		"pointer":   {returning(&searchOut{Limit: 1}), `{"rows":[],"limit":1}`},
		"pointers":  {returning(new(&searchOut{Limit: 1})), `{"rows":[],"limit":1}`},
		"recursive": {returning(&tree{Name: "x"}), `{"name":"x","kids":[]}`},
	} {
		s := build(t, quiet().Add(tt.component))
		for _, rev := range []protocol.Revision{protocol.Rev20250618, protocol.Rev20251125, protocol.Rev20260728} {
			p := dial(t, s, rev)
			answer := p.tool("t", `{}`)
			if got := string(answer.tool().StructuredContent); got != tt.want {
				t.Errorf("%s at %s: %s", name, rev, answer.Result)
			}
			list := p.call("tools/list", `{}`)
			if kind := list.field("tools.0.outputSchema.type"); rev != protocol.Rev20260728 && kind != "object" ||
				list.field("tools.0.outputSchema.properties.result") != nil {
				t.Errorf("%s at %s: %s", name, rev, list.Result)
			}
		}
	}
}

func TestResultsThatAreNoObjects(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		component framework.Component
		text      string
	}{
		"list":   {returning([]int{1, 2}), `[1,2]`},
		"nil":    {returning([]int(nil)), `[]`},
		"number": {returning(0), `0`},
		"bool":   {returning(false), `false`},
		"enum":   {returning(color("red")), `"red"`},
		"null":   {returning((*searchOut)(nil)), `null`},
		"exact":  {returning(int64(math.MaxInt64)), `9223372036854775807`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := build(t, quiet().Add(tt.component))
			modern := dial(t, s, protocol.Rev20260728).tool("t", `{}`)
			if got := modern.tool(); string(got.StructuredContent) != tt.text || modern.text() != tt.text {
				t.Errorf("2026-07-28: %s", modern.Result)
			}
			wrapped := dial(t, s, protocol.Rev20251125).tool("t", `{}`)
			if got := string(wrapped.tool().StructuredContent); got != `{"result":`+tt.text+`}` {
				t.Errorf("2025-11-25: %s", wrapped.Result)
			}
			if old := dial(t, s, protocol.Rev20250326).tool("t", `{}`); old.text() != tt.text || old.tool().StructuredContent != nil {
				t.Errorf("2025-03-26: %s", old.Result)
			}
		})
	}
}

func TestStream(t *testing.T) {
	t.Parallel()
	stream := func(fail error) framework.Stream {
		return func(yield func(protocol.Block, error) bool) {
			if yield(framework.Text("a"), nil) && fail != nil {
				yield(nil, fail)
				return
			}
			yield(framework.Text("b"), nil)
		}
	}
	bothEras(t, func(t *testing.T, rev protocol.Revision) {
		good := build(t, quiet().Add(returning(stream(nil))))
		if got := dial(t, good, rev).tool("t", `{}`).text(); got != "a\nb" {
			t.Errorf("got %q", got)
		}
		bad := build(t, quiet().Add(returning(stream(framework.UserErrorf("ran dry")))))
		if got := dial(t, bad, rev).tool("t", `{}`).isError().text(); got != "ran dry" {
			t.Errorf("got %q", got)
		}
		panics := build(t, quiet().Add(returning(framework.Stream(func(func(protocol.Block, error) bool) { panic("secret") }))))
		dial(t, panics, rev).tool("t", `{}`).isError().omits("secret")
	})
}

func TestResultsThatFail(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]framework.Component{
		"NaN":        returning(math.NaN()),
		"nil block":  returning(framework.Content{nil}),
		"nil beside": returning(framework.Rich[int]{Content: framework.Content{nil}}),
		"a pointer":  returning(framework.Content{&protocol.Image{}}),
		"a stream":   returning(framework.Stream(func(yield func(protocol.Block, error) bool) { yield(&protocol.Image{}, nil) })),
		"bad raw":    returning(json.RawMessage(`{`)),
		"misfit":     framework.Tool("t", func(context.Context, struct{}) (json.RawMessage, error) { return json.RawMessage(`{"a":"x"}`), nil }, framework.OutputSchema(`{"type":"object","properties":{"a":{"type":"integer"}}}`)),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var outcome framework.Outcome
			p := dial(t, build(t, quiet().Use(keeping(&outcome)).Add(c)), protocol.Rev20260728)
			p.tool("t", `{}`).isError().mentions("The tool failed. The error was logged.")
			if outcome != framework.OutcomeFailed {
				t.Errorf("the outcome is %s", outcome)
			}
		})
	}
}

func TestRawSchemas(t *testing.T) {
	t.Parallel()
	schema := `{"type":"object","properties":{"n":{"type":"integer","maximum":5}},"required":["n"]}`
	tool := framework.Tool("t", func(_ context.Context, in json.RawMessage) (string, error) { return string(in), nil },
		framework.InputSchema(schema))
	s := build(t, quiet().Add(tool))
	bothEras(t, func(t *testing.T, rev protocol.Revision) {
		p := dial(t, s, rev)
		if got := p.tool("t", `{"n":3,"x":[1]}`).text(); got != `{"n":3,"x":[1]}` {
			t.Errorf("got %s", got)
		}
		p.tool("t", `{"n":9}`).isError().mentions("/n")
		p.tool("t", `{}`).isError().mentions("/n")
	})
	if got := string(tool.InputSchema()); got != schema {
		t.Errorf("InputSchema = %s", got)
	}
}

func TestTypedHandle(t *testing.T) {
	t.Parallel()
	tool := framework.Tool("search", search)
	out, err := tool.Call(t.Context(), searchIn{Query: "go"})
	if err != nil || out.Limit != 10 {
		t.Errorf("Call = %+v, %v: the default is missing", out, err)
	}
	if _, err := tool.Call(t.Context(), searchIn{Query: "x"}); err == nil || !strings.Contains(err.Error(), "/query") {
		t.Errorf("Call of a wrong value = %v", err)
	}
	if err := tool.Check(json.RawMessage(`{"query":"go","limit":101}`)); err == nil || !strings.Contains(err.Error(), "/limit") {
		t.Errorf("Check = %v", err)
	}
	if err := tool.Check(json.RawMessage(`{"query":"go"}`)); err != nil {
		t.Errorf("Check = %v", err)
	}
	if err := tool.Check(json.RawMessage(`{`)); err == nil {
		t.Error("Check took half an object")
	}
	if tool.Name() != "search" || tool.InputSchema() == nil || tool.OutputSchema() == nil {
		t.Error("the handle does not know itself")
	}
	faulty := framework.Tool("x", func(context.Context, struct{ C chan int }) (string, error) { return "", nil })
	if faulty.InputSchema() != nil {
		t.Error("a faulty type has a schema")
	}
	if err := faulty.Check(nil); err == nil {
		t.Error("a faulty type can be checked")
	}
	if text := framework.Tool("x", none); text.OutputSchema() != nil {
		t.Error("text has an output schema")
	}
	failing := framework.Tool("x", func(context.Context, struct{}) (string, error) { return "", errors.New("boom") })
	if _, err := failing.Call(t.Context(), struct{}{}); err == nil || err.Error() != "boom" {
		t.Errorf("Call = %v", err)
	}
}

type validated struct {
	From int `json:"from"`
	To   int `json:"to"`
}

func (v *validated) Validate() error {
	if v.From > v.To {
		return framework.InvalidArgumentf("to", "must not be before from")
	}
	return nil
}

func TestValidateMethod(t *testing.T) {
	t.Parallel()
	s := build(t, quiet().Add(framework.Tool("t", func(_ context.Context, in *validated) (int, error) { return in.To - in.From, nil })))
	bothEras(t, func(t *testing.T, rev protocol.Revision) {
		p := dial(t, s, rev)
		if got := p.tool("t", `{"from":1,"to":3}`).text(); got != "2" {
			t.Errorf("got %s", got)
		}
		p.tool("t", `{"from":3,"to":1}`).isError().mentions("/to", "must not be before from")
	})
}

func sameJSON(t testing.TB, a, b string) bool {
	t.Helper()
	var x, y any
	if err := json.Unmarshal([]byte(a), &x); err != nil {
		t.Fatalf("%s: %v", a, err)
	}
	if err := json.Unmarshal([]byte(b), &y); err != nil {
		t.Fatalf("%s: %v", b, err)
	}
	p, _ := json.Marshal(x)
	q, _ := json.Marshal(y)
	return string(p) == string(q)
}

type timed struct {
	Wait time.Duration `json:"wait"`
	Big  uint64        `json:"big"`
}

// TestTypedWire: what a handle writes and reads is what the handler has, on every
// revision.
func TestTypedWire(t *testing.T) {
	t.Parallel()
	value := timed{90 * time.Second, math.MaxUint64}
	echo := framework.Tool("echo", func(_ context.Context, in timed) (timed, error) { return in, nil })
	list := framework.Tool("list", func(_ context.Context, in timed) ([]timed, error) { return []timed{in}, nil })
	open := framework.Tool("open", func(context.Context, timed) (any, error) { return map[string]any{"result": "x"}, nil })
	plain := framework.Tool("plain", func(_ context.Context, in timed) (string, error) { return in.Wait.String(), nil })
	rich := framework.Tool("rich", func(_ context.Context, in timed) (framework.Rich[timed], error) {
		return framework.Rich[timed]{Value: in, Meta: protocol.Meta{"k": "v"}}, nil
	})
	raw := framework.Tool("raw", func(context.Context, timed) (framework.Rich[json.RawMessage], error) {
		return framework.Rich[json.RawMessage]{Value: json.RawMessage(`[1]`)}, nil
	}, framework.OutputSchema(`{"type":"array"}`))
	blob := framework.Tool("blob", func(context.Context, timed) ([]byte, error) { return []byte{1, 2}, nil })
	s := build(t, quiet().Add(echo, list, open, plain, rich, raw, blob))
	allRevisions(t, func(t *testing.T, rev protocol.Revision) {
		p := dial(t, s, rev)
		args, err := echo.Encode(value)
		if err != nil || string(args) != `{"wait":"1m30s","big":18446744073709551615}` {
			t.Fatalf("Encode = %s, %v", args, err)
		}
		if got, err := echo.Decode(received(p, "echo", args)); err != nil || got != value {
			t.Errorf("echo = %+v, %v", got, err)
		}
		if got, err := list.Decode(received(p, "list", args)); err != nil || len(got) != 1 || got[0] != value {
			t.Errorf("list = %+v, %v", got, err)
		}
		if got, err := open.Decode(received(p, "open", args)); err != nil || fmt.Sprint(got) != "map[result:x]" {
			t.Errorf("open = %+v, %v", got, err)
		}
		if got, err := plain.Decode(received(p, "plain", args)); err != nil || got != "1m30s" {
			t.Errorf("plain = %+v, %v", got, err)
		}
		if got, err := rich.Decode(received(p, "rich", args)); err != nil || got.Value != value || got.Meta["k"] != "v" {
			t.Errorf("rich = %+v, %v", got, err)
		}
		if got, err := raw.Decode(received(p, "raw", args)); err != nil || string(got.Value) != "[1]" {
			t.Errorf("raw = %s, %v", got.Value, err)
		}
		if got, err := blob.Decode(received(p, "blob", args)); err != nil || string(got) != "\x01\x02" {
			t.Errorf("blob = %v, %v", got, err)
		}
	})
	if got, err := framework.DecodeJSON[timed](json.RawMessage(`{"wait":"2s","big":1,"more":true}`)); err != nil || got.Wait != 2*time.Second {
		t.Errorf("DecodeJSON = %+v, %v", got, err)
	}
	if _, err := framework.DecodeJSON[chan int](nil); err == nil {
		t.Error("DecodeJSON of a channel succeeds")
	}
}

// received is a result as a client of the revision has it.
func received(p *peer, tool string, args json.RawMessage) *protocol.CallToolResult {
	p.t.Helper()
	r := p.tool(tool, string(args)).ok()
	result, fault := dialect.Of(p.rev).DecodeResult(protocol.MethodCallTool, r.Result)
	if fault != nil {
		p.t.Fatal(fault)
	}
	call := result.(*protocol.CallToolResult)
	call.Wrapped = p.rev == protocol.Rev20250618 || p.rev == protocol.Rev20251125
	return call
}

// TestSecretsBesideInputSchema: an error of the schema shows no value of a type with a secret.
func TestSecretsBesideInputSchema(t *testing.T) {
	t.Parallel()
	type in struct {
		Password string `json:"password" secret:"true"`
	}
	s := build(t, quiet().Add(framework.Tool("t", taking[in],
		framework.InputSchema(`{"type":"object","properties":{"password":{"type":"string","minLength":12}},"maxProperties":1}`))))
	bothEras(t, func(t *testing.T, rev protocol.Revision) {
		p := dial(t, s, rev)
		p.tool("t", `{"password":"hunter2"}`).isError().mentions("/password", "at least 12 characters").omits("hunter2")
		p.tool("t", `{"password":"hunter2hunter2","x":1}`).isError().omits("hunter2")
	})
}

// TestNullMemberResult: a member "result" that is null is not a null result.
func TestNullMemberResult(t *testing.T) {
	t.Parallel()
	type found struct {
		Result *int `json:"result"`
	}
	find := framework.Tool("find", func(context.Context, struct{}) (found, error) { return found{}, nil })
	open := framework.Tool("open", func(context.Context, struct{}) (map[string]any, error) { return map[string]any{"result": nil}, nil })
	s := build(t, quiet().Add(find, open))
	allRevisions(t, func(t *testing.T, rev protocol.Revision) {
		p := dial(t, s, rev)
		if got, err := find.Decode(received(p, "find", json.RawMessage(`{}`))); err != nil || got.Result != nil {
			t.Errorf("find = %+v, %v", got, err)
		}
		if got, err := open.Decode(received(p, "open", json.RawMessage(`{}`))); err != nil || len(got) != 1 || got["result"] != nil {
			t.Errorf("open = %v, %v", got, err)
		}
	})
}
