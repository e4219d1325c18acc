package framework_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
)

// looking is a step that sees results, and leaves them as they are.
func looking(seen func(*protocol.CallToolResult)) framework.Middleware {
	return framework.OnToolCall("looking", func(ctx context.Context, call *framework.Call, next framework.Next[*protocol.CallToolResult]) (*protocol.CallToolResult, error) {
		result, err := next(ctx, call)
		if err == nil {
			seen(result)
		}
		return result, err
	})
}

type note struct {
	Text string   `json:"text"`
	Tags []string `json:"tags"`
}

func notes() []framework.Component {
	text := "\"q\" \\ \n é \u2028 😀"
	return []framework.Component{
		framework.Tool("object", func(context.Context, struct{}) (note, error) { return note{Text: text}, nil }),
		framework.Tool("null", func(context.Context, struct{}) (*note, error) { return nil, nil }),
		framework.Tool("number", func(context.Context, struct{}) (int, error) { return 5, nil }),
		framework.Tool("list", func(context.Context, struct{}) ([]note, error) { return []note{{Text: text}, {}}, nil }),
		framework.Tool("raw", func(context.Context, struct{}) (json.RawMessage, error) {
			return json.RawMessage(`{ "a": [1, 2] }`), nil
		}),
		framework.Tool("text", func(context.Context, struct{}) (string, error) { return text, nil }),
		framework.Tool("none", func(context.Context, struct{}) (struct{}, error) { return struct{}{}, nil }),
		framework.Tool("blocks", func(context.Context, struct{}) (framework.Content, error) { return nil, nil }),
		framework.Tool("rich", func(context.Context, struct{}) (framework.Rich[note], error) {
			return framework.Rich[note]{Value: note{Text: text}, Meta: protocol.Meta{"k": 1}}, nil
		}),
		framework.Tool("own", func(context.Context, struct{}) (framework.Rich[note], error) {
			return framework.Rich[note]{Content: framework.Content{framework.Text("mine")}}, nil
		}),
		framework.Func("func", func() note { return note{Text: text} }),
	}
}

// TestTheTextIsTheSameWhoeverLooks: where no step sees a result, its text is written
// from the bytes of the structured content; what clients get is the same.
func TestTheTextIsTheSameWhoeverLooks(t *testing.T) {
	t.Parallel()
	plain := build(t, quiet().Add(notes()...))
	watched := build(t, quiet().Use(looking(func(r *protocol.CallToolResult) {
		if r.Structured != nil && len(r.Content) == 0 {
			t.Errorf("a step sees %s without its text", r.Structured)
		}
	})).Add(notes()...))
	for _, rev := range protocol.Revisions() {
		alone, seen := dial(t, plain, rev), dial(t, watched, rev)
		for _, name := range []string{"object", "null", "number", "list", "raw", "text", "none", "blocks", "rich", "own", "func"} {
			got, want := alone.tool(name, `{}`).ok(), seen.tool(name, `{}`).ok()
			if string(got.Result) != string(want.Result) {
				t.Errorf("%s on %s\nunseen %s\nseen   %s", name, rev, got.Result, want.Result)
			}
		}
	}
}

// TestStepsChangeBothForms: the text and the structured content are a step's to change.
func TestStepsChangeBothForms(t *testing.T) {
	t.Parallel()
	s := build(t, quiet().Use(looking(func(r *protocol.CallToolResult) {
		r.Content = append(r.Content, framework.Text("and more"))
		r.Structured = json.RawMessage(strings.ReplaceAll(string(r.Structured), "secret", "hidden"))
	})).Add(framework.Tool("t", func(context.Context, struct{}) (note, error) { return note{Text: "secret"}, nil })))
	bothEras(t, func(t *testing.T, rev protocol.Revision) {
		r := dial(t, s, rev).tool("t", `{}`).ok()
		if got, want := r.field("content.0.text"), `{"text":"secret","tags":[]}`; got != want {
			t.Errorf("text %v, want %v", got, want)
		}
		if r.field("content.1.text") != "and more" || r.field("structuredContent.text") != "hidden" {
			t.Errorf("got %s", r.Result)
		}
	})
}

// TestResultsAreTheCallsOwn: what a step keeps of a call stays as it was when others
// follow, however their buffers are used again.
func TestResultsAreTheCallsOwn(t *testing.T) {
	t.Parallel()
	var kept []*protocol.CallToolResult
	type in struct {
		Letter string `json:"letter"`
	}
	s := build(t, quiet().Use(looking(func(r *protocol.CallToolResult) { kept = append(kept, r) })).Add(
		framework.Tool("t", func(_ context.Context, in in) (note, error) {
			return note{Text: strings.Repeat(in.Letter, 500), Tags: []string{in.Letter}}, nil
		})))
	p := dial(t, s, protocol.Rev20260728)
	for _, letter := range "abcdefgh" {
		p.tool("t", `{"letter":"`+string(letter)+`"}`).ok()
	}
	for i, r := range kept {
		letter := string(rune('a' + i))
		want := `{"text":"` + strings.Repeat(letter, 500) + `","tags":["` + letter + `"]}`
		if text, ok := r.Content[0].(protocol.Text); !ok || text.Text != want || string(r.Structured) != want {
			t.Errorf("call %s has %v and %s", letter, r.Content, r.Structured)
		}
	}
	if len(kept) != 8 {
		t.Errorf("%d results", len(kept))
	}
}
