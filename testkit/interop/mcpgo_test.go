package interop_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// TestMCPGo drives the server with mcp-go's client, on all carriers at all revisions.
func TestMCPGo(t *testing.T) {
	everywhere(t, func(t *testing.T, at *site, version string) {
		c, seen := mcpGo(t, at, version)
		t.Run("lists", func(t *testing.T) { mcpGoLists(t, c) })
		t.Run("calls", func(t *testing.T) { mcpGoCalls(t, c, version) })
		t.Run("resources and prompts", func(t *testing.T) { mcpGoResources(t, c) })
		t.Run("progress", func(t *testing.T) { mcpGoProgress(t, c, seen) })
		if version == modern {
			t.Run("listen and logs", func(t *testing.T) { mcpGoModern(t, c, seen) })
		} else {
			t.Run("subscribe and ping", func(t *testing.T) { mcpGoLegacy(t, c, seen) })
		}
		if version == modern || at.path == "" { // it does not tell a server over HTTP
			t.Run("cancel", func(t *testing.T) { mcpGoCancel(t, c) })
		}
		if at.path != "/sse" { // where it hears no questions
			t.Run("questions", func(t *testing.T) { mcpGoQuestions(t, c, version) })
		}
		t.Run("released stream", func(t *testing.T) { mcpGoReleased(t, c, at, version) })
		if err := c.Close(); err != nil {
			t.Errorf("closing: %v", err)
		}
		if at.streamable() && version != modern {
			at.web.ended(t, at.url())
		}
	})
}

// TestMCPGoRestart has the server crash under a client.
func TestMCPGoRestart(t *testing.T) {
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			at := carriers[1].start(t)
			c, _ := mcpGo(t, at, version)
			if _, err := mcpGoCall(t, c, "test_simple_text", nil); err != nil {
				t.Fatal(err)
			}
			at.crash(t)
			if version != modern {
				if _, err := mcpGoCall(t, c, "test_simple_text", nil); !errors.Is(err, transport.ErrSessionTerminated) {
					t.Fatalf("a call of the lost session: %v", err)
				}
				mcpGoInitialize(t, c, version) // as the error asks for
			}
			if r, err := mcpGoCall(t, c, "test_simple_text", nil); err != nil || len(r.Content) != 1 {
				t.Fatal(r, err)
			}
		})
	}
}

// tally counts notifications by method.
type tally struct{ progress, logs, updates, changes atomic.Int64 }

// person answers questions for mcp-go.
type person struct{}

func (person) Elicit(context.Context, mcp.ElicitationRequest) (*mcp.ElicitationResult, error) {
	return &mcp.ElicitationResult{ElicitationResponse: mcp.ElicitationResponse{
		Action: mcp.ElicitationResponseActionAccept, Content: map[string]any{"username": "ada", "email": "ada@example.com"},
	}}, nil
}

func (person) CreateMessage(context.Context, mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
	return &mcp.CreateMessageResult{Model: "m", SamplingMessage: mcp.SamplingMessage{
		Role: mcp.RoleAssistant, Content: mcp.TextContent{Type: "text", Text: "four"},
	}}, nil
}

func mcpGo(t *testing.T, at *site, version string) (*client.Client, *tally) {
	t.Helper()
	carrier, err := at.mcpGo(version)
	if err != nil {
		t.Fatal(err)
	}
	c := client.NewClient(carrier, client.WithElicitationHandler(person{}), client.WithSamplingHandler(person{}))
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
	mcpGoInitialize(t, c, version)
	return c, seen
}

func mcpGoInitialize(t *testing.T, c *client.Client, version string) {
	t.Helper()
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
}

func mcpGoCancel(t *testing.T, c *client.Client) {
	before := mcpGoCancelled(t, c)
	request := mcp.CallToolRequest{}
	request.Params.Name, request.Params.Arguments = "slow", map[string]any{"seconds": 30}
	cancelled(t, func() bool { return mcpGoCancelled(t, c) > before }, func(ctx context.Context) error {
		_, err := c.CallTool(ctx, request)
		return err
	})
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

// mcpGoQuestions has the server ask the client, as far as the revision lets it.
func mcpGoQuestions(t *testing.T, c *client.Client, version string) {
	if version >= "2025-06-18" {
		if text := mcpGoText(t, c, "test_elicitation", map[string]any{"message": "who?"}); !strings.Contains(text, "ada@example.com") {
			t.Errorf("elicitation: %q", text)
		}
	}
	if text := mcpGoText(t, c, "test_sampling", map[string]any{"prompt": "2+2?"}); !strings.Contains(text, "four") {
		t.Errorf("sampling: %q", text)
	}
}

// mcpGoReleased calls a tool that lets go of its stream. The client resumes what the
// server ended, but not what broke off.
func mcpGoReleased(t *testing.T, c *client.Client, at *site, version string) {
	before := at.web.count(resumed)
	if text := mcpGoText(t, c, "test_reconnection", nil); !strings.Contains(text, "Reconnection test completed") {
		t.Fatalf("got %q", text)
	}
	if came := at.web.count(resumed) > before; came != (at.streamable() && version == "2025-11-25") {
		t.Errorf("came back: %v", came)
	}
}

func mcpGoText(t *testing.T, c *client.Client, name string, args map[string]any) string {
	t.Helper()
	r, err := mcpGoCall(t, c, name, args)
	if err != nil || len(r.Content) != 1 {
		t.Fatalf("%s: %v, %v", name, r, err)
	}
	text, _ := r.Content[0].(mcp.TextContent)
	return text.Text
}
