package protocol

import (
	"encoding/json"

	"github.com/kagami-mcp/kagami/protocol/jsonrpc"
)

// Params are the parameters of one request or notification, _meta excepted
// (that is RequestMeta). Sealed: a type switch over the types of this package
// is complete.
type Params interface {
	Method() string
	params()
}

// RequestMeta is the _meta of a request or notification.
type RequestMeta struct {
	ProgressToken  jsonrpc.ID          // zero: no progress wanted
	SubscriptionID jsonrpc.ID          // on notifications of a listen stream (2026-07-28)
	Revision       string              // 2026-07-28: protocolVersion as claimed; "" if absent
	Client         *Implementation     // 2026-07-28: clientInfo; nil if absent
	Capabilities   *ClientCapabilities // 2026-07-28: clientCapabilities; nil if absent
	LogLevel       Level               // 2026-07-28; "" if absent
	RelatedTask    string              // 2025-11-25: io.modelcontextprotocol/related-task
	Extra          Meta                // encoding only: further members, such as trace context
}

// InitializeParams opens a session (handshake revisions).
type InitializeParams struct {
	Version      string
	Capabilities ClientCapabilities
	Client       Implementation
}

// DiscoverParams asks what the server is (2026-07-28).
type DiscoverParams struct{}

// PingParams asks whether the peer is there (handshake revisions).
type PingParams struct{}

// ListParams asks for one page of a list. A nil Cursor asks for the first; ""
// is a cursor like any other (2026-07-28 server/utilities/pagination).
type ListParams struct {
	Kind   ListKind
	Cursor *string
}

// Inputs are a client's answers to an earlier input_required result
// (2026-07-28 basic/patterns/mrtr).
type Inputs struct {
	Responses map[string]json.RawMessage // nil: absent
	State     *string                    // nil: absent
}

// TaskRequest asks that a request become a task (2025-11-25).
type TaskRequest struct {
	TTL *int64 // milliseconds; nil: the receiver decides
}

// CallToolParams calls a tool. Arguments is an object, or nil where the member was absent.
type CallToolParams struct {
	Name      string
	Arguments json.RawMessage
	Quoted    bool // Arguments came as a text that holds the object, as some models write them
	Task      *TaskRequest
	Inputs    Inputs
}

// ReadResourceParams reads a resource.
type ReadResourceParams struct {
	URI    string
	Inputs Inputs
}

// GetPromptParams gets a prompt.
type GetPromptParams struct {
	Name      string
	Arguments map[string]string
	Inputs    Inputs
}

// SubscribeParams asks for updates of a resource (handshake revisions).
type SubscribeParams struct{ URI string }

// UnsubscribeParams ends a subscription (handshake revisions).
type UnsubscribeParams struct{ URI string }

// SubscriptionFilter says which notifications a listen stream carries.
type SubscriptionFilter struct {
	Tools     bool
	Prompts   bool
	Resources bool
	URIs      []string // resources to watch
	Tasks     []string // the tasks extension; nil: not asked
}

// ListenParams opens a subscription stream (2026-07-28).
type ListenParams struct{ Filter SubscriptionFilter }

// CompleteParams asks for completions of one argument.
type CompleteParams struct {
	Prompt   string // name of the prompt, or
	Template string // the URI (template) of the resource
	Argument string
	Value    string
	Context  map[string]string // arguments already given (2025-06-18 on)
}

// SetLevelParams sets the session's log level (handshake revisions).
type SetLevelParams struct{ Level Level }

// GetTaskParams asks for a task's state.
type GetTaskParams struct{ ID string }

// TaskResultParams waits for a task's result (2025-11-25).
type TaskResultParams struct{ ID string }

// ListTasksParams lists tasks (2025-11-25).
type ListTasksParams struct{ Cursor *string }

// CancelTaskParams cancels a task.
type CancelTaskParams struct{ ID string }

// UpdateTaskParams answers a task's questions (the tasks extension).
type UpdateTaskParams struct {
	ID        string
	Responses map[string]json.RawMessage
}

// ModelPreferences guide the client's choice of a model. Hints come in order of
// preference; a nil priority is not sent.
type ModelPreferences struct {
	Hints        []string
	Cost         *float64
	Speed        *float64
	Intelligence *float64
}

// CreateMessageParams asks the client's model (sampling).
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

// ListRootsParams asks for the client's roots.
type ListRootsParams struct{}

// ElicitParams asks the user: a form (Schema) or a page (URL).
type ElicitParams struct {
	Message string
	Schema  json.RawMessage // nil for a URL question
	URL     string
	ID      string // elicitationId of a URL question (2025-11-25 only)
	Task    *TaskRequest
}

// InitializedParams ends the handshake.
type InitializedParams struct{}

// CancelledParams cancels a request in flight.
type CancelledParams struct {
	ID     jsonrpc.ID
	Reason string
}

// ProgressParams reports progress on the request that carried Token.
type ProgressParams struct {
	Token   jsonrpc.ID
	Done    float64
	Total   *float64
	Message string // 2025-03-26 on
}

// LogParams is one log message.
type LogParams struct {
	Level  Level
	Logger string
	Data   json.RawMessage
}

// ListChangedParams says that a list changed.
type ListChangedParams struct{ Kind ListKind }

// ResourceUpdatedParams says that a resource, possibly below a subscribed one, changed.
type ResourceUpdatedParams struct{ URI string }

// RootsChangedParams says that the client's roots changed (handshake revisions).
type RootsChangedParams struct{}

// ElicitationCompleteParams says that the page of a URL question is done (2025-11-25).
type ElicitationCompleteParams struct{ ID string }

// TaskStatusParams carries a task's new state (2025-11-25).
type TaskStatusParams struct{ Task Task }

// TaskParams carries a task's new state on a listen stream (the tasks extension).
type TaskParams struct{ Task DetailedTask }

// AcknowledgedParams is the first message of a listen stream: the part of the filter that
// the server serves.
type AcknowledgedParams struct{ Filter SubscriptionFilter }

// CustomParams are those of a method that the specification does not have.
type CustomParams struct {
	Name string
	Raw  json.RawMessage
}

// Method names the request or notification; likewise below.
func (*InitializeParams) Method() string { return MethodInitialize }

// Method is server/discover.
func (*DiscoverParams) Method() string { return MethodDiscover }

// Method is ping.
func (*PingParams) Method() string { return MethodPing }

// Method is the list's.
func (p *ListParams) Method() string { return p.Kind.Method() }

// Method is tools/call.
func (*CallToolParams) Method() string { return MethodCallTool }

// Method is resources/read.
func (*ReadResourceParams) Method() string { return MethodReadResource }

// Method is prompts/get.
func (*GetPromptParams) Method() string { return MethodGetPrompt }

// Method is resources/subscribe.
func (*SubscribeParams) Method() string { return MethodSubscribe }

// Method is resources/unsubscribe.
func (*UnsubscribeParams) Method() string { return MethodUnsubscribe }

// Method is subscriptions/listen.
func (*ListenParams) Method() string { return MethodListen }

// Method is completion/complete.
func (*CompleteParams) Method() string { return MethodComplete }

// Method is logging/setLevel.
func (*SetLevelParams) Method() string { return MethodSetLevel }

// Method is tasks/get.
func (*GetTaskParams) Method() string { return MethodGetTask }

// Method is tasks/result.
func (*TaskResultParams) Method() string { return MethodTaskResult }

// Method is tasks/list.
func (*ListTasksParams) Method() string { return MethodListTasks }

// Method is tasks/cancel.
func (*CancelTaskParams) Method() string { return MethodCancelTask }

// Method is tasks/update.
func (*UpdateTaskParams) Method() string { return MethodUpdateTask }

// Method is sampling/createMessage.
func (*CreateMessageParams) Method() string { return MethodCreateMessage }

// Method is roots/list.
func (*ListRootsParams) Method() string { return MethodListRoots }

// Method is elicitation/create.
func (*ElicitParams) Method() string { return MethodElicit }

// Method is notifications/initialized.
func (*InitializedParams) Method() string { return NotificationInitialized }

// Method is notifications/cancelled.
func (*CancelledParams) Method() string { return NotificationCancelled }

// Method is notifications/progress.
func (*ProgressParams) Method() string { return NotificationProgress }

// Method is notifications/message.
func (*LogParams) Method() string { return NotificationMessage }

// Method is the list's list_changed.
func (p *ListChangedParams) Method() string { return p.Kind.Changed() }

// Method is notifications/resources/updated.
func (*ResourceUpdatedParams) Method() string { return NotificationResourceUpdated }

// Method is notifications/roots/list_changed.
func (*RootsChangedParams) Method() string { return NotificationRootsChanged }

// Method is notifications/elicitation/complete.
func (*ElicitationCompleteParams) Method() string { return NotificationElicitationComplete }

// Method is notifications/tasks/status.
func (*TaskStatusParams) Method() string { return NotificationTaskStatus }

// Method is notifications/tasks.
func (*TaskParams) Method() string { return NotificationTask }

// Method is notifications/subscriptions/acknowledged.
func (*AcknowledgedParams) Method() string { return NotificationAcknowledged }

// Method is Name.
func (p *CustomParams) Method() string { return p.Name }

func (*InitializeParams) params()          {}
func (*DiscoverParams) params()            {}
func (*PingParams) params()                {}
func (*ListParams) params()                {}
func (*CallToolParams) params()            {}
func (*ReadResourceParams) params()        {}
func (*GetPromptParams) params()           {}
func (*SubscribeParams) params()           {}
func (*UnsubscribeParams) params()         {}
func (*ListenParams) params()              {}
func (*CompleteParams) params()            {}
func (*SetLevelParams) params()            {}
func (*GetTaskParams) params()             {}
func (*TaskResultParams) params()          {}
func (*ListTasksParams) params()           {}
func (*CancelTaskParams) params()          {}
func (*UpdateTaskParams) params()          {}
func (*CreateMessageParams) params()       {}
func (*ListRootsParams) params()           {}
func (*ElicitParams) params()              {}
func (*InitializedParams) params()         {}
func (*CancelledParams) params()           {}
func (*ProgressParams) params()            {}
func (*LogParams) params()                 {}
func (*ListChangedParams) params()         {}
func (*ResourceUpdatedParams) params()     {}
func (*RootsChangedParams) params()        {}
func (*ElicitationCompleteParams) params() {}
func (*TaskStatusParams) params()          {}
func (*TaskParams) params()                {}
func (*AcknowledgedParams) params()        {}
func (*CustomParams) params()              {}
