package protocol

// Requests that a client may send.
const (
	MethodInitialize    = "initialize"
	MethodDiscover      = "server/discover"
	MethodPing          = "ping" // both directions
	MethodListTools     = "tools/list"
	MethodCallTool      = "tools/call"
	MethodListResources = "resources/list"
	MethodListTemplates = "resources/templates/list"
	MethodReadResource  = "resources/read"
	MethodSubscribe     = "resources/subscribe"
	MethodUnsubscribe   = "resources/unsubscribe"
	MethodListen        = "subscriptions/listen"
	MethodListPrompts   = "prompts/list"
	MethodGetPrompt     = "prompts/get"
	MethodComplete      = "completion/complete"
	MethodSetLevel      = "logging/setLevel"
	MethodGetTask       = "tasks/get"
	MethodTaskResult    = "tasks/result"
	MethodListTasks     = "tasks/list"
	MethodCancelTask    = "tasks/cancel"
	MethodUpdateTask    = "tasks/update"
)

// Requests that a server may send.
const (
	MethodCreateMessage = "sampling/createMessage"
	MethodListRoots     = "roots/list"
	MethodElicit        = "elicitation/create"
)

// Notifications.
const (
	NotificationInitialized         = "notifications/initialized"
	NotificationCancelled           = "notifications/cancelled"
	NotificationProgress            = "notifications/progress"
	NotificationMessage             = "notifications/message"
	NotificationToolsChanged        = "notifications/tools/list_changed"
	NotificationResourcesChanged    = "notifications/resources/list_changed"
	NotificationPromptsChanged      = "notifications/prompts/list_changed"
	NotificationResourceUpdated     = "notifications/resources/updated"
	NotificationRootsChanged        = "notifications/roots/list_changed"
	NotificationElicitationComplete = "notifications/elicitation/complete"
	NotificationTaskStatus          = "notifications/tasks/status" // 2025-11-25 core
	NotificationTask                = "notifications/tasks"        // the tasks extension
	NotificationAcknowledged        = "notifications/subscriptions/acknowledged"
)

// ListKind is one of the four lists that a server offers.
type ListKind uint8

// The four lists.
const (
	ListTools ListKind = iota
	ListResources
	ListTemplates
	ListPrompts
)

// Method returns the method of the request for the list.
func (k ListKind) Method() string {
	return [...]string{MethodListTools, MethodListResources, MethodListTemplates, MethodListPrompts}[k]
}

// Changed returns the method of the notification that the list has changed. Templates share the
// notification of resources.
func (k ListKind) Changed() string {
	return [...]string{
		NotificationToolsChanged, NotificationResourcesChanged,
		NotificationResourcesChanged, NotificationPromptsChanged,
	}[k]
}
