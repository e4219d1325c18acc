package ported

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// MCPGo is the server with mcp-go.
func MCPGo(n Notes, observe func(call string, took time.Duration)) *server.MCPServer {
	s := server.NewMCPServer("notes", "1.0.0",
		server.WithToolCapabilities(true), server.WithLogging(), server.WithElicitation(), server.WithRecovery(),
		server.WithCompletions(), server.WithResourceCompletionProvider(n),
		server.WithToolHandlerMiddleware(mcpGoTimed(observe)),
	)
	s.AddTool(mcp.NewTool("search", mcp.WithDescription("Find notes."), mcp.WithReadOnlyHintAnnotation(true),
		mcp.WithString("query", mcp.Required(), mcp.Description("words to look for")),
		mcp.WithNumber("limit", mcp.Description("how many notes at most"), mcp.DefaultNumber(10), mcp.Min(1), mcp.Max(100)),
		mcp.WithOutputSchema[sdkSearchOut](),
	), n.mcpGoSearch)
	s.AddTool(mcp.NewTool("remove", mcp.WithDescription("Remove a note."), mcp.WithDestructiveHintAnnotation(true),
		mcp.WithString("name", mcp.Required(), mcp.Description("name of the note")),
	), n.mcpGoRemove)
	s.AddTool(mcp.NewTool("index", mcp.WithDescription("List the notes."), mcp.WithReadOnlyHintAnnotation(true)), n.mcpGoIndex)
	s.AddTool(mcp.NewToolWithRawSchema("forward", "Forward the arguments.", json.RawMessage(rawSchema)), mcpGoForward)
	s.AddResourceTemplate(mcp.NewResourceTemplate("notes://{name}", "note",
		mcp.WithTemplateDescription("A note."), mcp.WithTemplateMIMEType("text/plain")), n.mcpGoRead)
	s.AddPrompt(mcp.NewPrompt("review", mcp.WithPromptDescription("Review a note."),
		mcp.WithArgument("name", mcp.ArgumentDescription("name of the note"), mcp.RequiredArgument())), n.mcpGoReview)
	return s
}

func (n Notes) mcpGoSearch(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	query, err := req.RequireString("query")
	if err != nil {
		return mcp.NewToolResultError(err.Error()), nil
	}
	limit := req.GetInt("limit", 10)
	if limit < 1 || limit > 100 {
		return mcp.NewToolResultErrorf("limit is %d: want 1 to 100", limit), nil
	}
	return mcp.NewToolResultJSON(sdkSearchOut{Names: n.find(query, limit)})
}

func (n Notes) mcpGoRemove(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	name, err := req.RequireString("name")
	if err != nil {
		return mcp.NewToolResultError(err.Error()), nil
	}
	if _, ok := n[name]; !ok {
		return mcp.NewToolResultErrorf("there is no note %q", name), nil
	}
	answer := server.ElicitationResponse(req.Params.InputResponses, "sure")
	if answer == nil {
		return server.NewInputRequestBuilder("").Elicit("sure", mcp.ElicitationParams{
			Mode: mcp.ElicitationModeForm, Message: "Remove " + name + "?",
			RequestedSchema: map[string]any{
				"type": "object", "required": []string{"value"},
				"properties": map[string]any{"value": map[string]any{"type": "boolean"}},
			},
		}).ToolResult(), nil
	}
	content, _ := answer.Content.(map[string]any)
	if sure, _ := content["value"].(bool); answer.Action != mcp.ElicitationResponseActionAccept || !sure {
		return mcp.NewToolResultText("Kept."), nil
	}
	delete(n, name)
	return mcp.NewToolResultText("Removed."), nil
}

func (n Notes) mcpGoIndex(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	s, result := server.ServerFromContext(ctx), &mcp.CallToolResult{}
	for i, name := range slices.Sorted(maps.Keys(n)) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if req.Params.Meta != nil && req.Params.Meta.ProgressToken != nil {
			_ = s.SendNotificationToClient(ctx, "notifications/progress", map[string]any{
				"progressToken": req.Params.Meta.ProgressToken, "progress": i, "total": len(n), "message": "indexing",
			})
		}
		result.Content = append(result.Content, mcp.NewTextContent(name), mcp.NewResourceLink("notes://"+name, name, "", ""))
	}
	_ = s.SendLogMessageToClient(ctx, mcp.NewLoggingMessageNotification(mcp.LoggingLevelInfo, "", fmt.Sprintf("%d notes indexed", len(n))))
	return result, nil
}

func mcpGoForward(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	raw, err := json.Marshal(req.GetArguments())
	return mcp.NewToolResultText(string(raw)), err
}

func (n Notes) mcpGoRead(_ context.Context, req mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
	text, ok := n[strings.TrimPrefix(req.Params.URI, "notes://")]
	if !ok {
		return nil, fmt.Errorf("no note at %s: %w", req.Params.URI, server.ErrResourceNotFound)
	}
	return []mcp.ResourceContents{mcp.TextResourceContents{URI: req.Params.URI, MIMEType: "text/plain", Text: text}}, nil
}

// CompleteResourceArgument is of server.ResourceCompletionProvider.
func (n Notes) CompleteResourceArgument(_ context.Context, _ string, arg mcp.CompleteArgument, _ mcp.CompleteContext) (*mcp.Completion, error) {
	return &mcp.Completion{Values: n.beginningWith(arg.Value)}, nil
}

func (n Notes) mcpGoReview(_ context.Context, req mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	return mcp.NewGetPromptResult("", []mcp.PromptMessage{
		mcp.NewPromptMessage(mcp.RoleUser, mcp.NewTextContent("Review this note: "+n[req.Params.Arguments["name"]])),
	}), nil
}

func mcpGoTimed(observe func(call string, took time.Duration)) server.ToolHandlerMiddleware {
	return func(next server.ToolHandlerFunc) server.ToolHandlerFunc {
		return func(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			begun := time.Now()
			defer func() { observe("tools/call "+req.Params.Name, time.Since(begun)) }()
			return next(ctx, req)
		}
	}
}
