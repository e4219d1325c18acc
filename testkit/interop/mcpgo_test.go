package interop_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"
)

// TestMCPGo drives the server with mcp-go's client, in both eras.
func TestMCPGo(t *testing.T) {
	for _, version := range []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			c, seen := mcpGo(t, version)
			t.Run("lists", func(t *testing.T) { mcpGoLists(t, c) })
			t.Run("calls", func(t *testing.T) { mcpGoCalls(t, c, version) })
			t.Run("resources and prompts", func(t *testing.T) { mcpGoResources(t, c) })
			t.Run("progress", func(t *testing.T) { mcpGoProgress(t, c, seen) })
			if version == "2026-07-28" {
				t.Run("listen and logs", func(t *testing.T) { mcpGoModern(t, c, seen) })
			} else {
				t.Run("subscribe and ping", func(t *testing.T) { mcpGoLegacy(t, c, seen) })
			}
		})
	}
}

// tally counts notifications by method.
type tally struct{ progress, logs, updates, changes atomic.Int64 }

func mcpGo(t *testing.T, version string) (*client.Client, *tally) {
	t.Helper()
	c, err := client.NewStdioMCPClient(everything, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	seen := &tally{}
	c.OnNotification(func(n mcp.JSONRPCNotification) {
		switch n.Method {
		case "notifications/progress":
			seen.progress.Add(1)
		case "notifications/message":
			seen.logs.Add(1)
		case "notifications/resources/updated":
			seen.updates.Add(1)
		case "notifications/tools/list_changed":
			seen.changes.Add(1)
		}
	})
	if err := c.Start(t.Context()); err != nil { // hooks the notifications up
		t.Fatal(err)
	}
	request := mcp.InitializeRequest{}
	request.Params.ProtocolVersion = version
	request.Params.ClientInfo = mcp.Implementation{Name: "interop-mcp-go", Version: "1"}
	r, err := c.Initialize(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	if r.ProtocolVersion != version {
		t.Fatalf("negotiated %s", r.ProtocolVersion)
	}
	return c, seen
}

func mcpGoLists(t *testing.T, c *client.Client) {
	tools, err := c.ListTools(t.Context(), mcp.ListToolsRequest{})
	if err != nil || len(tools.Tools) <= 20 || tools.Tools[0].Name != "test_simple_text" {
		t.Fatalf("tools: %v, %v", tools, err)
	}
	if r, err := c.ListResources(t.Context(), mcp.ListResourcesRequest{}); err != nil || len(r.Resources) == 0 {
		t.Fatal(r, err)
	}
	if r, err := c.ListResourceTemplates(t.Context(), mcp.ListResourceTemplatesRequest{}); err != nil || len(r.ResourceTemplates) == 0 {
		t.Fatal(r, err)
	}
	if r, err := c.ListPrompts(t.Context(), mcp.ListPromptsRequest{}); err != nil || len(r.Prompts) == 0 {
		t.Fatal(r, err)
	}
}

func mcpGoCall(t *testing.T, c *client.Client, name string, args map[string]any) (*mcp.CallToolResult, error) {
	t.Helper()
	request := mcp.CallToolRequest{}
	request.Params.Name = name
	if args != nil { // a nil map would travel as null, which is no object
		request.Params.Arguments = args
	}
	return c.CallTool(t.Context(), request)
}

func mcpGoCalls(t *testing.T, c *client.Client, version string) {
	r, err := mcpGoCall(t, c, "test_simple_text", nil)
	if err != nil || len(r.Content) != 1 {
		t.Fatal(r, err)
	}
	if text, ok := r.Content[0].(mcp.TextContent); !ok || text.Text != "This is a simple text response for testing." {
		t.Fatalf("got %v", r.Content[0])
	}
	if r, err := mcpGoCall(t, c, "test_error_handling", nil); err != nil || !r.IsError {
		t.Fatal(r, err)
	}
	if _, err := mcpGoCall(t, c, "no_such_tool", nil); err == nil || !strings.Contains(err.Error(), "no_such_tool") {
		t.Fatalf("unknown tool: %v", err)
	}
	r, err = mcpGoCall(t, c, "slow", map[string]any{"seconds": "soon"})
	asResult := version == "2025-11-25" || version == "2026-07-28"
	if asResult && (err != nil || !r.IsError) || !asResult && (err == nil || !strings.Contains(err.Error(), "/seconds")) {
		t.Fatalf("invalid arguments: %v, %v", r, err)
	}
	before := mcpGoCancelled(t, c)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	request := mcp.CallToolRequest{}
	request.Params.Name, request.Params.Arguments = "slow", map[string]any{"seconds": 30}
	if _, err := c.CallTool(ctx, request); err == nil {
		t.Fatal("the call was not cancelled")
	}
	within(t, "the cancellation of the handler", func() bool { return mcpGoCancelled(t, c) > before })
}

func mcpGoCancelled(t *testing.T, c *client.Client) int64 {
	t.Helper()
	r, err := mcpGoCall(t, c, "slow_cancelled", nil)
	if err != nil || len(r.Content) != 1 {
		t.Fatal(r, err)
	}
	text, _ := r.Content[0].(mcp.TextContent)
	var out struct{ Count int64 }
	if err := json.Unmarshal([]byte(text.Text), &out); err != nil {
		t.Fatalf("%q: %v", text.Text, err)
	}
	return out.Count
}

func mcpGoResources(t *testing.T, c *client.Client) {
	read := mcp.ReadResourceRequest{}
	read.Params.URI = "test://template/123/data"
	r, err := c.ReadResource(t.Context(), read)
	if err != nil || len(r.Contents) != 1 {
		t.Fatal(r, err)
	}
	get := mcp.GetPromptRequest{}
	get.Params.Name = "test_prompt_with_arguments"
	get.Params.Arguments = map[string]string{"arg1": "x1", "arg2": "x2"}
	if r, err := c.GetPrompt(t.Context(), get); err != nil || len(r.Messages) != 1 {
		t.Fatal(r, err)
	}
	complete := mcp.CompleteRequest{}
	complete.Params.Ref = mcp.PromptReference{Type: "ref/prompt", Name: "test_prompt_with_arguments"}
	complete.Params.Argument = mcp.CompleteArgument{Name: "arg1", Value: "te"}
	if _, err := c.Complete(t.Context(), complete); err != nil {
		t.Fatal(err)
	}
}

func mcpGoProgress(t *testing.T, c *client.Client, seen *tally) {
	request := mcp.CallToolRequest{}
	request.Params.Name, request.Params.Arguments = "burst", map[string]any{"n": 100}
	request.Params.Meta = &mcp.Meta{ProgressToken: "burst"}
	if _, err := c.CallTool(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	within(t, "100 progress notifications", func() bool { return seen.progress.Load() == 100 })
}

func mcpGoLegacy(t *testing.T, c *client.Client, seen *tally) {
	level := mcp.SetLevelRequest{}
	level.Params.Level = mcp.LoggingLevelDebug
	if err := c.SetLevel(t.Context(), level); err != nil {
		t.Fatal(err)
	}
	if _, err := mcpGoCall(t, c, "burst", map[string]any{"n": 100}); err != nil {
		t.Fatal(err)
	}
	within(t, "100 logs", func() bool { return seen.logs.Load() == 100 })
	subscribe := mcp.SubscribeRequest{}
	subscribe.Params.URI = "test://watched-resource"
	if err := c.Subscribe(t.Context(), subscribe); err != nil {
		t.Fatal(err)
	}
	if _, err := mcpGoCall(t, c, "update_watched", nil); err != nil {
		t.Fatal(err)
	}
	if _, err := mcpGoCall(t, c, "test_trigger_tool_change", nil); err != nil {
		t.Fatal(err)
	}
	within(t, "the update and list_changed", func() bool { return seen.updates.Load() > 0 && seen.changes.Load() > 0 })
	if err := c.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func mcpGoModern(t *testing.T, c *client.Client, seen *tally) {
	request := mcp.CallToolRequest{}
	request.Params.Name, request.Params.Arguments = "burst", map[string]any{"n": 100}
	request.Params.Meta = &mcp.Meta{AdditionalFields: map[string]any{"io.modelcontextprotocol/logLevel": "debug"}}
	if _, err := c.CallTool(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	within(t, "100 logs", func() bool { return seen.logs.Load() == 100 })
	stop, err := c.ListenAsync(t.Context(), mcp.SubscriptionFilter{
		ToolsListChanged: true, ResourceSubscriptions: []string{"test://watched-resource"},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	// ListenAsync does not say when the stream is open, so the changes are made
	// until they are seen.
	within(t, "the update and list_changed", func() bool {
		for _, tool := range []string{"update_watched", "test_trigger_tool_change"} {
			if _, err := mcpGoCall(t, c, tool, nil); err != nil {
				t.Fatal(err)
			}
		}
		return seen.updates.Load() > 0 && seen.changes.Load() > 0
	})
}
