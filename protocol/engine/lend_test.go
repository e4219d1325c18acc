package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/engine"
)

// lending answers with its arguments, out of memory that it is lent.
func lending(_ context.Context, c *engine.Call) (protocol.Result, error) {
	room, ok := c.Lend()
	if !ok || len(room) != 0 {
		return nil, fmt.Errorf("lent %d bytes, %v", len(room), ok)
	}
	if _, twice := c.Lend(); twice {
		return nil, fmt.Errorf("lent twice")
	}
	args := c.Params.(*protocol.CallToolParams).Arguments
	out := append(room, args...)
	c.Lent(out)
	return &protocol.CallToolResult{Structured: json.RawMessage(out)}, nil
}

// TestLentMemory checks that borrowed memory belongs to one call until its answer is sent.
func TestLentMemory(t *testing.T) {
	t.Parallel()
	e := engine.New(engine.Config{Info: protocol.Implementation{Name: "s", Version: "1"}, Catalog: catalog{"say": lending}})
	p := connect(t, e)
	p.initialize("2025-11-25", "{}")
	const calls = 200
	for i := range calls {
		p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"say","arguments":{"a":"%d %s"}}}`, i+10, i, strings.Repeat("x", i*7)))
	}
	for range calls {
		var answer struct {
			ID     int
			Result struct {
				Content           []struct{ Text string }
				StructuredContent struct{ A string }
			}
		}
		frame := p.next()
		if err := json.Unmarshal([]byte(frame), &answer); err != nil {
			t.Fatal(err)
		}
		i := answer.ID - 10
		want := fmt.Sprintf("%d %s", i, strings.Repeat("x", i*7))
		if answer.Result.StructuredContent.A != want || len(answer.Result.Content) != 1 || answer.Result.Content[0].Text != `{"a":"`+want+`"}` {
			t.Fatalf("call %d is answered with %.200s", i, frame)
		}
	}
}

// TestReplaysAreNotLentMemory: what they return would be written over the answer.
func TestReplaysAreNotLentMemory(t *testing.T) {
	t.Parallel()
	var lent []bool
	a, f := start(t, func(ctx context.Context, c *engine.Call) (protocol.Result, error) {
		_, ok := c.Lend()
		lent = append(lent, ok)
		_, err := want(ctx, c, "k", "K?")
		return text("x"), err
	}, func(cfg *engine.Config) { cfg.ReplayCheck = true })
	a.send("").asks(t, "k")
	a.p.served.Wait()
	if len(f.all) != 0 || fmt.Sprint(lent) != "[true false]" {
		t.Errorf("lent %v, %v", lent, f.all)
	}
}
