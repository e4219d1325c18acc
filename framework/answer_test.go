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

// TestFailuresWithContent: what a tool fails with need not be a text.
func TestFailuresWithContent(t *testing.T) {
	t.Parallel()
	see := framework.Content{framework.Link{URI: "log://7", Name: "log"}}
	const link, schema = `[{"type":"resource_link","uri":"log://7","name":"log"}]`, `{"type":"array","items":{"type":"string"}}`
	for name, tt := range map[string]struct {
		component  framework.Component
		content    string // as JSON
		structured string // on 2026-07-28; "" = absent
		wrapped    string // on 2025-11-25
	}{
		"blocks alone": {returning(framework.Rich[note]{Content: see, IsError: true}), link, "", ""},
		"no value":     {returning(framework.Rich[struct{}]{Content: see, IsError: true}), link, "", ""},
		"nothing":      {returning(framework.Rich[string]{IsError: true}), `[]`, "", ""},
		"text":         {returning(framework.Rich[string]{Value: "no", IsError: true}), `[{"type":"text","text":"no"}]`, "", ""},
		"both": {
			returning(framework.Rich[note]{Value: note{Text: "no"}, Content: see, IsError: true}), link,
			`{"text":"no","tags":[]}`, `{"text":"no","tags":[]}`,
		},
		"another schema": {
			framework.Tool("t", func(context.Context, struct{}) (framework.Rich[json.RawMessage], error) {
				return framework.Rich[json.RawMessage]{Value: json.RawMessage(`7`), Content: see, IsError: true}, nil
			}, framework.OutputSchema(schema)), link, `7`, `{"result":7}`,
		},
	} {
		s := build(t, quiet().Add(tt.component))
		bothEras(t, func(t *testing.T, rev protocol.Revision) {
			r := dial(t, s, rev).tool("t", `{}`)
			got, want := r.tool(), tt.structured
			if rev != protocol.Rev20260728 {
				want = tt.wrapped
			}
			content, _ := json.Marshal(got.Content)
			if !got.IsError || !sameJSON(t, string(content), tt.content) || string(got.StructuredContent) != want {
				t.Errorf("%s: %s", name, r.Result)
			}
		})
	}
}
