package dialect

import (
	"strings"

	"github.com/kagami-mcp/kagami/protocol"
)

// method is a row of the table methods: one method of the specification. All lists of methods are
// derived from that table.
type method struct {
	name   string
	client revisions // clients send it in these revisions
	server revisions // servers send it in these revisions
	params codec

	// The other fields are for requests.
	result   resultReader                               // if nil, the result is a CustomResult
	needs    func(has protocol.ServerCapabilities) bool // a capability that a server must declare; may be nil
	session  bool                                       // exists only in sessions, because it changes the session
	mirrored string                                     // the member that the header Mcp-Name repeats; may be empty
	task     bool                                       // may run as a task (2025-11-25)
	rounds   bool                                       // may be answered with input_required (2026-07-28)

	extension revisions // an extension specifies the method in these revisions, not the schema
}

// methods is the table of all methods of all revisions.
var methods = []method{
	{
		name: protocol.MethodInitialize, client: sessions, result: resultOf(initializeResultMembers),
		params: coded(readInitialize, initializeMembers.appendInto),
	},
	{
		name: protocol.MethodDiscover, client: sessionless, result: resultOf(discoverMembers),
		params: params(rows[protocol.DiscoverParams]()),
	},
	{
		name: protocol.MethodPing, client: sessions, server: sessions, result: readEmpty,
		params: params(rows[protocol.PingParams]()),
	},
	{
		name: protocol.MethodListTools, client: always, result: resultOf(listToolsMembers),
		params: listParams(protocol.ListTools), needs: tools,
	},
	{
		name: protocol.MethodCallTool, client: always, result: resultOf(callToolResultMembers),
		params: params(callToolMembers), needs: tools,
		mirrored: "name", task: true, rounds: true,
	},
	{
		name: protocol.MethodListResources, client: always, result: resultOf(listResourcesMembers),
		params: listParams(protocol.ListResources), needs: resources,
	},
	{
		name: protocol.MethodListTemplates, client: always, result: resultOf(listTemplatesMembers),
		params: listParams(protocol.ListTemplates), needs: resources,
	},
	{
		name: protocol.MethodReadResource, client: always, result: resultOf(readResourceResultMembers),
		params: params(readResourceMembers), needs: resources,
		mirrored: "uri", rounds: true,
	},
	{
		name: protocol.MethodSubscribe, client: sessions, result: readEmpty,
		params: params(subscribeMembers),
		needs:  resources, session: true,
	},
	{
		name: protocol.MethodUnsubscribe, client: sessions, result: readEmpty,
		params: params(unsubscribeMembers),
		needs:  resources, session: true,
	},
	{
		name: protocol.MethodListen, client: sessionless, result: resultOf(listenResultMembers),
		params: params(listenMembers),
	},
	{
		name: protocol.MethodListPrompts, client: always, result: resultOf(listPromptsMembers),
		params: listParams(protocol.ListPrompts), needs: prompts,
	},
	{
		name: protocol.MethodGetPrompt, client: always, result: resultOf(getPromptResultMembers),
		params: params(getPromptMembers), needs: prompts,
		mirrored: "name", rounds: true,
	},
	{
		name: protocol.MethodComplete, client: always, result: resultOf(completeResultMembers),
		params: params(completeMembers), needs: completions,
	},
	{
		name: protocol.MethodSetLevel, client: sessions, result: readEmpty,
		params:  params(setLevelMembers),
		session: true,
	},

	// Tasks: requests of both sides on 2025-11-25, an extension for client requests on 2026-07-28 (SEP-2663).
	{
		name: protocol.MethodGetTask, client: since(protocol.Rev20251125), server: coreTasks, result: decodeTaskResult,
		params: params(getTaskMembers),
		needs:  tasks, mirrored: "taskId", extension: sessionless,
	},
	{
		name: protocol.MethodTaskResult, client: coreTasks, server: coreTasks,
		params: params(taskResultMembers),
		needs:  tasks,
	},
	{
		name: protocol.MethodListTasks, client: coreTasks, server: coreTasks, result: resultOf(listTasksResultMembers),
		params: params(listTasksMembers),
		needs:  tasks,
	},
	{
		name: protocol.MethodCancelTask, client: since(protocol.Rev20251125), server: coreTasks, result: decodeCancelTask,
		params: params(cancelTaskMembers),
		needs:  tasks, mirrored: "taskId", extension: sessionless,
	},
	{
		name: protocol.MethodUpdateTask, client: sessionless, result: readEmpty,
		params: params(updateTaskMembers),
		needs:  tasks, mirrored: "taskId", extension: sessionless,
	},

	// Server requests. On 2026-07-28 they are sent in input_required results.
	{
		name: protocol.MethodCreateMessage, server: always, result: resultOf(createMessageResultMembers),
		params: coded(createMessageMembers.decodeObject, appendCreateMessage), task: true,
	},
	{
		name: protocol.MethodListRoots, server: always, result: resultOf(listRootsResultMembers),
		params: params(rows[protocol.ListRootsParams]()),
	},
	{
		name: protocol.MethodElicit, server: since(protocol.Rev20250618), result: resultOf(elicitResultMembers),
		params: coded(readElicitObject, appendElicit), task: true,
	},

	{
		name: protocol.NotificationInitialized, client: sessions,
		params: params(rows[protocol.InitializedParams]()),
	},
	{
		name: protocol.NotificationCancelled, client: always, server: always,
		params: params(cancelledMembers),
	},
	{
		name: protocol.NotificationProgress, client: sessions, server: always,
		params: params(progressMembers),
	},
	{
		name: protocol.NotificationMessage, server: always,
		params: params(logMembers),
	},
	{name: protocol.NotificationToolsChanged, server: always, params: listChanged(protocol.ListTools)},
	{name: protocol.NotificationResourcesChanged, server: always, params: listChanged(protocol.ListResources)},
	{name: protocol.NotificationPromptsChanged, server: always, params: listChanged(protocol.ListPrompts)},
	{
		name: protocol.NotificationResourceUpdated, server: always,
		params: params(resourceUpdatedMembers),
	},
	{
		name: protocol.NotificationRootsChanged, client: sessions,
		params: params(rows[protocol.RootsChangedParams]()),
	},
	{
		name: protocol.NotificationElicitationComplete, server: coreTasks,
		params: params(elicitationCompleteMembers),
	},
	{
		name: protocol.NotificationTaskStatus, client: coreTasks, server: coreTasks,
		params: coded(readTaskStatus, appendTaskStatus),
	},
	{
		name: protocol.NotificationTask, server: sessionless, extension: sessionless,
		params: coded(readTaskParams, appendTaskParams),
	},
	{
		name: protocol.NotificationAcknowledged, server: sessionless,
		params: params(acknowledgedMembers),
	},
}

// The capabilities that a server must declare for a method.
var (
	tools       = func(has protocol.ServerCapabilities) bool { return has.Tools }
	resources   = func(has protocol.ServerCapabilities) bool { return has.Resources }
	prompts     = func(has protocol.ServerCapabilities) bool { return has.Prompts }
	completions = func(has protocol.ServerCapabilities) bool { return has.Completions }
	tasks       = func(has protocol.ServerCapabilities) bool { return has.Tasks }
)

// isRequest reports whether a method is a request. Otherwise it is a notification.
func isRequest(name string) bool { return !strings.HasPrefix(name, "notifications/") }

// methodsOf returns the methods of the revision of d by name.
func methodsOf(d *Dialect) map[string]*method {
	all := make(map[string]*method)
	for i := range methods {
		if m := &methods[i]; (m.client | m.server).has(d) {
			all[m.name] = m
		}
	}
	return all
}

// methodsByName has the methods of all revisions.
var methodsByName = methodsOf(&Dialect{bit: always})

// MethodName returns text as a string. It allocates only if no revision has a method with this
// name.
func MethodName(text []byte) string {
	if m := methodsByName[string(text)]; m != nil {
		return m.name
	}
	return string(text)
}

// Methods returns the names of all methods of all revisions, including notifications.
func Methods() []string {
	names := make([]string, len(methods))
	for i := range methods {
		names[i] = methods[i].name
	}
	return names
}

// Known reports whether any revision has a request or notification of this name.
func Known(name string) bool {
	return methodsByName[name] != nil
}
