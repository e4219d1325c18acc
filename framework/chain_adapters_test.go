package framework_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
)

type tenantKey struct{}

// A value that a step puts into the context is there for the steps behind it and for
// the handler, for this call alone.
func TestPerCallValues(t *testing.T) {
	t.Parallel()
	var n atomic.Int64
	number := framework.Middleware{Name: "number", Phase: framework.PhaseAuth, Wrap: func(next framework.Handler) framework.Handler {
		return func(ctx context.Context, call *framework.Call) (*framework.Result, error) {
			return next(context.WithValue(ctx, tenantKey{}, n.Add(1)), call)
		}
	}}
	sign := framework.OnToolCall("sign", func(ctx context.Context, call *framework.Call, next framework.Next[*protocol.CallToolResult]) (*protocol.CallToolResult, error) {
		r, err := next(ctx, call)
		if err == nil {
			r.Content = append(r.Content, framework.Text(fmt.Sprint("signed by ", ctx.Value(tenantKey{}))))
		}
		return r, err
	})
	s := build(t, quiet().Use(sign, number).Add(framework.Tool("t", func(ctx context.Context, _ struct{}) (string, error) {
		return fmt.Sprint("tenant ", ctx.Value(tenantKey{})), nil
	})))
	bothEras(t, func(t *testing.T, rev protocol.Revision) {
		p := dial(t, s, rev)
		var last string
		for range 2 {
			got := p.tool("t", `{}`).text()
			tenant, signer, _ := strings.Cut(got, "\nsigned by ")
			if tenant != "tenant "+signer || got == last {
				t.Errorf("%q after %q", got, last)
			}
			last = got
		}
	})
}

// A typed step may answer without next, and then nothing behind it runs.
func TestTypedAdaptersAnswer(t *testing.T) {
	t.Parallel()
	behind := &recorder{}
	s := build(t, quiet().Use(
		framework.OnToolCall("tool", func(context.Context, *framework.Call, framework.Next[*protocol.CallToolResult]) (*protocol.CallToolResult, error) {
			return &protocol.CallToolResult{Content: []protocol.Block{framework.Text("instead")}}, nil
		}),
		framework.OnRead("read", func(_ context.Context, call *framework.Call, _ framework.Next[*protocol.ReadResourceResult]) (*protocol.ReadResourceResult, error) {
			return &protocol.ReadResourceResult{Contents: []protocol.Contents{{URI: call.Name, Text: "instead"}}}, nil
		}),
		framework.OnPrompt("prompt", func(context.Context, *framework.Call, framework.Next[*protocol.GetPromptResult]) (*protocol.GetPromptResult, error) {
			return nil, framework.UserErrorf("not today")
		}),
		framework.OnList("list", func(context.Context, *framework.Call, framework.Next[[]framework.ComponentInfo]) ([]framework.ComponentInfo, error) {
			return nil, nil
		}),
		behind.step("behind", framework.PhaseApp),
	).Add(framework.Tool("t", none), framework.Prompt("p", prompt), framework.Resource("a://b", text)))
	bothEras(t, func(t *testing.T, rev protocol.Revision) {
		p := dial(t, s, rev)
		if got := p.tool("t", `{}`).text(); got != "instead" {
			t.Errorf("the tool answered %q", got)
		}
		if got := p.read("a://b").field("contents.0.text"); got != "instead" {
			t.Errorf("read %v", got)
		}
		p.call("prompts/get", `{"name":"p"}`).mentions("not today")
		if got := p.call("tools/list", "").names("tools", "name"); len(got) != 0 {
			t.Errorf("listed %v", got)
		}
		if got := behind.take(); got != "" {
			t.Errorf("ran %q", got)
		}
	})
}
