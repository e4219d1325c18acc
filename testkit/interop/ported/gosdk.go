package ported

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// GoSDK is the server with the official Go SDK.
func GoSDK(n Notes, observe func(call string, took time.Duration)) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "notes", Version: "1.0.0"}, &mcp.ServerOptions{CompletionHandler: n.sdkComplete})
	s.AddReceivingMiddleware(sdkTimed(observe))
	yes := true
	mcp.AddTool(s, &mcp.Tool{Name: "search", Description: "Find notes.", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}, n.sdkSearch)
	mcp.AddTool(s, &mcp.Tool{Name: "remove", Description: "Remove a note.", Annotations: &mcp.ToolAnnotations{DestructiveHint: &yes}}, n.sdkRemove)
	mcp.AddTool(s, &mcp.Tool{Name: "index", Description: "List the notes.", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}, n.sdkIndex)
	s.AddTool(&mcp.Tool{Name: "forward", Description: "Forward the arguments.", InputSchema: json.RawMessage(rawSchema)}, sdkForward)
	s.AddResourceTemplate(&mcp.ResourceTemplate{Name: "note", Description: "A note.", URITemplate: "notes://{name}", MIMEType: "text/plain"}, n.sdkRead)
	s.AddPrompt(&mcp.Prompt{
		Name: "review", Description: "Review a note.",
		Arguments: []*mcp.PromptArgument{{Name: "name", Description: "name of the note", Required: true}},
	}, n.sdkReview)
	return s
}

type sdkSearchIn struct {
	Query string `json:"query" jsonschema:"words to look for"`
	Limit *int   `json:"limit,omitempty" jsonschema:"how many notes at most: 1 to 100, 10 by default"`
}

type sdkSearchOut struct {
	Names []string `json:"names"`
}

func (n Notes) sdkSearch(_ context.Context, _ *mcp.CallToolRequest, in sdkSearchIn) (*mcp.CallToolResult, sdkSearchOut, error) {
	limit := 10
	if in.Limit != nil {
		limit = *in.Limit
	}
	if limit < 1 || limit > 100 {
		return nil, sdkSearchOut{}, fmt.Errorf("limit is %d: want 1 to 100", limit)
	}
	return nil, sdkSearchOut{Names: n.find(in.Query, limit)}, nil
}

type sdkNameIn struct {
	Name string `json:"name" jsonschema:"name of the note"`
}

func (n Notes) sdkRemove(_ context.Context, req *mcp.CallToolRequest, in sdkNameIn) (*mcp.CallToolResult, any, error) {
	if _, ok := n[in.Name]; !ok {
		return nil, nil, fmt.Errorf("there is no note %q", in.Name)
	}
	answer, asked := req.Params.InputResponses["sure"].(*mcp.ElicitResult)
	if !asked {
		return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"sure": &mcp.ElicitParams{
			Message: "Remove " + in.Name + "?",
			RequestedSchema: map[string]any{
				"type": "object", "required": []string{"value"},
				"properties": map[string]any{"value": map[string]any{"type": "boolean"}},
			},
		}}}, nil, nil
	}
	if sure, _ := answer.Content["value"].(bool); answer.Action != "accept" || !sure {
		return sdkText("Kept."), nil, nil
	}
	delete(n, in.Name)
	return sdkText("Removed."), nil, nil
}

func sdkText(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

func (n Notes) sdkIndex(ctx context.Context, req *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
	result := &mcp.CallToolResult{}
	for i, name := range slices.Sorted(maps.Keys(n)) {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		if token := req.Params.GetProgressToken(); token != nil {
			_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
				ProgressToken: token, Progress: float64(i), Total: float64(len(n)), Message: "indexing",
			})
		}
		result.Content = append(result.Content, &mcp.TextContent{Text: name}, &mcp.ResourceLink{URI: "notes://" + name, Name: name})
	}
	_ = req.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "info", Data: fmt.Sprintf("%d notes indexed", len(n))})
	return result, nil, nil
}

func sdkForward(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return sdkText(string(req.Params.Arguments)), nil
}

func (n Notes) sdkRead(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	text, ok := n[strings.TrimPrefix(req.Params.URI, "notes://")]
	if !ok {
		return nil, mcp.ResourceNotFoundError(req.Params.URI)
	}
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: req.Params.URI, MIMEType: "text/plain", Text: text}}}, nil
}

func (n Notes) sdkComplete(_ context.Context, req *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
	if req.Params.Ref.URI != "notes://{name}" || req.Params.Argument.Name != "name" {
		return nil, errors.New("nothing to complete")
	}
	return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: n.beginningWith(req.Params.Argument.Value)}}, nil
}

func (n Notes) sdkReview(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{
		{Role: "user", Content: &mcp.TextContent{Text: "Review this note: " + n[req.Params.Arguments["name"]]}},
	}}, nil
}

func sdkTimed(observe func(call string, took time.Duration)) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			begun := time.Now()
			defer func() {
				if call, ok := req.(*mcp.CallToolRequest); ok {
					method += " " + call.Params.Name
				}
				observe(method, time.Since(begun))
			}()
			return next(ctx, method, req)
		}
	}
}
