package framework_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/transport"
)

type (
	panicsInText  string
	panicsInJSON  string
	panicsInWrite string
	panicsInCheck struct {
		Name string `json:"name"`
	}
)

func (*panicsInText) UnmarshalText([]byte) error   { panic("secret of UnmarshalText") }
func (*panicsInJSON) UnmarshalJSON([]byte) error   { panic("secret of UnmarshalJSON") }
func (panicsInWrite) MarshalJSON() ([]byte, error) { panic("secret of MarshalJSON") }
func (panicsInWrite) UnmarshalJSON([]byte) error   { return nil }
func (*panicsInCheck) Validate() error             { panic("secret of Validate") }

func taking[T any](_ context.Context, _ T) (string, error) { return "", nil }

// TestPanicsOfMethodsAreLogged: a panic of a method that a type of the program's has leaves its stack
// in the log, whatever was being read or written, and nothing of it reaches the client.
func TestPanicsOfMethodsAreLogged(t *testing.T) {
	t.Parallel()
	type text struct {
		V panicsInText `json:"v"`
	}
	type written struct {
		V panicsInJSON `json:"v"`
	}
	type keyed struct {
		V map[panicsInText]int `json:"v"`
	}
	model := &ownModel{say: func(int32, *framework.ModelRequest) (framework.Generation, error) {
		return framework.Generation{Content: framework.Content{protocol.Text{Text: "a", Meta: protocol.Meta{"x": panicsInWrite("x")}}}}, nil
	}}
	for name, c := range map[string]struct {
		component    framework.Component
		method, call string
		want         string
	}{
		"UnmarshalText":             {framework.Tool("t", taking[text]), "tools/call", `{"name":"t","arguments":{"v":"x"}}`, "UnmarshalText"},
		"UnmarshalText of a key":    {framework.Tool("t", taking[keyed]), "tools/call", `{"name":"t","arguments":{"v":{"x":1}}}`, "UnmarshalText"},
		"UnmarshalText of a prompt": {framework.Prompt("t", func(context.Context, text) (framework.Messages, error) { return nil, nil }), "prompts/get", `{"name":"t","arguments":{"v":"x"}}`, "UnmarshalText"},
		"UnmarshalText of a URI":    {framework.ResourceTemplate("t://{v}", taking[text]), "resources/read", `{"uri":"t://x"}`, "UnmarshalText"},
		"UnmarshalJSON":             {framework.Tool("t", taking[written]), "tools/call", `{"name":"t","arguments":{"v":"x"}}`, "UnmarshalJSON"},
		"Validate":                  {framework.Tool("t", taking[panicsInCheck]), "tools/call", `{"name":"t","arguments":{"name":"x"}}`, "Validate"},
		"MarshalJSON": {framework.Tool("t", func(context.Context, struct{}) (struct{ V panicsInWrite }, error) {
			return struct{ V panicsInWrite }{"x"}, nil
		}), "tools/call", `{"name":"t"}`, "MarshalJSON"},
		"UnmarshalText of an answer": {doing(func(ctx context.Context) error { _, err := framework.Elicit[text](ctx, "what?"); return err }), "tools/call", `{"name":"t"}`, "UnmarshalText"},
		"MarshalJSON of the app's model": {doing(func(ctx context.Context) error {
			_, err := framework.Generate(ctx, "?", framework.PreferApp())
			return err
		}), "tools/call", `{"name":"t"}`, "MarshalJSON"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			core, logs := observer.New(zap.ErrorLevel)
			s := build(t, framework.New("test", "1", framework.WithLogger(zap.New(core)), framework.WithModel(model)).Add(c.component))
			a := newAsker(t, s, protocol.Rev20260728, func(string, question) string { return `{"action":"accept","content":{"v":"x"}}` })
			got := wireText(a.do(c.method, c.call))
			if strings.Contains(got, "secret of") || !strings.Contains(got, "rror") {
				t.Errorf("the client got %s", got)
			}
			logged := stacks(logs.All())
			if !strings.Contains(logged, "."+c.want) || !strings.Contains(logged, "secret of "+c.want) {
				t.Errorf("logged %s", logged)
			}
		})
	}
	if err := framework.Tool("t", taking[panicsInCheck]).Check(json.RawMessage(`{"name":"x"}`)); err == nil {
		t.Error("Check accepted what Validate panicked on")
	}
}

// wireText is the answer as text.
func wireText(r reply) string {
	if r.Error != nil {
		return fmt.Sprintf(`{"error":{"code":%d,"message":%q,"data":%q}}`, r.Error.Code, r.Error.Message, r.Error.Data)
	}
	return string(r.Result)
}

func stacks(entries []observer.LoggedEntry) string {
	var all strings.Builder
	for _, e := range entries {
		fmt.Fprintln(&all, e.Message, e.ContextMap()["error"], stackOf(e.Context))
	}
	return all.String()
}

func stackOf(fields []zapcore.Field) string {
	for _, f := range fields {
		if f.Key == "stack" {
			text, _ := f.Interface.([]byte)
			return string(text)
		}
	}
	return ""
}

// TestBrokenValuesAreNoticed: what a program hands on and cannot be sent leaves a line in the log, and
// the client gets the rest.
func TestBrokenValuesAreNoticed(t *testing.T) {
	t.Parallel()
	broken := json.RawMessage(`{"broken`)
	hands := func(raw string) framework.Middleware {
		return framework.OnToolCall("hands", func(ctx context.Context, call *framework.Call, next framework.Next[*protocol.CallToolResult]) (*protocol.CallToolResult, error) {
			call.Arguments = json.RawMessage(raw)
			return next(ctx, call)
		})
	}
	for name, c := range map[string]struct {
		app         func(*framework.App) *framework.App
		answer, log string
	}{
		"data of an error": {func(a *framework.App) *framework.App {
			return a.Use(hands(`{}`)).Add(doing(func(context.Context) error { return &protocol.Error{Code: 7, Message: "no luck", Data: broken} }))
		}, "no luck", "was left out"},
		"data of a fault": {func(a *framework.App) *framework.App {
			return a.Use(hands(`{}`)).Add(doing(func(context.Context) error {
				return &protocol.Fault{Kind: protocol.FaultInvalidParams, Message: "no luck", Data: make(chan int)}
			}))
		}, "no luck", "was left out"},
		"broken arguments": {func(a *framework.App) *framework.App {
			return a.Use(hands(`{"query":`)).Add(framework.Tool("t", search))
		}, "The tool failed", `a middleware of tool "t" passed invalid arguments`},
		"a list of arguments": {func(a *framework.App) *framework.App {
			return a.Use(hands(`["query"]`)).Add(framework.Tool("t", search))
		}, "The tool failed", "no object"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			core, logs := observer.New(zap.ErrorLevel)
			s := build(t, c.app(framework.New("test", "1", framework.WithLogger(zap.New(core)))))
			got := wireText(dial(t, s, protocol.Rev20251125).call("tools/call", `{"name":"t","arguments":{"query":"x"}}`))
			if !strings.Contains(got, c.answer) || !json.Valid([]byte(got)) {
				t.Errorf("the client got %s", got)
			}
			if logged := stacks(logs.All()); !strings.Contains(logged, c.log) {
				t.Errorf("logged %q", logged)
			}
		})
	}
}

type checkedElsewhere struct {
	Name string `json:"name"`
}

func (checkedElsewhere) Validate() error {
	return framework.Because(framework.UserErrorf("try later"), errors.New("secret dsn"))
}

type decodedElsewhere struct {
	Name string `json:"name"`
}

func (decodedElsewhere) Validate() error {
	_, err := framework.DecodeJSON[struct{ Total int }](json.RawMessage(`{"Total":"secret"}`))
	return framework.Because(framework.UserErrorf("try later!"), err)
}

// TestBecauseInValidate: the client gets the error that is shown, and the log gets the cause.
func TestBecauseInValidate(t *testing.T) {
	t.Parallel()
	bothEras(t, func(t *testing.T, rev protocol.Revision) {
		core, logs := observer.New(zap.ErrorLevel)
		s := build(t, framework.New("test", "1", framework.WithLogger(zap.New(core))).Add(framework.Tool("t", taking[checkedElsewhere])))
		dial(t, s, rev).tool("t", `{"name":"x"}`).isError().mentions("try later").omits("secret")
		if text := stacks(logs.All()); !strings.Contains(text, "secret dsn") {
			t.Errorf("logged %q", text)
		}
		s = build(t, framework.New("test", "1", framework.WithLogger(zap.New(core))).Add(framework.Tool("t", taking[decodedElsewhere])))
		dial(t, s, rev).tool("t", `{"name":"x"}`).isError().mentions("try later!").omits("secret", "later!.")
		if text := stacks(logs.All()); !strings.Contains(text, "/Total") {
			t.Errorf("logged %q", text)
		}
	})
}

// TestServerRecovers: after a panic of the program's code, the request is answered, and later requests are
// served. The carrier, such as this peer, need not recover.
func TestServerRecovers(t *testing.T) {
	t.Parallel()
	type place struct {
		At string `json:"at"`
	}
	explode := func(text, where string) {
		if strings.Contains(text, where) {
			panic("secret of " + where)
		}
	}
	s := build(t, quiet().UseFrames(func(next transport.Next) transport.Next {
		return func(ctx context.Context, frame []byte, out transport.Outbound) error {
			explode(string(frame), "before next")
			err := next(ctx, frame, transport.OutboundFunc(func(ctx context.Context, sent transport.Frame) error {
				explode(string(sent.JSON), "note on its way")
				return out.Send(ctx, sent)
			}))
			explode(string(frame), "after next")
			return err
		}
	}).Use(framework.OnToolCall("explode", func(ctx context.Context, call *framework.Call, next framework.Next[*protocol.CallToolResult]) (*protocol.CallToolResult, error) {
		explode(string(call.Arguments), "in a step")
		return next(ctx, call)
	})).Add(framework.Tool("t", func(ctx context.Context, in place) (string, error) {
		explode(in.At, "in the handler")
		if in.At == "sends" {
			framework.Progress(ctx, 1, 2, "a note on its way")
		}
		return "fine", nil
	})))
	bothEras(t, func(t *testing.T, rev protocol.Revision) {
		p := dial(t, s, rev, withMeta("progressToken", `"p"`))
		for _, at := range []string{"before next", "in a step", "in the handler", "sends"} {
			if got := wireText(p.tool("t", fmt.Sprintf(`{"at":%q}`, at))); strings.Contains(got, "secret of") || !strings.Contains(got, "rror") {
				t.Errorf("%s: the client got %s", at, got)
			}
		}
		p.tool("t", `{"at":"after next"}`).ok() // the answer has been sent before
		p.frame(`{"jsonrpc":"2.0","method":"notifications/before next"}`)
		p.tool("t", `{"at":"nowhere"}`).ok()
	})
}
