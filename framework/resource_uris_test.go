package framework_test

import (
	"context"
	"testing"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
)

// TestContentsHaveURIs checks that no resource without a URI leaves the server, wherever it was
// made: clients refuse a whole result with one.
func TestContentsHaveURIs(t *testing.T) {
	t.Parallel()
	embedded := framework.Embedded{Contents: framework.Contents{Text: "x"}}
	shared := framework.Content{framework.Text("a"), embedded, framework.Embedded{Contents: framework.Contents{URI: "own://x"}}}
	instead := framework.OnRead("instead", func(context.Context, *framework.Call, framework.Next[*protocol.ReadResourceResult]) (*protocol.ReadResourceResult, error) {
		return &protocol.ReadResourceResult{Contents: []protocol.Contents{{Text: "x"}}}, nil
	})
	signed := framework.OnToolCall("signed", func(context.Context, *framework.Call, framework.Next[*protocol.CallToolResult]) (*protocol.CallToolResult, error) {
		return &protocol.CallToolResult{Content: []protocol.Block{embedded}}, nil
	})
	s := build(t, quiet().Add(
		framework.Tool("one", func(context.Context, struct{}) (framework.Embedded, error) { return embedded, nil }),
		framework.Tool("many", func(context.Context, struct{}) (framework.Content, error) { return shared, nil }),
		framework.Tool("rich", func(context.Context, struct{}) (framework.Rich[int], error) {
			return framework.Rich[int]{Value: 1, Content: framework.Content{embedded}}, nil
		}),
		framework.Tool("signed", none, framework.With(signed)),
		framework.Prompt("a prompt", func(context.Context, struct{}) (framework.Messages, error) {
			return framework.Messages{framework.User("x"), framework.UserBlock(embedded)}, nil
		}),
		framework.Resource("a://b", text, framework.With(instead)),
	))
	allRevisions(t, func(t *testing.T, rev protocol.Revision) {
		p := dial(t, s, rev)
		for what, got := range map[string]any{
			"result://one":          p.tool("one", `{}`).field("content.0.resource.uri"),
			"result://many/1":       p.tool("many", `{}`).field("content.1.resource.uri"),
			"own://x":               p.tool("many", `{}`).field("content.2.resource.uri"),
			"result://rich":         p.tool("rich", `{}`).field("content.0.resource.uri"),
			"result://signed":       p.tool("signed", `{}`).field("content.0.resource.uri"),
			"result://a%20prompt/1": p.call("prompts/get", `{"name":"a prompt"}`).field("messages.1.content.resource.uri"),
			"a://b":                 p.read("a://b").field("contents.0.uri"),
		} {
			if got != what {
				t.Errorf("got %q, want %q", got, what)
			}
		}
		if shared[1].(framework.Embedded).Contents.URI != "" {
			t.Error("the program's own content was changed")
		}
	})
}
