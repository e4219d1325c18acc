package dialect_test

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/protocol/jsonrpc"
)

// wireCases lists all goldens.
func wireCases() []wireCase {
	return slices.Concat(lifecycleCases(), listCases(), toolCases(), resourceCases(), promptCases(),
		notificationCases(), clientCases(), taskCases())
}

func lifecycleCases() []wireCase {
	return []wireCase{
		{method: protocol.MethodInitialize, params: initializeParams},
		{method: protocol.MethodInitialize, result: initializeResult},
		{method: protocol.NotificationInitialized, params: asks(&protocol.InitializedParams{})},
		{method: protocol.MethodPing, params: asks(&protocol.PingParams{})},
		{method: protocol.MethodPing, result: answers(&protocol.EmptyResult{})},
		{method: protocol.MethodDiscover, params: discoverParams},
		{method: protocol.MethodDiscover, result: discoverResult},
		{method: protocol.MethodSetLevel, params: asks(&protocol.SetLevelParams{Level: protocol.LevelInfo})},
		{method: protocol.MethodSetLevel, result: answers(&protocol.EmptyResult{})},
	}
}

func listCases() []wireCase {
	var cases []wireCase
	for _, k := range []protocol.ListKind{
		protocol.ListTools, protocol.ListResources, protocol.ListTemplates, protocol.ListPrompts,
	} {
		cases = append(cases,
			wireCase{method: k.Method(), params: asks(&protocol.ListParams{Kind: k, Cursor: new("optional-cursor-value")})},
			wireCase{method: k.Method(), variant: "first", params: asks(&protocol.ListParams{Kind: k})})
	}
	return append(cases,
		wireCase{method: protocol.MethodListTools, result: listTools},
		wireCase{method: protocol.MethodListTools, variant: "empty", result: answers(&protocol.ListToolsResult{
			Tools: nil, Cache: protocol.CacheHints{Private: true},
		})},
		wireCase{method: protocol.MethodListResources, result: answers(&protocol.ListResourcesResult{
			Resources: []protocol.Resource{{
				URI: "file:///project/src/main.rs", Name: "main.rs", Title: "Rust Software Application Main File",
				Description: "Primary application entry point", MIME: "text/x-rust", Size: 2048,
				Annotations: annotations, Icons: icons, Meta: blockMeta,
			}},
			Next: new("next-page-cursor"), Cache: publicCache,
		})},
		wireCase{method: protocol.MethodListTemplates, result: answers(&protocol.ListTemplatesResult{
			Templates: []protocol.ResourceTemplate{{
				URITemplate: "file:///{path}", Name: "Project Files", Title: "📁 Project Files",
				Description: "Access files in the project directory", MIME: "application/octet-stream",
				Annotations: annotations, Icons: icons, Meta: blockMeta,
			}},
			Next: new("next-page-cursor"), Cache: publicCache,
		})},
		wireCase{method: protocol.MethodListPrompts, result: answers(&protocol.ListPromptsResult{
			Prompts: []protocol.Prompt{{
				Name: "code_review", Title: "Request Code Review",
				Description: "Asks the LLM to analyze code quality and suggest improvements",
				Arguments: []protocol.PromptArgument{{
					Name: "code", Title: "Code", Description: "The code to review", Required: true,
				}},
				Icons: icons, Meta: blockMeta,
			}},
			Next: new("next-page-cursor"), Cache: publicCache,
		})})
}

func toolCases() []wireCase {
	m := protocol.MethodCallTool
	return []wireCase{
		{method: m, params: with(callTool(), callToolMeta())},
		{method: m, variant: "bare", params: asks(&protocol.CallToolParams{Name: "now"})},
		{method: m, result: callToolResult},
		{method: m, variant: "error", result: answers(&protocol.CallToolResult{
			Content: []protocol.Block{protocol.Text{Text: "Failed to fetch weather data: API rate limit exceeded"}},
			IsError: true,
		})},
		{method: m, variant: "array", result: answers(&protocol.CallToolResult{
			Structured: json.RawMessage("[1,2.5]"), Wrapped: true,
		})},
		{method: m, variant: "null", result: answers(&protocol.CallToolResult{
			Structured: json.RawMessage("null"), Wrapped: true,
		})},
		{
			method: m, variant: "task", only: []protocol.Revision{revD, revE},
			result: answers(&protocol.CreateTaskResult{Task: exampleTaskState(), ImmediateResponse: "Working on it."}),
		},
		{method: m, variant: "input", only: []protocol.Revision{revE}, result: inputRequired},
	}
}

func resourceCases() []wireCase {
	uri := "file:///project/src/main.rs"
	return []wireCase{
		{method: protocol.MethodReadResource, params: asks(&protocol.ReadResourceParams{
			URI: uri,
			Inputs: protocol.Inputs{
				Responses: map[string]json.RawMessage{"client_roots": json.RawMessage(`{"roots":[]}`)}, State: new(""),
			},
		})},
		{method: protocol.MethodReadResource, result: answers(&protocol.ReadResourceResult{
			Contents: []protocol.Contents{mainRust(), {URI: "file:///example.png", Data: pngBytes, Meta: blockMeta}},
			Cache:    protocol.CacheHints{TTL: 1500 * time.Millisecond, Private: true},
		})},
		{method: protocol.MethodSubscribe, params: asks(&protocol.SubscribeParams{URI: uri})},
		{method: protocol.MethodSubscribe, result: answers(&protocol.EmptyResult{})},
		{method: protocol.MethodUnsubscribe, params: asks(&protocol.UnsubscribeParams{URI: uri})},
		{method: protocol.MethodUnsubscribe, result: answers(&protocol.EmptyResult{})},
		{method: protocol.MethodListen, params: asks(&protocol.ListenParams{Filter: filter()})},
		{method: protocol.MethodListen, result: answers(&protocol.ListenResult{ID: jsonrpc.StringID("sub-1")})},
	}
}

func promptCases() []wireCase {
	return []wireCase{
		{method: protocol.MethodGetPrompt, params: asks(&protocol.GetPromptParams{
			Name: "code_review", Arguments: map[string]string{"code": "def hello():\n    print('world')"},
			Inputs: protocol.Inputs{Responses: map[string]json.RawMessage{}, State: new("foo")},
		})},
		{method: protocol.MethodGetPrompt, result: answers(&protocol.GetPromptResult{
			Description: "Code review prompt",
			Messages: []protocol.Message{
				{Role: protocol.RoleUser, Content: protocol.Text{
					Text: "Please review this Python code:\ndef hello():\n    print('world')",
				}},
				{Role: protocol.RoleAssistant, Content: protocol.Embedded{
					Contents: protocol.Contents{URI: "resource://example", Text: "Resource content"},
				}},
				{Role: protocol.RoleUser, Content: protocol.Image{Data: pngBytes}},
			},
		})},
		{method: protocol.MethodComplete, params: asks(&protocol.CompleteParams{
			Prompt: "code_review", Title: "Review code",
			Argument: "framework", Value: "fla", Context: map[string]string{"language": "python"},
		})},
		{method: protocol.MethodComplete, variant: "resource", params: asks(&protocol.CompleteParams{
			Template: "file:///{path}", Argument: "path", Value: "/proj",
		})},
		{method: protocol.MethodComplete, result: answers(&protocol.CompleteResult{
			Completion: protocol.Completion{Values: []string{"python", "pytorch", "pyside"}, Total: 10, HasMore: true},
		})},
	}
}

func notificationCases() []wireCase {
	onStream := protocol.RequestMeta{SubscriptionID: jsonrpc.StringID("sub-1")}
	onFirst := protocol.RequestMeta{SubscriptionID: jsonrpc.IntID(0)}
	return []wireCase{
		{method: protocol.NotificationCancelled, params: asks(&protocol.CancelledParams{
			ID: jsonrpc.StringID("123"), Reason: "User requested cancellation",
		})},
		{
			method: protocol.NotificationCancelled, variant: "bare", only: []protocol.Revision{revD},
			params: asks(&protocol.CancelledParams{}),
		},
		{method: protocol.NotificationProgress, params: with(&protocol.ProgressParams{
			Token: jsonrpc.StringID("abc123"), Done: 50, Total: new(100.0), Message: "Reticulating splines...",
		}, protocol.RequestMeta{RelatedTask: exampleTask})},
		{method: protocol.NotificationMessage, params: asks(&protocol.LogParams{
			Level: protocol.LevelError, Logger: "database",
			Data: json.RawMessage(`{"error":"Connection failed","details":{"host":"localhost","port":5432}}`),
		})},
		{method: protocol.NotificationToolsChanged, params: with(&protocol.ListChangedParams{Kind: protocol.ListTools}, onFirst)},
		{
			method: protocol.NotificationResourcesChanged,
			params: with(&protocol.ListChangedParams{Kind: protocol.ListResources}, onFirst),
		},
		{method: protocol.NotificationPromptsChanged, params: with(&protocol.ListChangedParams{Kind: protocol.ListPrompts}, onFirst)},
		{method: protocol.NotificationRootsChanged, params: asks(&protocol.RootsChangedParams{})},
		{
			method: protocol.NotificationResourceUpdated,
			params: with(&protocol.ResourceUpdatedParams{URI: "file:///project/src/main.rs"}, onStream),
		},
		{method: protocol.NotificationAcknowledged, params: with(&protocol.AcknowledgedParams{
			Filter: protocol.SubscriptionFilter{Tools: true, URIs: []string{"file:///project/config.json"}},
		}, onStream)},
		{method: protocol.NotificationElicitationComplete, params: asks(&protocol.ElicitationCompleteParams{
			ID: "550e8400-e29b-41d4-a716-446655440000",
		})},
	}
}

// clientCases are what a server asks of a client. On 2026-07-28 the questions
// stand inside input_required results, so only their answers have files.
func clientCases() []wireCase {
	handshake := []protocol.Revision{revA, revB, revC, revD}
	text := []protocol.Block{protocol.Text{Text: "The capital of France is Paris."}}
	return []wireCase{
		{method: protocol.MethodCreateMessage, only: handshake, params: asks(createMessage())},
		{
			method: protocol.MethodCreateMessage, variant: "tools", only: []protocol.Revision{revD},
			params: asks(createMessageWithTools()),
		},
		{method: protocol.MethodCreateMessage, result: answers(&protocol.CreateMessageResult{
			Role: protocol.RoleAssistant, Content: text, Model: "claude-3-sonnet-20240307", StopReason: "endTurn",
			Meta: protocol.Meta{"example.com/cost": 0.002},
		})},
		{
			method: protocol.MethodCreateMessage, variant: "tools", only: []protocol.Revision{revD, revE},
			result: answers(&protocol.CreateMessageResult{
				Role: protocol.RoleAssistant, Content: toolUses(), Model: "claude-3-sonnet-20240307", StopReason: "toolUse",
			}),
		},
		{method: protocol.MethodListRoots, only: handshake, params: asks(&protocol.ListRootsParams{})},
		{method: protocol.MethodListRoots, result: answers(&protocol.ListRootsResult{
			Roots: []protocol.Root{{URI: "file:///home/user/projects/myproject", Name: "My Project", Meta: blockMeta}},
		})},
		{method: protocol.MethodElicit, only: []protocol.Revision{revC, revD}, params: elicitParams},
		{
			method: protocol.MethodElicit, variant: "rich", only: []protocol.Revision{revC, revD},
			params: asks(&protocol.ElicitParams{Message: "More", Schema: json.RawMessage(richForm)}),
		},
		{
			method: protocol.MethodElicit, variant: "url", only: []protocol.Revision{revD},
			params: asks(&protocol.ElicitParams{
				Message: "Please provide your API key to continue.",
				URL:     "https://mcp.example.com/ui/set_api_key", ID: "550e8400-e29b-41d4-a716-446655440000",
			}),
		},
		{method: protocol.MethodElicit, result: answers(&protocol.ElicitResult{
			Action: "accept", Content: json.RawMessage(`{"name":"Monalisa Octocat","email":"octocat@github.com","age":30}`),
			Meta: protocol.Meta{"example.com/ui": "dialog"},
		})},
		{method: protocol.MethodElicit, variant: "decline", result: answers(&protocol.ElicitResult{Action: "decline"})},
		{
			method: protocol.MethodElicit, variant: "list", only: []protocol.Revision{revD, revE},
			result: answers(&protocol.ElicitResult{
				Action: "accept", Content: json.RawMessage(`{"colors":["red","green"]}`),
			}),
		},
	}
}

func elicitParams(*dialect.Dialect) (protocol.Params, *protocol.RequestMeta) {
	p := contact()
	p.Task = &protocol.TaskRequest{TTL: new(int64(60000))}
	return p, &protocol.RequestMeta{RelatedTask: exampleTask}
}

func taskCases() []wireCase {
	done := finishedTask(protocol.TaskCompleted)
	done.Result = json.RawMessage(`{"resultType":"complete","content":[{"type":"text","text":"Deployed"}]}`)
	failed := finishedTask(protocol.TaskFailed)
	failed.Message = "The operation failed."
	failed.Error = &protocol.Error{Code: -32603, Message: "Internal error", Data: map[string]any{"attempt": 3}}
	open := finishedTask(protocol.TaskInputRequired)
	open.Requests = []protocol.InputRequest{{Key: "confirm", Params: contact()}}
	cancelled := exampleTaskState()
	cancelled.Status, cancelled.Message = protocol.TaskCancelled, "The task was cancelled by request."
	status := done.Task
	status.TTL, status.PollInterval = new(int64(60000)), 5000
	core, extension := []protocol.Revision{revD}, []protocol.Revision{revE}
	return []wireCase{
		{method: protocol.MethodGetTask, params: asks(&protocol.GetTaskParams{ID: exampleTask})},
		{method: protocol.MethodGetTask, result: answers(&protocol.TaskResult{
			Task: protocol.DetailedTask{Task: exampleTaskState()}, Meta: protocol.Meta{"example.com/elapsed": 12},
		})},
		{method: protocol.MethodGetTask, variant: "completed", only: extension, result: answers(&protocol.TaskResult{Task: done})},
		{method: protocol.MethodGetTask, variant: "failed", only: extension, result: answers(&protocol.TaskResult{Task: failed})},
		{method: protocol.MethodGetTask, variant: "input", only: extension, result: answers(&protocol.TaskResult{Task: open})},
		{method: protocol.MethodTaskResult, params: asks(&protocol.TaskResultParams{ID: exampleTask})},
		{method: protocol.MethodTaskResult, result: answers(&protocol.CallToolResult{
			Content: []protocol.Block{protocol.Text{Text: "Current weather in New York"}},
			Meta:    protocol.Meta{"io.modelcontextprotocol/related-task": map[string]any{"taskId": exampleTask}},
		})},
		{method: protocol.MethodListTasks, params: asks(&protocol.ListTasksParams{Cursor: new("optional-cursor-value")})},
		{method: protocol.MethodListTasks, result: answers(&protocol.ListTasksResult{
			Tasks: []protocol.Task{exampleTaskState(), {
				ID: "abc123-def456-ghi789", Status: protocol.TaskCompleted,
				Created: time.Date(2025, 11, 25, 9, 15, 0, 0, time.UTC),
				Updated: time.Date(2025, 11, 25, 10, 40, 0, 0, time.UTC),
			}},
			Next: new("next-page-cursor"),
		})},
		{method: protocol.MethodCancelTask, params: asks(&protocol.CancelTaskParams{ID: exampleTask})},
		{method: protocol.MethodCancelTask, only: core, result: answers(&protocol.TaskResult{
			Task: protocol.DetailedTask{Task: cancelled},
		})},
		{method: protocol.MethodCancelTask, only: extension, result: answers(&protocol.EmptyResult{})},
		{method: protocol.MethodUpdateTask, params: asks(&protocol.UpdateTaskParams{
			ID: exampleTask,
			Responses: map[string]json.RawMessage{
				"confirm": json.RawMessage(`{"action":"accept","content":{"name":"octocat"}}`),
			},
		})},
		{method: protocol.MethodUpdateTask, result: answers(&protocol.EmptyResult{})},
		{method: protocol.NotificationTaskStatus, params: asks(&protocol.TaskStatusParams{Task: status})},
		{method: protocol.NotificationTask, params: with(&protocol.TaskParams{Task: done}, protocol.RequestMeta{
			SubscriptionID: jsonrpc.StringID("sub-1"),
		})},
	}
}
