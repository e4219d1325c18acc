package framework_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
)

func gives[Out any]() framework.Component {
	return framework.Tool("t", func(context.Context, struct{}) (out Out, err error) { return out, nil })
}

func reads[Out any]() framework.Component {
	return framework.Resource("a://b", func(context.Context) (out Out, err error) { return out, nil })
}

func serves[Out any]() framework.Component {
	return framework.Method("a/b", func(context.Context, struct{}) (out Out, err error) { return out, nil })
}

// gallery has blocks, and a JSON form of its own.
type gallery []framework.Image

func (gallery) MarshalJSON() ([]byte, error) { return []byte(`"gallery"`), nil }

// hit, scored and told have the methods of the types that they embed. They are still not results.
type (
	hit struct {
		protocol.Link
		Score int
	}
	scored struct {
		framework.Rich[int]
		Score int
	}
	told struct {
		*protocol.CallToolResult
		Score int
	}
)

type endless []endless

// What is almost a result must not be sent as the Go struct that it is.
func TestAlmostResults(t *testing.T) {
	t.Parallel()
	const resource = "Return a string, []byte, Contents, []Contents or a JSON type"
	for name, tt := range map[string]struct {
		component framework.Component
		want      string
	}{
		"rich":           {gives[*framework.Rich[int]](), "Out: the result *framework.Rich[int] would be sent as JSON, not as a Rich. Return framework.Rich[int]"},
		"content":        {gives[*framework.Content](), "*framework.Content would be sent as JSON, not as blocks. Return framework.Content"},
		"images":         {gives[[]framework.Image](), "[]protocol.Image would be sent as JSON, not as blocks. Return framework.Content"},
		"map of blocks":  {gives[map[string]protocol.Block](), "not as blocks"},
		"within a rich":  {gives[framework.Rich[[]framework.Image]](), "not as blocks"},
		"tool result":    {gives[*protocol.CallToolResult](), "not as a result. Return framework.Content or a framework.Rich, and a failure as the error, or by Rich.IsError"},
		"tool result 2":  {gives[protocol.CallToolResult](), "not as a result"},
		"any result":     {gives[protocol.Result](), "not as a result"},
		"chain's result": {gives[*framework.Result](), "not as a result"},
		"contents":       {gives[framework.Contents](), "not as contents. Return framework.Embedded"},
		"messages":       {gives[framework.Messages](), "not as messages. Make it a prompt"},
		"error":          {gives[error](), "not as an error. Return it beside the result"},
		"func":           {framework.Func("t", func() *framework.Content { return nil }), "Return framework.Content"},
		"read contents":  {reads[*framework.Contents](), "a resource cannot be a *protocol.Contents. " + resource},
		"read pointers":  {reads[[]*framework.Contents](), "a resource cannot be a []*protocol.Contents. " + resource},
		"read image":     {reads[*framework.Image](), "a resource cannot be a *protocol.Image. " + resource},
		"embeds a block": {gives[hit](), "framework_test.hit would be sent as JSON, not as blocks. Return a framework.Rich whose Value has the other members"},
		"embeds in list": {gives[[]*hit](), "not as blocks"},
		"embeds a rich":  {gives[scored](), "not as a Rich"},
		"embeds a tool":  {gives[*told](), "not as a result"},
		"method":         {serves[*protocol.CallToolResult](), "must be a JSON object, not *protocol.CallToolResult. Return a struct or a map"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := faultsOf(t, quiet().Add(tt.component)).Error(); !strings.Contains(got, tt.want) || !strings.HasPrefix(got, "kagami: 1 problem") {
				t.Errorf("want %q, got\n%s", tt.want, got)
			}
		})
	}
}

func TestResultsThatAreNotAlmost(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]framework.Component{
		"image": gives[framework.Image](), "audio": gives[framework.Audio](), "link": gives[framework.Link](),
		"embedded": gives[framework.Embedded](), "text": gives[protocol.Text](), "block": gives[protocol.Block](),
		"content": gives[framework.Content](), "blocks": gives[[]protocol.Block](), "stream": gives[framework.Stream](),
		"rich": gives[framework.Rich[[]int]](), "rich content": gives[framework.Rich[framework.Content]](),
		"raw": gives[json.RawMessage](), "any": gives[any](), "own JSON": gives[gallery](),
		"endless": gives[endless](), "meta": gives[protocol.Meta](), "components": gives[[]protocol.Tool](),
		"read contents": reads[framework.Contents](), "read list": reads[[]framework.Contents](), "read embedded": reads[framework.Embedded](),
	} {
		if _, err := quiet().Add(c).Build(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What is behind an interface is known only when it is returned: then the call fails.
func TestAlmostResultsBehindAny(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		result any
		want   string // "": it is sent
	}{
		"image":       {framework.Image{MIME: "image/png"}, "a protocol.Image would be sent as JSON, not as blocks. Return framework.Content"},
		"content":     {framework.Content{framework.Text("a")}, "a framework.Content would be sent as JSON, not as blocks"},
		"rich":        {framework.Rich[int]{Value: 1}, "not as a Rich. Return framework.Rich[int]"},
		"tool result": {&protocol.CallToolResult{IsError: true}, "not as a result"},
		"in a map":    {map[string]any{"a": []any{framework.Contents{}}}, "/a/0: a protocol.Contents would be sent as JSON, not as contents"},
		"own JSON":    {gallery{}, ""},
		"components":  {[]protocol.Tool{}, ""},
		"struct":      {struct{ A int }{1}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tool := framework.Tool("t", func(context.Context, struct{}) (any, error) { return tt.result, nil })
			answer := dial(t, build(t, quiet(framework.WithErrorDetail()).Add(tool)), protocol.Rev20251125).tool("t", "{}")
			if tt.want == "" {
				answer.ok()
			} else {
				answer.isError().mentions(tt.want)
			}
		})
	}
}
