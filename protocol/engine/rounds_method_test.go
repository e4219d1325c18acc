package engine_test

import (
	"context"
	"testing"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/engine"
)

// prompting is a catalog with a prompt for each tool, with the same name.
type prompting struct{ catalog }

func (p prompting) Capabilities() protocol.ServerCapabilities {
	c := p.catalog.Capabilities()
	c.Prompts = true
	return c
}

func (p prompting) Snapshot() engine.Snapshot { return p }

func (p prompting) Find(ctx context.Context, c *engine.Call, params protocol.Params) (engine.Handler, error) {
	if prompt, ok := params.(*protocol.GetPromptParams); ok {
		params = &protocol.CallToolParams{Name: prompt.Name}
	}
	return p.catalog.Find(ctx, c, params)
}

// TestStateOfAnotherMethod checks that a prompt refuses the state of a tool, even with the same
// name and arguments.
func TestStateOfAnotherMethod(t *testing.T) {
	t.Parallel()
	runs := 0
	h := func(ctx context.Context, c *engine.Call) (protocol.Result, error) {
		runs++
		v, err := want(ctx, c, "k", "K?")
		return text(v), err
	}
	a, _ := start(t, h, func(cfg *engine.Config) { cfg.Catalog = prompting{catalog{"ask": h}} })
	a.arguments = `{"a":"x"}`
	a.send("").asks(t, "k")
	get := func(more string) string {
		return a.p.ask(`{"jsonrpc":"2.0","id":99,"method":"prompts/get","params":{"name":"ask","arguments":{"a":"x"},"_meta":{` +
			`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}` + more + `}}`)
	}
	shows(t, get(""), `"input_required"`, `"k"`)
	before := runs
	shows(t, get(`,"inputResponses":{"k":`+accepted("v")+`},"requestState":"`+a.state+`"`), "-32602")
	if runs != before {
		t.Error("the handler ran")
	}
}
