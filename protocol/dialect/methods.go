package dialect

import (
	"slices"
	"strings"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// method is a row of the table methods: one method of the specification. All lists of methods are
// derived from that table.
type method struct {
	name   string
	client span // clients send it in these revisions
	server span // servers send it in these revisions
	params codec

	// The other fields are for requests.
	result   resultReader // if nil, the result is a CustomResult
	needs    capability   // capability that a server must declare
	session  bool         // exists only in sessions, because it changes the session
	mirrored string       // the member that the header Mcp-Name repeats; "" if there is none
	task     bool         // may run as a task (2025-11-25)
	rounds   bool         // may be answered with input_required (2026-07-28)

	extension span // an extension specifies the method in these revisions, not the schema
}

// methods is the table of all methods of all revisions.
var methods = []method{
	{
		name: protocol.MethodInitialize, client: sessions, result: resultOf(initializeResultMembers),
		params: coded(decodeInitialize, writeInitialize),
	},
	{
		name: protocol.MethodDiscover, client: sessionless, result: decodeDiscover,
		params: codec{read: into(fields[protocol.DiscoverParams]{})},
	},
	{
		name: protocol.MethodPing, client: sessions, server: sessions, result: readEmpty,
		params: codec{read: into(fields[protocol.PingParams]{})},
	},
	{
		name: protocol.MethodListTools, client: always, result: resultOf(listToolsMembers),
		params: list(protocol.ListTools), needs: tools,
	},
	{
		name: protocol.MethodCallTool, client: always, result: resultOf(callToolResultMembers),
		params: coded(into(callToolMembers), writeCallTool), needs: tools,
		mirrored: "name", task: true, rounds: true,
	},
	{
		name: protocol.MethodListResources, client: always, result: resultOf(listResourcesMembers),
		params: list(protocol.ListResources), needs: resources,
	},
	{
		name: protocol.MethodListTemplates, client: always, result: resultOf(listTemplatesMembers),
		params: list(protocol.ListTemplates), needs: resources,
	},
	{
		name: protocol.MethodReadResource, client: always, result: resultOf(readResourceResultMembers),
		params: coded(into(readResourceMembers), writeReadResource), needs: resources,
		mirrored: "uri", rounds: true,
	},
	{
		name: protocol.MethodSubscribe, client: sessions, result: readEmpty,
		params: coded(into(subscribeMembers), writeSubscribe),
		needs:  resources, session: true,
	},
	{
		name: protocol.MethodUnsubscribe, client: sessions, result: readEmpty,
		params: coded(into(unsubscribeMembers), writeUnsubscribe),
		needs:  resources, session: true,
	},
	{
		name: protocol.MethodListen, client: sessionless, result: decodeListen,
		params: coded(into(listenMembers), writeListen),
	},
	{
		name: protocol.MethodListPrompts, client: always, result: resultOf(listPromptsMembers),
		params: list(protocol.ListPrompts), needs: prompts,
	},
	{
		name: protocol.MethodGetPrompt, client: always, result: resultOf(getPromptResultMembers),
		params: coded(into(getPromptMembers), writeGetPrompt), needs: prompts,
		mirrored: "name", rounds: true,
	},
	{
		name: protocol.MethodComplete, client: always, result: resultOf(completeResultMembers),
		params: coded(into(completeMembers), writeComplete), needs: completions,
	},
	{
		name: protocol.MethodSetLevel, client: sessions, result: readEmpty,
		params:  coded(into(setLevelMembers), writeSetLevel),
		session: true,
	},

	// Tasks: requests of both sides on 2025-11-25, an extension for client requests on 2026-07-28 (SEP-2663).
	{
		name: protocol.MethodGetTask, client: span{first: protocol.Rev20251125}, server: coreTasks, result: decodeTaskResult,
		params: coded(into(getTaskMembers), writeGetTask),
		needs:  tasks, mirrored: "taskId", extension: sessionless,
	},
	{
		name: protocol.MethodTaskResult, client: coreTasks, server: coreTasks,
		params: coded(into(taskResultMembers), writeTaskResult),
		needs:  tasks,
	},
	{
		name: protocol.MethodListTasks, client: coreTasks, server: coreTasks, result: resultOf(listTasksResultMembers),
		params: coded(into(listTasksMembers), writeListTasks),
		needs:  tasks,
	},
	{
		name: protocol.MethodCancelTask, client: span{first: protocol.Rev20251125}, server: coreTasks, result: decodeCancelTask,
		params: coded(into(cancelTaskMembers), writeCancelTask),
		needs:  tasks, mirrored: "taskId", extension: sessionless,
	},
	{
		name: protocol.MethodUpdateTask, client: sessionless, result: readEmpty,
		params: coded(into(updateTaskMembers), writeUpdateTask),
		needs:  tasks, mirrored: "taskId", extension: sessionless,
	},

	// Server requests. On 2026-07-28 they are sent in input_required results.
	{
		name: protocol.MethodCreateMessage, server: always, result: resultOf(createMessageResultMembers),
		params: coded(into(createMessageMembers), writeCreateMessage), task: true,
	},
	{
		name: protocol.MethodListRoots, server: always, result: resultOf(listRootsResultMembers),
		params: codec{read: into(fields[protocol.ListRootsParams]{})},
	},
	{
		name: protocol.MethodElicit, server: span{first: protocol.Rev20250618}, result: resultOf(elicitResultMembers),
		params: coded(decodeElicit, writeElicit), task: true,
	},

	{
		name: protocol.NotificationInitialized, client: sessions,
		params: codec{read: into(fields[protocol.InitializedParams]{})},
	},
	{
		name: protocol.NotificationCancelled, client: always, server: always,
		params: coded(decodeCancelled, writeCancelled),
	},
	{
		name: protocol.NotificationProgress, client: sessions, server: always,
		params: coded(into(progressMembers), writeProgress),
	},
	{
		name: protocol.NotificationMessage, server: always,
		params: coded(into(logMembers), writeLog),
	},
	{name: protocol.NotificationToolsChanged, server: always, params: listChanged(protocol.ListTools)},
	{name: protocol.NotificationResourcesChanged, server: always, params: listChanged(protocol.ListResources)},
	{name: protocol.NotificationPromptsChanged, server: always, params: listChanged(protocol.ListPrompts)},
	{
		name: protocol.NotificationResourceUpdated, server: always,
		params: coded(into(resourceUpdatedMembers), writeResourceUpdated),
	},
	{
		name: protocol.NotificationRootsChanged, client: sessions,
		params: codec{read: into(fields[protocol.RootsChangedParams]{})},
	},
	{
		name: protocol.NotificationElicitationComplete, server: coreTasks,
		params: coded(into(elicitationCompleteMembers), writeElicitationComplete),
	},
	{
		name: protocol.NotificationTaskStatus, client: coreTasks, server: coreTasks,
		params: coded(decodeTaskStatus, writeTaskStatus),
	},
	{
		name: protocol.NotificationTask, server: sessionless, extension: sessionless,
		params: coded(decodeTaskParams, writeTask),
	},
	{
		name: protocol.NotificationAcknowledged, server: sessionless,
		params: coded(into(acknowledgedMembers), writeAcknowledged),
	},
}

// capability is a capability that a server must declare for a method.
type capability uint8

const (
	nothing capability = iota
	tools
	resources
	prompts
	completions
	tasks
)

// in reports whether a server with these capabilities has c.
func (c capability) in(has *protocol.ServerCapabilities) bool {
	switch c {
	case tools:
		return has.Tools
	case resources:
		return has.Resources
	case prompts:
		return has.Prompts
	case completions:
		return has.Completions
	case tasks:
		return has.Tasks
	default:
		return true
	}
}

// span is a range of revisions, both ends included. If last is zero, the range includes all later
// revisions. The zero span is empty.
type span struct{ first, last protocol.Revision }

var (
	always      = span{first: protocol.Rev20241105}
	sessions    = span{protocol.Rev20241105, protocol.Rev20251125} // the revisions with a handshake
	sessionless = span{first: protocol.Rev20260728}
	coreTasks   = span{protocol.Rev20251125, protocol.Rev20251125}
)

// has reports whether rev is in the range.
func (s span) has(rev protocol.Revision) bool {
	all := protocol.Revisions()
	at, last := slices.Index(all, rev), slices.Index(all, s.last)
	return !s.first.IsZero() && slices.Index(all, s.first) <= at && (last < 0 || at <= last)
}

// sent is a method on one revision.
type sent struct {
	*method
	client, server bool // whether clients or servers send it
	request        bool // otherwise it is a notification
}

// methodsOf returns the methods of a revision by name.
func methodsOf(rev protocol.Revision) map[string]sent {
	all := make(map[string]sent)
	for i := range methods {
		m := &methods[i]
		request := !strings.HasPrefix(m.name, "notifications/")
		if s := (sent{m, m.client.has(rev), m.server.has(rev), request}); s.client || s.server {
			all[m.name] = s
		}
	}
	return all
}

// clientMethods are the names of all methods that clients send.
var clientMethods = func() (names []string) {
	for _, m := range methods {
		if m.client != (span{}) {
			names = append(names, m.name)
		}
	}
	return names
}()

// MethodName returns text as a string. It allocates only if no revision lets a client send a method
// of that name.
func MethodName(text []byte) string {
	for _, known := range clientMethods {
		if string(text) == known {
			return known
		}
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
	return slices.ContainsFunc(methods, func(m method) bool { return m.name == name })
}

// codec decodes and encodes the params of a method.
type codec struct {
	read  paramsReader
	write func(w writer, p protocol.Params) writer // writes the members; nil if there are none
}

// coded returns a codec that writes params with write. A writer is passed by value, because a pointer
// that is passed to a function value escapes to the heap.
func coded[P protocol.Params](read paramsReader, write func(w writer, p P) writer) codec {
	return codec{read, func(w writer, p protocol.Params) writer {
		typed, _ := p.(P) // methods and types of params belong together
		return write(w, typed)
	}}
}

// list returns the codec for the params of a list request.
func list(kind protocol.ListKind) codec {
	read := func(d *Dialect, o jsontext.Object) (protocol.Params, *fail) {
		p := &protocol.ListParams{Kind: kind}
		if f := listMembers.decodeObject(d, p, o); f != nil {
			return nil, f
		}
		return p, nil
	}
	return coded(read, func(w writer, p *protocol.ListParams) writer {
		w.textPtr("cursor", p.Cursor)
		return w
	})
}

// listChanged returns the codec for the params of a list_changed notification.
func listChanged(kind protocol.ListKind) codec {
	return codec{read: func(d *Dialect, o jsontext.Object) (protocol.Params, *fail) {
		p := &protocol.ListChangedParams{Kind: kind}
		if f := (fields[protocol.ListChangedParams]{}).decodeObject(d, p, o); f != nil {
			return nil, f
		}
		return p, nil
	}}
}
