package protocol

import (
	"encoding/json"

	"github.com/kagami-mcp/kagami/protocol/jsonrpc"
)

// Params are the parameters of one request or notification, without _meta, which is RequestMeta.
// The interface is sealed: a type switch over the types of this package is complete.
type Params interface{ method() string }

// MethodOf returns the method of the request or notification that has the parameters p.
func MethodOf(p Params) string { return p.method() }

// RequestMeta is the _meta of a request or notification.
type RequestMeta struct {
	ProgressToken  jsonrpc.ID          // zero if the sender does not want progress notifications
	SubscriptionID jsonrpc.ID          // on notifications of a listen stream (2026-07-28)
	Revision       string              // 2026-07-28: protocolVersion as the client sent it; "" if absent
	Client         *Implementation     // 2026-07-28: clientInfo; nil if absent
	Capabilities   *ClientCapabilities // 2026-07-28: clientCapabilities; nil if absent
	LogLevel       Level               // 2026-07-28; "" if absent
	RelatedTask    string              // 2025-11-25: io.modelcontextprotocol/related-task
	Extra          Meta                // used only for encoding: further members, such as the trace context
}

// InitializeParams are the parameters of initialize, which opens a session (handshake revisions).
type InitializeParams struct {
	Version      string
	Capabilities ClientCapabilities
	Client       Implementation
}

// DiscoverParams are the parameters of server/discover, which asks for a description of the server
// (2026-07-28).
type DiscoverParams struct{}

// PingParams are the parameters of ping, which asks whether the peer responds (handshake
// revisions).
type PingParams struct{}

// ListParams are the parameters of a request for one page of a list. A nil Cursor requests the
// first page. The empty string is a cursor like any other (2026-07-28 server/utilities/pagination).
type ListParams struct {
	Kind   ListKind
	Cursor *string
}

// Inputs are a client's answers to an earlier InputRequiredResult (2026-07-28 basic/patterns/mrtr).
type Inputs struct {
	Responses map[string]json.RawMessage // nil if absent
	State     *string                    // nil if absent
}

// TaskRequest asks the receiver to run the request as a task (2025-11-25).
type TaskRequest struct {
	TTL *int64 // milliseconds; if nil, the receiver decides
}

// CallToolParams are the parameters of tools/call. Arguments is an object, or nil if the member is
// absent.
type CallToolParams struct {
	Name      string
	Arguments json.RawMessage
	Quoted    bool // the client sent Arguments as a string that contains the object, as some models write them
	Task      *TaskRequest
	Inputs    Inputs
}

// ReadResourceParams are the parameters of resources/read.
type ReadResourceParams struct {
	URI    string
	Inputs Inputs
}

// GetPromptParams are the parameters of prompts/get.
type GetPromptParams struct {
	Name      string
	Arguments map[string]string
	Inputs    Inputs
}

// SubscribeParams are the parameters of resources/subscribe, which requests updates of a resource
// (handshake revisions).
type SubscribeParams struct{ URI string }

// UnsubscribeParams are the parameters of resources/unsubscribe, which ends a subscription
// (handshake revisions).
type UnsubscribeParams struct{ URI string }

// SubscriptionFilter selects the notifications that a listen stream carries.
type SubscriptionFilter struct {
	Tools     bool
	Prompts   bool
	Resources bool
	URIs      []string // resources to watch
	Tasks     []string // IDs of tasks to watch, in the tasks extension; nil if not requested
}

// ListenParams are the parameters of subscriptions/listen, which opens a listen stream
// (2026-07-28).
type ListenParams struct{ Filter SubscriptionFilter }

// CompleteParams are the parameters of completion/complete, which asks for completions of one
// argument. Either Prompt or Template is set.
type CompleteParams struct {
	Prompt   string // name of the prompt
	Title    string // title of the prompt, for display (2025-06-18 on)
	Template string // URI template, or URI, of the resource
	Argument string
	Value    string
	Context  map[string]string // arguments that already have a value (2025-06-18 on)
}

// SetLevelParams are the parameters of logging/setLevel, which sets the session's log level
// (handshake revisions).
type SetLevelParams struct{ Level Level }

// GetTaskParams are the parameters of tasks/get, which asks for a task's state.
type GetTaskParams struct{ ID string }

// TaskResultParams are the parameters of tasks/result, which waits for a task's result
// (2025-11-25).
type TaskResultParams struct{ ID string }

// ListTasksParams are the parameters of tasks/list (2025-11-25).
type ListTasksParams struct{ Cursor *string }

// CancelTaskParams are the parameters of tasks/cancel.
type CancelTaskParams struct{ ID string }

// UpdateTaskParams are the parameters of tasks/update, which answers a task's questions (the tasks
// extension).
type UpdateTaskParams struct {
	ID        string
	Responses map[string]json.RawMessage
}

// ModelPreferences guide the client's choice of a model. Hints are in order of preference. A nil
// priority is not sent.
type ModelPreferences struct {
	Hints        []string
	Cost         *float64
	Speed        *float64
	Intelligence *float64
}

// CreateMessageParams are the parameters of sampling/createMessage, which sends a prompt to the
// client's model.
type CreateMessageParams struct {
	Messages       []Message
	System         string
	MaxTokens      int
	IncludeContext string // "none", "thisServer", "allServers" or empty
	Temperature    *float64
	StopSequences  []string
	Metadata       json.RawMessage
	Preferences    *ModelPreferences
	Tools          []Tool // 2025-11-25 on
	ToolChoice     string // "auto", "required", "none" or empty; 2025-11-25 on
	Task           *TaskRequest
}

// ListRootsParams are the parameters of roots/list, which asks for the client's roots.
type ListRootsParams struct{}

// ElicitParams are the parameters of elicitation/create, which asks the user to fill in a form
// (Schema) or to open a page (URL).
type ElicitParams struct {
	Message string
	Schema  json.RawMessage // nil for a URL question
	URL     string
	ID      string // elicitationId of a URL question (2025-11-25 only)
	Task    *TaskRequest
}

// InitializedParams are the parameters of notifications/initialized, which ends the handshake.
type InitializedParams struct{}

// CancelledParams are the parameters of notifications/cancelled, which cancels a request in flight.
type CancelledParams struct {
	ID     jsonrpc.ID
	Reason string
}

// ProgressParams are the parameters of notifications/progress. They report progress on the request
// that carried Token.
type ProgressParams struct {
	Token   jsonrpc.ID
	Done    float64
	Total   *float64
	Message string // 2025-03-26 on
}

// LogParams are the parameters of notifications/message, which is one log message.
type LogParams struct {
	Level  Level
	Logger string
	Data   json.RawMessage
}

// ListChangedParams are the parameters of the notification that a list has changed.
type ListChangedParams struct{ Kind ListKind }

// ResourceUpdatedParams are the parameters of notifications/resources/updated. The resource is a
// subscribed one, or one below it.
type ResourceUpdatedParams struct{ URI string }

// RootsChangedParams are the parameters of notifications/roots/list_changed, for the client's roots
// (handshake revisions).
type RootsChangedParams struct{}

// ElicitationCompleteParams are the parameters of notifications/elicitation/complete. The user has
// completed the page of a URL elicitation (2025-11-25).
type ElicitationCompleteParams struct{ ID string }

// TaskStatusParams are the parameters of notifications/tasks/status, with a task's new state
// (2025-11-25).
type TaskStatusParams struct{ Task Task }

// TaskParams are the parameters of notifications/tasks, with a task's new state on a listen stream
// (the tasks extension).
type TaskParams struct{ Task DetailedTask }

// AcknowledgedParams are the parameters of notifications/subscriptions/acknowledged, the first
// message of a listen stream. Filter is the part of the requested filter that the server serves.
type AcknowledgedParams struct{ Filter SubscriptionFilter }

// CustomParams are the parameters of a method that the specification does not have.
type CustomParams struct {
	Name string
	Raw  json.RawMessage
}

func (*InitializeParams) method() string          { return MethodInitialize }
func (*DiscoverParams) method() string            { return MethodDiscover }
func (*PingParams) method() string                { return MethodPing }
func (p *ListParams) method() string              { return p.Kind.Method() }
func (*CallToolParams) method() string            { return MethodCallTool }
func (*ReadResourceParams) method() string        { return MethodReadResource }
func (*GetPromptParams) method() string           { return MethodGetPrompt }
func (*SubscribeParams) method() string           { return MethodSubscribe }
func (*UnsubscribeParams) method() string         { return MethodUnsubscribe }
func (*ListenParams) method() string              { return MethodListen }
func (*CompleteParams) method() string            { return MethodComplete }
func (*SetLevelParams) method() string            { return MethodSetLevel }
func (*GetTaskParams) method() string             { return MethodGetTask }
func (*TaskResultParams) method() string          { return MethodTaskResult }
func (*ListTasksParams) method() string           { return MethodListTasks }
func (*CancelTaskParams) method() string          { return MethodCancelTask }
func (*UpdateTaskParams) method() string          { return MethodUpdateTask }
func (*CreateMessageParams) method() string       { return MethodCreateMessage }
func (*ListRootsParams) method() string           { return MethodListRoots }
func (*ElicitParams) method() string              { return MethodElicit }
func (*InitializedParams) method() string         { return NotificationInitialized }
func (*CancelledParams) method() string           { return NotificationCancelled }
func (*ProgressParams) method() string            { return NotificationProgress }
func (*LogParams) method() string                 { return NotificationMessage }
func (p *ListChangedParams) method() string       { return p.Kind.Changed() }
func (*ResourceUpdatedParams) method() string     { return NotificationResourceUpdated }
func (*RootsChangedParams) method() string        { return NotificationRootsChanged }
func (*ElicitationCompleteParams) method() string { return NotificationElicitationComplete }
func (*TaskStatusParams) method() string          { return NotificationTaskStatus }
func (*TaskParams) method() string                { return NotificationTask }
func (*AcknowledgedParams) method() string        { return NotificationAcknowledged }
func (p *CustomParams) method() string            { return p.Name }
