package dialect

import (
	"encoding/json"
	"strings"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

var initializeMembers = rows[protocol.InitializeParams](
	required("protocolVersion", str, func(p *protocol.InitializeParams) *string { return &p.Version }),
	required("capabilities", object(clientCapabilityMembers), func(p *protocol.InitializeParams) *protocol.ClientCapabilities { return &p.Capabilities }),
	required("clientInfo", object(implementationMembers), func(p *protocol.InitializeParams) *protocol.Implementation { return &p.Client }),
)

// readInitialize reads the params of initialize by the revision that will be negotiated, not by the
// dialect of the caller.
func readInitialize(d *Dialect, p *protocol.InitializeParams, o jsontext.Object) *fail {
	version, _ := o.Member("protocolVersion")
	requested, _ := jsontext.String(version)
	return initializeMembers.decodeObject(negotiated(d.all, requested), p, o)
}

var listMembers = rows[protocol.ListParams](
	optional("cursor", pointer(str), func(p *protocol.ListParams) **string { return &p.Cursor }),
)

var callToolMembers = rows[protocol.CallToolParams](
	required("name", str, func(p *protocol.CallToolParams) *string { return &p.Name }).
		reading(func(d *Dialect, p *protocol.CallToolParams, v []byte) *fail { return readString(d, &p.Name, v) }),
	whole("arguments", arguments),
	optional("inputResponses", rawObjects, func(p *protocol.CallToolParams) *map[string]json.RawMessage { return &p.Inputs.Responses }).only(sessionless),
	optional("requestState", pointer(str), func(p *protocol.CallToolParams) **string { return &p.Inputs.State }).only(sessionless),
	optional("task", taskRequest, func(p *protocol.CallToolParams) **protocol.TaskRequest { return &p.Task }).only(coreTasks),
)

// arguments are the arguments of a tool. Decoding also accepts a string that contains the object, and a
// string that contains nothing or null: models write that for a tool without arguments.
var arguments = kind[protocol.CallToolParams]{
	read: readArguments,
	write: func(d *Dialect, dst []byte, p *protocol.CallToolParams) ([]byte, error) {
		if p.Quoted {
			return jsontext.QuoteBytes(dst, p.Arguments), nil
		}
		return rawObject.write(d, dst, &p.Arguments)
	},
	none: func(p *protocol.CallToolParams) bool { return len(p.Arguments) == 0 && !p.Quoted },
}

func readArguments(d *Dialect, p *protocol.CallToolParams, v []byte) *fail {
	text, quoted := jsontext.String(v)
	switch {
	case !quoted:
	case strings.TrimSpace(text) == "" || strings.TrimSpace(text) == "null":
		v, p.Quoted = []byte("{}"), true
	case jsontext.KindOf([]byte(text)) == jsontext.KindObject && jsontext.Check([]byte(text), jsontext.DefaultLimits()) == nil:
		v, p.Quoted = []byte(text), true
	}
	return readObject(d, &p.Arguments, v)
}

var readResourceMembers = rows[protocol.ReadResourceParams](
	required("uri", str, func(p *protocol.ReadResourceParams) *string { return &p.URI }),
	optional("inputResponses", rawObjects, func(p *protocol.ReadResourceParams) *map[string]json.RawMessage { return &p.Inputs.Responses }).only(sessionless),
	optional("requestState", pointer(str), func(p *protocol.ReadResourceParams) **string { return &p.Inputs.State }).only(sessionless),
)

var getPromptMembers = rows[protocol.GetPromptParams](
	required("name", str, func(p *protocol.GetPromptParams) *string { return &p.Name }),
	optional("arguments", texts, func(p *protocol.GetPromptParams) *map[string]string { return &p.Arguments }),
	optional("inputResponses", rawObjects, func(p *protocol.GetPromptParams) *map[string]json.RawMessage { return &p.Inputs.Responses }).only(sessionless),
	optional("requestState", pointer(str), func(p *protocol.GetPromptParams) **string { return &p.Inputs.State }).only(sessionless),
)

// taskRequest asks to run a request as a task (2025-11-25 basic/utilities/tasks). Revisions without
// core tasks ignore it (SEP-2663).
var taskRequest = pointer(object(taskRequestMembers))

var taskRequestMembers = rows[protocol.TaskRequest](
	optional("ttl", pointer(integer[int64]()), func(t *protocol.TaskRequest) **int64 { return &t.TTL }),
)

var subscribeMembers = rows[protocol.SubscribeParams](
	required("uri", str, func(p *protocol.SubscribeParams) *string { return &p.URI }),
)

var unsubscribeMembers = rows[protocol.UnsubscribeParams](
	required("uri", str, func(p *protocol.UnsubscribeParams) *string { return &p.URI }),
)

var listenMembers = rows[protocol.ListenParams](
	required("notifications", object(filterMembers), func(p *protocol.ListenParams) *protocol.SubscriptionFilter { return &p.Filter }),
)

// filterMembers are the members of a subscription filter, left out if false (2026-07-28
// basic/patterns/subscriptions). taskIds is part of the tasks extension.
var filterMembers = rows[protocol.SubscriptionFilter](
	optional("toolsListChanged", boolean, func(s *protocol.SubscriptionFilter) *bool { return &s.Tools }),
	optional("promptsListChanged", boolean, func(s *protocol.SubscriptionFilter) *bool { return &s.Prompts }),
	optional("resourcesListChanged", boolean, func(s *protocol.SubscriptionFilter) *bool { return &s.Resources }),
	optional("resourceSubscriptions", list(str), func(s *protocol.SubscriptionFilter) *[]string { return &s.URIs }),
	optional("taskIds", list(str), func(s *protocol.SubscriptionFilter) *[]string { return &s.Tasks }).
		when(func(s *protocol.SubscriptionFilter) bool { return s.Tasks != nil }),
)

var setLevelMembers = rows[protocol.SetLevelParams](
	required("level", level, func(p *protocol.SetLevelParams) *protocol.Level { return &p.Level }),
)

var completeMembers = rows[protocol.CompleteParams](
	whole("ref", kind[protocol.CompleteParams]{read: readRef, write: appendRef}).requiredIn(always),
	whole("argument", object(completeArgumentMembers)).requiredIn(always),
	whole("context", filled(completeContextMembers)).since(protocol.Rev20250618),
)

var completeArgumentMembers = rows[protocol.CompleteParams](
	required("name", str, func(p *protocol.CompleteParams) *string { return &p.Argument }),
	required("value", str, func(p *protocol.CompleteParams) *string { return &p.Value }),
)

var completeContextMembers = rows[protocol.CompleteParams](
	optional("arguments", texts, func(p *protocol.CompleteParams) *map[string]string { return &p.Context }),
)

var promptRefMembers = rows[protocol.CompleteParams](
	constant[protocol.CompleteParams]("type", "ref/prompt"),
	required("name", str, func(p *protocol.CompleteParams) *string { return &p.Prompt }),
	optional("title", str, func(p *protocol.CompleteParams) *string { return &p.Title }).only(titled),
)

var resourceRefMembers = rows[protocol.CompleteParams](
	constant[protocol.CompleteParams]("type", "ref/resource"),
	required("uri", str, func(p *protocol.CompleteParams) *string { return &p.Template }),
)

// readRef reads a reference to a prompt by name or to a resource by URI template.
func readRef(d *Dialect, p *protocol.CompleteParams, v []byte) *fail {
	kind, f := readType(v)
	switch {
	case f != nil:
		return f
	case kind == "ref/prompt":
		return promptRefMembers.decode(d, p, v)
	case kind == "ref/resource":
		return resourceRefMembers.decode(d, p, v)
	}
	return refuse(`must be one of "ref/prompt", "ref/resource"`).in("type")
}

func appendRef(d *Dialect, dst []byte, p *protocol.CompleteParams) ([]byte, error) {
	if p.Template != "" {
		return resourceRefMembers.append(d, dst, p)
	}
	return promptRefMembers.append(d, dst, p)
}

var getTaskMembers = rows[protocol.GetTaskParams](
	required("taskId", str, func(p *protocol.GetTaskParams) *string { return &p.ID }),
)

var taskResultMembers = rows[protocol.TaskResultParams](
	required("taskId", str, func(p *protocol.TaskResultParams) *string { return &p.ID }),
)

var listTasksMembers = rows[protocol.ListTasksParams](
	optional("cursor", pointer(str), func(p *protocol.ListTasksParams) **string { return &p.Cursor }),
)

var cancelTaskMembers = rows[protocol.CancelTaskParams](
	required("taskId", str, func(p *protocol.CancelTaskParams) *string { return &p.ID }),
)

var updateTaskMembers = rows[protocol.UpdateTaskParams](
	required("taskId", str, func(p *protocol.UpdateTaskParams) *string { return &p.ID }),
	required("inputResponses", rawObjects, func(p *protocol.UpdateTaskParams) *map[string]json.RawMessage { return &p.Responses }),
)
