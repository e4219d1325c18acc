package interop_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// counts is what the handlers of a client saw.
type counts struct{ progress, logs, updates, changes atomic.Int64 }

// TestGoSDK drives the server with the official Go SDK's client, on all carriers at
// all revisions.
func TestGoSDK(t *testing.T) {
	everywhere(t, func(t *testing.T, at *site, version string) {
		var seen counts
		s := goSDK(t, at, version, &seen)
		t.Run("lists", func(t *testing.T) { goLists(t, s) })
		t.Run("calls", func(t *testing.T) { goCalls(t, s, version) })
		t.Run("resources and prompts", func(t *testing.T) { goResources(t, s) })
		t.Run("progress and logs", func(t *testing.T) { goNotifications(t, s, &seen, version == modern) })
		t.Run("cancel", func(t *testing.T) { goCancel(t, s) })
		t.Run("changes", func(t *testing.T) { goChanges(t, s, &seen, version) })
		t.Run("questions", func(t *testing.T) { goQuestions(t, s, version) })
		t.Run("released stream", func(t *testing.T) { goReleased(t, s, at, version) })
		if version != modern {
			if err := s.Ping(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
		}
		if at.streamable() && version != modern && version != "2024-11-05" { // which has no event ids
			t.Run("cut stream", func(t *testing.T) { goCut(t, s, at, &seen) })
		}
		if err := s.Close(); err != nil {
			t.Errorf("closing: %v", err)
		}
		if at.streamable() && version != modern {
			at.web.ended(t, at.url())
		}
	})
}

// TestGoSDKRestart has the server crash under a client.
func TestGoSDKRestart(t *testing.T) {
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			at := carriers[1].start(t)
			var seen counts
			s := goSDK(t, at, version, &seen)
			goText(t, s, "test_simple_text", nil)
			at.crash(t)
			if version != modern {
				// There is no session to carry on with. The client shows the error that is in
				// the body of the 404, instead of mcp.ErrSessionMissing for one without.
				_, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "test_simple_text"})
				if err == nil || !strings.Contains(err.Error(), "no such session") {
					t.Fatalf("a call of the lost session: %v", err)
				}
				s = goSDK(t, at, version, &seen)
			}
			if text, _ := goText(t, s, "test_simple_text", nil); text == "" {
				t.Fatal("no text")
			}
		})
	}
}

func goSDK(t *testing.T, at *site, version string, seen *counts) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "interop-go-sdk", Version: "1"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(context.Context, *mcp.ProgressNotificationClientRequest) { seen.progress.Add(1) },
		LoggingMessageHandler:       func(context.Context, *mcp.LoggingMessageRequest) { seen.logs.Add(1) },
		ResourceUpdatedHandler:      func(context.Context, *mcp.ResourceUpdatedNotificationRequest) { seen.updates.Add(1) },
		ToolListChangedHandler:      func(context.Context, *mcp.ToolListChangedRequest) { seen.changes.Add(1) },
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"username": "ada", "email": "ada@example.com"}}, nil
		},
		CreateMessageHandler: func(context.Context, *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
			return &mcp.CreateMessageResult{Role: "assistant", Model: "m", Content: &mcp.TextContent{Text: "four"}}, nil
		},
	})
	s, err := client.Connect(t.Context(), at.goSDK(), &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if got := s.InitializeResult().ProtocolVersion; got != version {
		t.Fatalf("negotiated %s", got)
	}
	return s
}

func goLists(t *testing.T, s *mcp.ClientSession) {
	names := map[string]bool{}
	for tool, err := range s.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		if len(names) == 0 && tool.Name != "test_simple_text" {
			t.Fatalf("the first tool is %s", tool.Name)
		}
		if names[tool.Name] {
			t.Fatalf("%s is listed twice", tool.Name)
		}
		names[tool.Name] = true
	}
	if len(names) <= 20 {
		t.Fatalf("%d tools: one page only", len(names))
	}
	for template, err := range s.ResourceTemplates(t.Context(), nil) {
		if err != nil || template.URITemplate == "" {
			t.Fatal(template, err)
		}
	}
	for prompt, err := range s.Prompts(t.Context(), nil) {
		if err != nil || prompt.Name == "" {
			t.Fatal(prompt, err)
		}
	}
}

func goText(t *testing.T, s *mcp.ClientSession, name string, args any) (string, *mcp.CallToolResult) {
	t.Helper()
	r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if len(r.Content) == 0 {
		return "", r
	}
	block, _ := r.Content[0].(*mcp.TextContent)
	if block == nil {
		return "", r
	}
	return block.Text, r
}

func goCalls(t *testing.T, s *mcp.ClientSession, version string) {
	if text, _ := goText(t, s, "test_simple_text", nil); text != "This is a simple text response for testing." {
		t.Fatalf("got %q", text)
	}
	if _, r := goText(t, s, "test_error_handling", nil); !r.IsError {
		t.Fatal("no tool error")
	}
	var wire *jsonrpc.Error
	_, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "no_such_tool"})
	if !errors.As(err, &wire) || wire.Code != -32602 {
		t.Fatalf("unknown tool: %v", err)
	}
	// Invalid arguments: a protocol error up to 2025-06-18, a result afterwards.
	r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "slow", Arguments: map[string]any{"seconds": "soon"}})
	switch version {
	case "2024-11-05", "2025-03-26", "2025-06-18":
		if !errors.As(err, &wire) || wire.Code != -32602 || !strings.Contains(wire.Message, "/seconds") {
			t.Fatalf("invalid arguments: %v, %v", r, err)
		}
	default:
		if err != nil || !r.IsError {
			t.Fatalf("invalid arguments: %v, %v", r, err)
		}
	}
}

func goResources(t *testing.T, s *mcp.ClientSession) {
	read := func(uri string) string {
		r, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
		if err != nil || len(r.Contents) != 1 {
			t.Fatalf("%s: %v, %v", uri, r, err)
		}
		return r.Contents[0].Text
	}
	if text := read("test://static-text"); text != "This is the content of the static text resource." {
		t.Fatalf("got %q", text)
	}
	if text := read("test://template/123/data"); !strings.Contains(text, "123") {
		t.Fatalf("got %q", text)
	}
	if _, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "test://nothing"}); err == nil {
		t.Fatal("read what is not there")
	}
	p, err := s.GetPrompt(t.Context(), &mcp.GetPromptParams{
		Name: "test_prompt_with_arguments", Arguments: map[string]string{"arg1": "x1", "arg2": "x2"},
	})
	if err != nil || len(p.Messages) == 0 {
		t.Fatalf("prompt: %v, %v", p, err)
	}
	if _, err := s.Complete(t.Context(), &mcp.CompleteParams{
		Ref:      &mcp.CompleteReference{Type: "ref/prompt", Name: "test_prompt_with_arguments"},
		Argument: mcp.CompleteParamsArgument{Name: "arg1", Value: "te"},
	}); err != nil {
		var wire *jsonrpc.Error
		// 2024-11-05 has no completions capability; the method is served all the same.
		t.Fatalf("complete: %v (%v)", err, errors.As(err, &wire))
	}
}

func goNotifications(t *testing.T, s *mcp.ClientSession, seen *counts, modern bool) {
	params := &mcp.CallToolParams{Name: "burst", Arguments: map[string]any{"n": 100}, Meta: mcp.Meta{}}
	if modern {
		params.Meta[mcp.MetaKeyLogLevel] = "debug"
	} else if err := s.SetLoggingLevel(t.Context(), &mcp.SetLoggingLevelParams{Level: "debug"}); err != nil {
		t.Fatal(err)
	}
	params.SetProgressToken("burst")
	if _, err := s.CallTool(t.Context(), params); err != nil {
		t.Fatal(err)
	}
	within(t, "100 progress notifications and logs", func() bool {
		return seen.progress.Load() == 100 && seen.logs.Load() == 100
	})
}

func goCancel(t *testing.T, s *mcp.ClientSession) {
	before := goCancelled(t, s)
	cancelled(t, func() bool { return goCancelled(t, s) > before }, func(ctx context.Context) error {
		_, err := s.CallTool(ctx, &mcp.CallToolParams{Name: "slow", Arguments: map[string]any{"seconds": 30}})
		return err
	})
}

func goCancelled(t *testing.T, s *mcp.ClientSession) int64 {
	t.Helper()
	text, _ := goText(t, s, "slow_cancelled", nil)
	var out struct{ Count int64 }
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return out.Count
}

func goChanges(t *testing.T, s *mcp.ClientSession, seen *counts, version string) {
	if err := s.Subscribe(t.Context(), &mcp.SubscribeParams{URI: "test://watched-resource"}); err != nil {
		t.Fatal(err)
	}
	// At 2026-07-28 Subscribe returns before the server has acknowledged (see
	// TestListenThenCall), so there the resource is updated until that is seen.
	goText(t, s, "update_watched", nil)
	within(t, "the update", func() bool {
		if version == modern {
			goText(t, s, "update_watched", nil)
		}
		return seen.updates.Load() > 0
	})
	before := seen.changes.Load()
	goText(t, s, "test_trigger_tool_change", nil)
	within(t, "list_changed", func() bool { return seen.changes.Load() > before })
}

// goQuestions has the server ask the client, as far as the revision lets it.
func goQuestions(t *testing.T, s *mcp.ClientSession, version string) {
	if version >= "2025-06-18" {
		if text, _ := goText(t, s, "test_elicitation", map[string]any{"message": "who?"}); !strings.Contains(text, "ada@example.com") {
			t.Errorf("elicitation: %q", text)
		}
	}
	if text, _ := goText(t, s, "test_sampling", map[string]any{"prompt": "2+2?"}); !strings.Contains(text, "four") {
		t.Errorf("sampling: %q", text)
	}
}

// goReleased calls a tool that lets go of its stream: where the revision has that,
// the client must come back for the answer.
func goReleased(t *testing.T, s *mcp.ClientSession, at *site, version string) {
	before := at.web.count(resumed)
	if text, _ := goText(t, s, "test_reconnection", nil); !strings.Contains(text, "Reconnection test completed") {
		t.Fatalf("got %q", text)
	}
	if came := at.web.count(resumed) > before; came != (at.streamable() && version == "2025-11-25") {
		t.Errorf("came back: %v", came)
	}
}

// goCut breaks a stream off in the midst: the client resumes it and misses nothing.
func goCut(t *testing.T, s *mcp.ClientSession, at *site, seen *counts) {
	before, was := seen.progress.Load(), at.web.count(resumed)
	at.web.cutNext(50)
	params := &mcp.CallToolParams{Name: "burst", Arguments: map[string]any{"n": 100}, Meta: mcp.Meta{}}
	params.SetProgressToken("cut")
	if _, err := s.CallTool(t.Context(), params); err != nil {
		t.Fatal(err)
	}
	within(t, "100 progress notifications", func() bool { return seen.progress.Load() >= before+100 })
	if got := seen.progress.Load() - before; got != 100 {
		t.Errorf("%d progress notifications", got)
	}
	if at.web.count(resumed) == was {
		t.Error("the stream was not resumed")
	}
}
