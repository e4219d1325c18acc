package framework_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
)

func TestFunc(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		fn        any
		params    []string
		arguments string
		want      string
	}{
		"nothing":      {func() {}, nil, `{}`, ""},
		"result":       {func() string { return "x" }, nil, `{}`, "x"},
		"error only":   {func() error { return nil }, nil, `{}`, ""},
		"struct":       {func(in searchIn) searchOut { return searchOut{Limit: in.Limit} }, nil, `{"query":"go"}`, `{"rows":[],"limit":10}`},
		"all":          {search, nil, `{"query":"go"}`, `{"rows":["go"],"limit":10}`},
		"pointer":      {func(in *searchIn) int { return in.Limit }, nil, `{"query":"go"}`, `10`},
		"map":          {func(in map[string]int) int { return in["a"] }, nil, `{"a":3}`, `3`},
		"no context":   {func(in searchIn) (int, error) { return in.Limit, nil }, nil, `{"query":"go","limit":2}`, `2`},
		"empty struct": {func(context.Context, struct{}) string { return "x" }, nil, `{}`, "x"},
		"scalars":      {func(a, b int) int { return a + b }, []string{"a", "b"}, `{"a":1,"b":2}`, `3`},
		"with context": {func(_ context.Context, s string) string { return s + "!" }, []string{"s"}, `{"s":"x"}`, "x!"},
		"optional":     {func(_ int, b *int) bool { return b == nil }, []string{"a", "b"}, `{"a":1}`, `true`},
		"list":         {func(tags []string) int { return len(tags) }, []string{"tags"}, `{"tags":["a","b"]}`, `2`},
		"named struct": {func(in searchIn, n int) int { return in.Limit + n }, []string{"in", "n"}, `{"in":{"query":"go"},"n":1}`, `11`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := build(t, quiet().Add(framework.Func("f", tt.fn, framework.Params(tt.params...))))
			for _, rev := range []protocol.Revision{protocol.Rev20251125, protocol.Rev20260728} {
				r := dial(t, s, rev).tool("f", tt.arguments)
				if r.tool().IsError || r.text() != tt.want {
					t.Errorf("%s: got %s, want %s", rev, r.Result, tt.want)
				}
			}
		})
	}
}

// TestParamsOfGroup checks that the Params of a group apply to its plain functions.
func TestParamsOfGroup(t *testing.T) {
	t.Parallel()
	s := build(t, quiet().Add(framework.Group("g",
		framework.Func("add", func(a, b int) int { return a + b }),
		framework.Func("sub", func(a, b int) int { return a - b }),
		framework.Tool("none", none),
		framework.Methods(&onlyOne{}),
	).With(framework.Params("a", "b"))))
	p := dial(t, s, protocol.Rev20260728)
	if sum, rest := p.tool("g_add", `{"a":3,"b":2}`).text(), p.tool("g_sub", `{"a":3,"b":2}`).text(); sum != "5" || rest != "1" {
		t.Errorf("got %s and %s", sum, rest)
	}
}

func TestFuncFaults(t *testing.T) {
	t.Parallel()
	s := build(t, quiet().Add(
		framework.Func("add", func(a, b int) int { return a + b }, framework.Params("a", "b")),
		framework.Func("fail", func() error { return framework.UserErrorf("sorry") }),
		framework.Func("leak", func() (int, error) { return 0, errors.New("secret") }),
	))
	bothEras(t, func(t *testing.T, rev protocol.Revision) {
		p := dial(t, s, rev)
		p.tool("add", `{"a":"x"}`).isError().mentions("add: 2 problems.", "/a", "/b")
		p.tool("fail", `{}`).isError().mentions("sorry")
		p.tool("leak", `{}`).isError().omits("secret")
	})
}

func TestMethod(t *testing.T) {
	t.Parallel()
	type in struct {
		N int `json:"n" validate:"min=1"`
	}
	type out struct {
		Twice int `json:"twice"`
	}
	s := build(t, quiet().Add(
		framework.Method("example.com/twice", func(_ context.Context, p in) (out, error) { return out{p.N * 2}, nil }),
		framework.Method("example.com/none", func(context.Context, struct{}) (struct{}, error) { return struct{}{}, nil }),
		framework.Method("example.com/raw", func(context.Context, struct{}) (json.RawMessage, error) { return json.RawMessage(`{"a":1}`), nil }),
		framework.Method("example.com/list", func(context.Context, struct{}) (json.RawMessage, error) { return json.RawMessage(`[1]`), nil }),
		framework.Method("example.com/fail", func(context.Context, struct{}) (out, error) { return out{}, framework.UserErrorf("sorry") }),
		framework.Method("example.com/secret", func(context.Context, struct{}) (out, error) { return out{}, nil }, framework.Scopes("x")),
	))
	bothEras(t, func(t *testing.T, rev protocol.Revision) {
		p := dial(t, s, rev, withMeta("example.com/trace", `"t"`))
		if got := p.call("example.com/twice", `{"n":3}`).field("twice"); got != 6.0 {
			t.Errorf("twice = %v", got)
		}
		p.call("example.com/none", "").ok()
		if got := p.call("example.com/raw", "").field("a"); got != 1.0 {
			t.Errorf("raw = %v", got)
		}
		p.call("example.com/list", "").code(protocol.CodeInternal)
		p.call("example.com/twice", `{"n":0}`).code(protocol.CodeInvalidParams).mentions("/n")
		p.call("example.com/fail", "").code(protocol.CodeInternal).mentions("sorry")
		p.call("example.com/secret", "").code(-32601)
		p.call("example.com/other", "").code(-32601)
	})
}
