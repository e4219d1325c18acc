package middleware_test

import (
	"context"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/middleware"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/transport"
)

func withPrincipal(ctx context.Context, p *framework.Principal) context.Context {
	return transport.WithPrincipal(ctx, p)
}

func TestMaxResult(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("x", 100)
	messages := framework.Messages{framework.User(text)}
	for name, tt := range map[string]struct {
		size int
		make framework.Component
	}{
		"text":       {100, framework.Tool("t", func(context.Context, struct{}) (string, error) { return text, nil })},
		"structured": {2 * 110, framework.Tool("t", func(context.Context, struct{}) (nested, error) { return nested{Label: text[:98]}, nil })},
		"an image": {136, framework.Tool("t", func(context.Context, struct{}) (framework.Image, error) {
			return framework.Image{Data: []byte(text), MIME: "image/png"}, nil
		})},
		"audio": {136, framework.Tool("t", func(context.Context, struct{}) (framework.Audio, error) {
			return framework.Audio{Data: []byte(text), MIME: "audio/wav"}, nil
		})},
		"a link": {104, framework.Tool("t", func(context.Context, struct{}) (framework.Link, error) {
			return framework.Link{URI: "a://b"[:3] + "z", Name: text}, nil
		})},
		"a blob":     {136 + len("result://t"), framework.Tool("t", func(context.Context, struct{}) ([]byte, error) { return []byte(text), nil })},
		"a resource": {100 + len("a://t"), framework.Resource("a://t", func(context.Context) (string, error) { return text, nil })},
		"a prompt":   {100, framework.Prompt("t", func(context.Context, struct{}) (framework.Messages, error) { return messages, nil })},
		"a method":   {110, framework.Method("example.com/t", func(context.Context, struct{}) (nested, error) { return nested{Label: text[:98]}, nil })},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, room := range []int{0, -1} {
				s := build(t, quiet().Use(middleware.MaxResult(tt.size+room)).Add(tt.make))
				var got answer
				switch name {
				case "a resource":
					got = request(t.Context(), t, s, "resources/read", "", `"uri":"a://t",`)
				case "a prompt":
					got = request(t.Context(), t, s, "prompts/get", "", `"name":"t",`)
				case "a method":
					got = request(t.Context(), t, s, "example.com/t", "", "")
				default:
					got = call(t.Context(), t, s, `{}`)
				}
				refused := strings.Contains(got.raw, "at most")
				if refused != (room < 0) || room == 0 && (got.Error != nil || got.Result.IsError) {
					t.Errorf("of a bound that is %d from the size: %s", room, got.raw)
				}
			}
		})
	}
}

type output struct {
	N int `json:"n"`
}

// tamper is a step that changes the structured content; "" removes it.
func tamper(structured string) framework.Middleware {
	return framework.OnToolCall("tamper", func(ctx context.Context, c *framework.Call, next framework.Next[*protocol.CallToolResult]) (*protocol.CallToolResult, error) {
		r, err := next(ctx, c)
		if err == nil {
			r.Structured = []byte(structured)
			if structured == "" {
				r.Structured = nil
			}
		}
		return r, err
	})
}

func TestCheckOutput(t *testing.T) {
	t.Parallel()
	tool := func(n int, opts ...framework.Option) framework.Component {
		return framework.Tool("t", func(context.Context, struct{}) (output, error) { return output{n}, nil }, opts...)
	}
	for name, tt := range map[string]struct {
		tool framework.Component
		want string // in the error; "": it passes
	}{
		"fits":           {tool(10), ""},
		"another type":   {tool(1, framework.With(tamper(`{"n":"1"}`))), "does not fit the output schema"},
		"another member": {tool(1, framework.With(tamper(`{"m":1}`))), "does not fit the output schema"},
		"nothing":        {tool(1, framework.With(tamper(``))), "no structured content"},
		"text":           {doing(nothing), ""},
		"an error":       {doing(func(context.Context) error { return framework.UserErrorf("no") }), "no"},
		"isError": {tool(11, framework.With(framework.OnToolCall("e", func(context.Context, *framework.Call, framework.Next[*protocol.CallToolResult]) (*protocol.CallToolResult, error) {
			return &protocol.CallToolResult{IsError: true, Content: framework.Content{framework.Text("no")}}, nil
		}))), "no"},
		"no object": {framework.Tool("t", func(context.Context, struct{}) ([]int, error) { return nil, nil }), ""},
		"any":       {framework.Tool("t", func(context.Context, struct{}) (any, error) { return map[string]any{"x": 1}, nil }), ""},
	} {
		s := build(t, quiet(framework.WithErrorDetail()).Use(middleware.CheckOutput()).Add(tt.tool))
		for range 2 {
			for _, got := range []answer{call(t.Context(), t, s, `{}`), shake(t, s).call(t, `{}`)} {
				if got.Result.IsError != (tt.want != "") || !strings.Contains(got.text(), tt.want) {
					t.Errorf("%s: %s, want %q", name, got.raw, tt.want)
				}
			}
		}
	}
}

// TestCheckOutputIsInternal checks that, without WithErrorDetail, the client does not see what is
// wrong inside.
func TestCheckOutputIsInternal(t *testing.T) {
	t.Parallel()
	app, logs := watched()
	s := build(t, app.Use(middleware.CheckOutput()).Add(framework.Tool("t", func(context.Context, struct{}) (output, error) { return output{11}, nil }, framework.With(tamper(`{}`)))))
	got := call(t.Context(), t, s, `{}`)
	if !got.Result.IsError || strings.Contains(got.raw, "schema") || logs.Len() != 1 {
		t.Errorf("answered %s, logged %v", got.raw, logs.All())
	}
}
