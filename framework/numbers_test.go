package framework_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/internal/decimal"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
)

// TestNumbersInAnyAreExact sends numbers through values of any type, in and out, at any depth.
func TestNumbersInAnyAreExact(t *testing.T) {
	t.Parallel()
	type box struct {
		V any            `json:"v"`
		M map[string]any `json:"m"`
		L []any          `json:"l"`
	}
	app := framework.New("echo", "1")
	app.Add(framework.Tool("echo", func(_ context.Context, in box) (box, error) { return in, nil }))
	server, err := app.Build()
	if err != nil {
		t.Fatal(err)
	}
	for _, rev := range []protocol.Revision{protocol.Rev20250618, protocol.Rev20251125, protocol.Rev20260728} {
		c, err := client.Connect(t.Context(), client.InMemory(server), client.Revisions(rev))
		if err != nil {
			t.Fatal(err)
		}
		for _, number := range numbers() {
			args := json.RawMessage(fmt.Sprintf(`{"v":%[1]s,"m":{"a":{"b":[%[1]s]}},"l":[[%[1]s],{"c":%[1]s}]}`, number))
			got, err := c.CallTool(t.Context(), "echo", args)
			if err != nil {
				t.Fatal(err)
			}
			var out struct {
				V json.RawMessage
				M struct{ A struct{ B []json.RawMessage } }
			}
			if err := json.Unmarshal(got.Structured, &out); err != nil {
				t.Fatalf("%s: %s", number, got.Structured)
			}
			want, _ := decimal.Of([]byte(number))
			for _, back := range []json.RawMessage{out.V, out.M.A.B[0]} {
				if have, ok := decimal.Of(back); !ok || have != want {
					t.Errorf("%s: %s comes back as %s", rev, number, back)
				}
			}
		}
		_ = c.Close()
	}
}

func numbers() []string {
	r := rand.New(rand.NewPCG(1, 2))
	all := []string{
		"882020665374088320", "882020665374088321", "9007199254740993", "-9223372036854775808", "18446744073709551615", "1.10", "0.1", "1e400", "-1e-400",
		"1.2345e-322", "5e-324", "123456789012345678901234567890.123456789", "1e21", "100000000000000000000", "0.30000000000000004", strings.Repeat("9", 300),
	}
	for range 200 {
		all = append(all, fmt.Sprint(r.Int64()), fmt.Sprint(r.Uint64()), fmt.Sprint(-r.Int64N(1<<60)*64/64), fmt.Sprint(uint64(math.Float64frombits(r.Uint64()>>2)*1e3)),
			fmt.Sprintf("%d.%d", r.Int64N(1e6), r.Int64N(1e15)), fmt.Sprintf("%de%d", r.Int64N(1e9), r.IntN(600)-300))
	}
	return all
}

// TestEmptyIsAbsent: what a step of the program leaves empty is not sent, on any revision.
func TestEmptyIsAbsent(t *testing.T) {
	t.Parallel()
	empty := func(next framework.Handler) framework.Handler {
		return func(ctx context.Context, call *framework.Call) (*framework.Result, error) {
			result, err := next(ctx, call)
			if err != nil {
				return nil, err
			}
			if body, ok := result.Body.(*protocol.CallToolResult); ok {
				body.Structured = json.RawMessage{}
				body.Meta = protocol.Meta{"note": json.RawMessage{}, "kept": "x"}
			}
			return result, err
		}
	}
	core, logs := observer.New(zap.ErrorLevel)
	app := framework.New("empty", "1", framework.WithLogger(zap.New(core)))
	app.Use(framework.Middleware{Name: "empty", Wrap: empty})
	app.Add(framework.Tool("text", func(context.Context, struct{}) (string, error) { return "good", nil }))
	app.Add(framework.Tool("fault", func(context.Context, struct{}) (string, error) {
		return "", &protocol.Error{Code: -32000, Message: "no", Data: json.RawMessage{}}
	}))
	app.Add(framework.Resource("e://inside", func(context.Context) (map[string]any, error) {
		return map[string]any{"raw": json.RawMessage{}, "list": []any{json.RawMessage{}}}, nil
	}))
	server, err := app.Build()
	if err != nil {
		t.Fatal(err)
	}
	for _, rev := range protocol.Revisions() {
		c, err := client.Connect(t.Context(), client.InMemory(server), client.Revisions(rev))
		if err != nil {
			t.Fatal(err)
		}
		raw, err := c.Request(t.Context(), "tools/call", json.RawMessage(`{"name":"text"}`))
		if err != nil || strings.Contains(string(raw), "failed") || strings.Contains(string(raw), "structuredContent") || !strings.Contains(string(raw), "good") {
			t.Errorf("%s: %s %v", rev, raw, err)
		}
		if _, err := c.Request(t.Context(), "tools/call", json.RawMessage(`{"name":"fault"}`)); err == nil || !strings.Contains(err.Error(), "no") || strings.Contains(err.Error(), "internal") {
			t.Errorf("%s: %v", rev, err)
		} else if fault, ok := errors.AsType[*protocol.Error](err); !ok || fault.Data != nil {
			t.Errorf("%s: the error has data: %v", rev, err)
		}
		raw, err = c.Request(t.Context(), "resources/read", json.RawMessage(`{"uri":"e://inside"}`))
		if err != nil || !strings.Contains(string(raw), `{\"list\":[null],\"raw\":null}`) {
			t.Errorf("%s: %s %v", rev, raw, err)
		}
		_ = c.Close()
	}
	for _, e := range logs.All() {
		t.Errorf("logged: %s %v", e.Message, e.ContextMap())
	}
}

// TestEmptyRichIsAbsent checks that an empty value of a Rich[json.RawMessage] is left out like a
// nil one.
func TestEmptyRichIsAbsent(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]json.RawMessage{"nil": nil, "empty": {}} {
		rich := func(isError bool) func(context.Context, struct{}) (framework.Rich[json.RawMessage], error) {
			return func(context.Context, struct{}) (framework.Rich[json.RawMessage], error) {
				return framework.Rich[json.RawMessage]{Value: value, Content: framework.Content{protocol.Text{Text: "t"}}, IsError: isError}, nil
			}
		}
		server := build(t, quiet().Add(
			framework.Tool("good", rich(false)), framework.Tool("bad", rich(true)),
			framework.Tool("checked", rich(true), framework.OutputSchema(`{"type":"object"}`))))
		for _, rev := range protocol.Revisions() {
			c, err := client.Connect(t.Context(), client.InMemory(server), client.Revisions(rev))
			if err != nil {
				t.Fatal(err)
			}
			for _, tool := range []string{"good", "bad", "checked"} {
				raw, err := c.Request(t.Context(), "tools/call", json.RawMessage(`{"name":"`+tool+`"}`))
				if err != nil || strings.Contains(string(raw), "structuredContent") {
					t.Errorf("%s, %s: %s %v", name, tool, raw, err)
				}
			}
			_ = c.Close()
		}
	}
}
