package framework_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
)

// looped asks a model of the app with tools, and is what the model sees of its uses: one
// result for each, in order.
func looped(t *testing.T, who *framework.Principal, tools []framework.Component, uses ...protocol.ToolUse) (offered []string, results []protocol.ToolResult) {
	t.Helper()
	var blocks []protocol.Block
	for i, use := range uses {
		use.ID = fmt.Sprint("use", i)
		blocks = append(blocks, use)
	}
	m := &ownModel{say: func(n int32, req *framework.ModelRequest) (framework.Generation, error) {
		if n == 1 {
			for _, tool := range req.Tools {
				offered = append(offered, tool.Name)
			}
			return framework.Generation{Content: blocks}, nil
		}
		for _, b := range req.Messages[len(req.Messages)-1].Blocks() {
			results = append(results, b.(protocol.ToolResult))
		}
		return framework.Generation{Content: framework.Content{protocol.Text{Text: "done"}}}, nil
	}}
	s := build(t, quiet(framework.WithModel(m)).Add(framework.Tool("ask", func(ctx context.Context, _ struct{}) (string, error) {
		g, err := framework.Generate(ctx, "go", framework.PreferApp(), framework.WithTools(tools...))
		return g.Text(), err
	})))
	if got := dial(t, s, protocol.Rev20260728, as(who)).tool("ask", `{}`).text(); got != "done" {
		t.Fatalf("answered %q", got)
	}
	return offered, results
}

// policed are tools that end in all ways, and count.
func policed(ran *atomic.Int32) []framework.Component {
	does := func(name string, fn func(context.Context) error, opts ...framework.Option) framework.Component {
		return framework.Tool(name, func(ctx context.Context, _ struct{}) (string, error) {
			ran.Add(1)
			return "ran", fn(ctx)
		}, opts...)
	}
	refuse := framework.Middleware{Name: "refuse", Phase: framework.PhaseLimit, Wrap: func(framework.Handler) framework.Handler {
		return func(context.Context, *framework.Call) (*framework.Result, error) {
			return nil, protocol.TooMany(1, "too many calls")
		}
	}}
	return []framework.Component{
		does("good", func(context.Context) error { return nil }),
		does("whose", func(ctx context.Context) error {
			return framework.UserErrorf("of %s", framework.Caller(ctx).Principal.Subject)
		}),
		does("broken", func(context.Context) error { return errors.New("password of the database") }),
		does("crashes", func(context.Context) error { panic("password of the database") }),
		does("limited", func(context.Context) error { return nil }, framework.With(refuse)),
		does("mine", func(context.Context) error { return nil }, framework.Scopes("alpha")),
		does("theirs", func(context.Context) error { return nil }, framework.Scopes("beta")),
	}
}

// What a model may do in a tool loop, and what it hears of what it may not: a tool that
// fails, or is refused, is a result that it can act on, without what is the log's.
func TestToolLoopPolicy(t *testing.T) {
	t.Parallel()
	rows := []struct {
		name, input string
		want        string
		runs        int32
	}{
		{"good", `{}`, "ran", 1},
		{"good", ``, "ran", 1},
		{"good", `{"x":1}`, "x", 0},
		{"whose", `{}`, "of bob", 1},
		{"broken", `{}`, "The tool failed. The error was logged.", 1},
		{"crashes", `{}`, "The tool failed. The error was logged.", 1},
		{"limited", `{}`, "too many calls", 0},
		{"mine", `{}`, "ran", 1},
		{"theirs", `{}`, `There is no tool "theirs".`, 0},
		{"absent", `{}`, `There is no tool "absent".`, 0},
	}
	for _, row := range rows {
		t.Run(row.name+row.input, func(t *testing.T) {
			t.Parallel()
			var ran atomic.Int32
			offered, got := looped(t, &framework.Principal{Subject: "bob", Scopes: []string{"alpha"}}, policed(&ran),
				protocol.ToolUse{Name: row.name, Input: json.RawMessage(row.input)})
			if !slices.Equal(offered, []string{"good", "whose", "broken", "crashes", "limited", "mine"}) {
				t.Errorf("offered %v", offered)
			}
			if len(got) != 1 || got[0].ToolUseID != "use0" || got[0].IsError != (row.want != "ran") || ran.Load() != row.runs {
				t.Fatalf("%d runs, got %+v", ran.Load(), got)
			}
			text := got[0].Content[0].(protocol.Text).Text
			if !strings.Contains(text, row.want) || strings.Contains(text, "password") {
				t.Errorf("the model is told %q, want %q", text, row.want)
			}
		})
	}
}

// More than 32 in one turn are not run, and each is answered all the same.
func TestToolLoopTurnIsBounded(t *testing.T) {
	t.Parallel()
	var ran atomic.Int32
	tool := framework.Tool("t", func(context.Context, struct{}) (string, error) {
		ran.Add(1)
		return "ran", nil
	})
	uses := slices.Repeat([]protocol.ToolUse{{Name: "t", Input: json.RawMessage(`{}`)}}, 35)
	_, got := looped(t, nil, []framework.Component{tool}, uses...)
	if len(got) != 35 || ran.Load() != 32 {
		t.Fatalf("%d results after %d runs", len(got), ran.Load())
	}
	for i, r := range got {
		if r.ToolUseID != fmt.Sprint("use", i) || r.IsError != (i >= 32) {
			t.Errorf("result %d: %+v", i, r)
		}
	}
}

// A model of the app that writes bad JSON is at fault, not the caller; nothing runs.
func TestToolLoopInputs(t *testing.T) {
	t.Parallel()
	for _, input := range []string{`{"a":`, `[1]`, `"x"`} {
		m := &ownModel{say: func(int32, *framework.ModelRequest) (framework.Generation, error) {
			return framework.Generation{Content: framework.Content{protocol.ToolUse{ID: "a", Name: "free", Input: json.RawMessage(input)}}}, nil
		}}
		ran := false
		free := framework.Tool("free", func(context.Context, map[string]any) (string, error) {
			ran = true
			return "", nil
		})
		core, logs := observer.New(zap.ErrorLevel)
		s := build(t, framework.New("test", "1", framework.WithModel(m), framework.WithLogger(zap.New(core))).Add(generating[string](framework.WithTools(free))))
		dial(t, s, protocol.Rev20260728).tool("t", `{}`).isError().mentions("The tool failed. The error was logged.")
		if got := fmt.Sprint(logs.All()[0].ContextMap()["error"]); ran || !strings.Contains(got, `the input for the tool "free" is not a JSON object`) {
			t.Errorf("%s: ran %v, logged %s", input, ran, got)
		}
	}
}
