package dialect

import (
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// ClientMethod reports whether a client may send the request under this revision.
func (d *Dialect) ClientMethod(method string) bool {
	m, ok := d.methods[method]
	return ok && m.client.has(d) && isRequest(method)
}

// ServerNotification reports whether a server may send the notification under this revision.
func (d *Dialect) ServerNotification(method string) bool {
	m, ok := d.methods[method]
	return ok && m.server.has(d) && !isRequest(method)
}

// InSchema reports whether the method is in the schema of the revision. Methods of extensions are
// not.
func (d *Dialect) InSchema(method string) bool {
	m, ok := d.methods[method]
	return ok && !m.extension.has(d)
}

// Member is one row of a table of members.
type Member struct {
	Name         string
	In, Required func(*Dialect) bool
}

// Table is a table of members, and the places of its object in the schemas: a definition, and the
// members that lead from it to the object.
type Table struct {
	Places  []string
	Members []Member
}

func describe[T any](ms members[T], places ...string) Table {
	t := Table{Places: places}
	for _, m := range ms.all {
		t.Members = append(t.Members, Member{m.name, m.in.has, m.required.has})
	}
	return t
}

// Tables are the tables of all objects that the schemas describe.
func Tables() []Table {
	return []Table{
		describe(implementationMembers, "Implementation"),
		describe(iconMembers, "Icon"),
		describe(annotationMembers, "Annotations", "Annotated.annotations"),
		describe(toolMembers, "Tool"),
		describe(executionMembers, "ToolExecution"),
		describe(toolAnnotationMembers, "ToolAnnotations"),
		describe(resourceMembers, "Resource"),
		describe(templateMembers, "ResourceTemplate"),
		describe(promptMembers, "Prompt"),
		describe(promptArgumentMembers, "PromptArgument"),
		describe(rootMembers, "Root"),

		describe(textMembers, "TextContent"),
		describe(imageMembers, "ImageContent"),
		describe(audioMembers, "AudioContent"),
		describe(embeddedMembers, "EmbeddedResource"),
		describe(linkMembers, "ResourceLink"),
		describe(toolUseMembers, "ToolUseContent"),
		describe(toolResultMembers, "ToolResultContent"),
		describe(contentsMembers, "TextResourceContents"),
		describe(contentsMembers, "BlobResourceContents"),

		describe(clientCapabilityMembers, "ClientCapabilities"),
		describe(rootsMembers, "ClientCapabilities.roots"),
		describe(samplingMembers, "ClientCapabilities.sampling"),
		describe(elicitationModes, "ClientCapabilities.elicitation"),
		describe(clientTasksMembers, "ClientCapabilities.tasks"),
		describe(clientTaskRequests, "ClientCapabilities.tasks.requests"),
		describe(serverCapabilityMembers, "ServerCapabilities"),
		describe(promptsMembers, "ServerCapabilities.prompts"),
		describe(resourcesMembers, "ServerCapabilities.resources"),
		describe(toolsMembers, "ServerCapabilities.tools"),
		describe(serverTasksMembers, "ServerCapabilities.tasks"),
		describe(serverTaskRequests, "ServerCapabilities.tasks.requests"),

		describe(initializeMembers, "InitializeRequest.params"),
		describe(listMembers, "ListToolsRequest.params"),
		describe(listMembers, "ListPromptsRequest.params"),
		describe(callToolMembers, "CallToolRequest.params"),
		describe(readResourceMembers, "ReadResourceRequest.params"),
		describe(getPromptMembers, "GetPromptRequest.params"),
		describe(taskRequestMembers, "TaskMetadata"),
		describe(subscribeMembers, "SubscribeRequest.params"),
		describe(unsubscribeMembers, "UnsubscribeRequest.params"),
		describe(listenMembers, "SubscriptionsListenRequest.params"),
		describe(filterMembers, "SubscriptionFilter"),
		describe(setLevelMembers, "SetLevelRequest.params"),
		describe(completeMembers, "CompleteRequest.params"),
		describe(completeArgumentMembers, "CompleteRequest.params.argument"),
		describe(completeContextMembers, "CompleteRequest.params.context"),
		describe(promptRefMembers, "PromptReference"),
		describe(resourceRefMembers, "ResourceTemplateReference", "ResourceReference"),
		describe(getTaskMembers, "GetTaskRequest.params"),
		describe(taskResultMembers, "GetTaskPayloadRequest.params"),
		describe(listTasksMembers, "ListTasksRequest.params"),
		describe(cancelTaskMembers, "CancelTaskRequest.params"),

		describe(createMessageMembers, "CreateMessageRequest.params"),
		describe(preferenceMembers, "ModelPreferences"),
		describe(hintMembers, "ModelHint"),
		describe(toolChoiceMembers, "ToolChoice"),
		describe(samplingMessageMembers, "SamplingMessage"),
		describe(elicitFormMembers, "ElicitRequestFormParams", "ElicitRequest.params"),
		describe(elicitURLMembers, "ElicitRequestURLParams"),

		describe(cancelledMembers, "CancelledNotification.params"),
		describe(progressMembers, "ProgressNotification.params"),
		describe(logMembers, "LoggingMessageNotification.params"),
		describe(resourceUpdatedMembers, "ResourceUpdatedNotification.params"),
		describe(elicitationCompleteMembers, "ElicitationCompleteNotification.params"),
		describe(acknowledgedMembers, "SubscriptionsAcknowledgedNotification.params"),

		describe(emptyMembers, "EmptyResult"),
		describe(initializeResultMembers, "InitializeResult"),
		describe(discoverMembers, "DiscoverResult"),
		describe(listToolsMembers, "ListToolsResult"),
		describe(listResourcesMembers, "ListResourcesResult"),
		describe(listTemplatesMembers, "ListResourceTemplatesResult"),
		describe(listPromptsMembers, "ListPromptsResult"),
		describe(callToolResultMembers, "CallToolResult"),
		describe(readResourceResultMembers, "ReadResourceResult"),
		describe(getPromptResultMembers, "GetPromptResult"),
		describe(promptMessageMembers, "PromptMessage"),
		describe(completeResultMembers, "CompleteResult"),
		describe(completionMembers, "CompleteResult.completion"),
		describe(inputRequiredMembers, "InputRequiredResult"),
		describe(createTaskMembers, "CreateTaskResult"),
		describe(taskMembers, "Task"),
		describe(listTasksResultMembers, "ListTasksResult"),
		describe(createMessageResultMembers, "CreateMessageResult"),
		describe(listRootsResultMembers, "ListRootsResult"),
		describe(elicitResultMembers, "ElicitResult"),
		describe(perRequestMeta, "RequestMetaObject"),
		describe(notificationMeta, "NotificationMetaObject"),
	}
}

// AppendBlock appends one content block of a tool result or prompt message. A block that the
// revision lacks becomes a text block that says so. AppendBlock returns an error for tool_use and
// tool_result, which are allowed only in sampling messages. An empty MIME type is detected from the
// data.
func (d *Dialect) AppendBlock(dst []byte, b protocol.Block) ([]byte, error) {
	w := d.writer(dst)
	w.block(b, inResult)
	return w.done()
}

// DecodeNotificationMeta decodes the _meta of a notification, which has no required members.
func (d *Dialect) DecodeNotificationMeta(params []byte) (*protocol.RequestMeta, *protocol.Fault) {
	meta := MetaOf(jsontext.Bare(params))
	switch {
	case d.Handshake():
		return d.DecodeMetaObject(meta)
	case meta.Raw() == nil:
		return NoMeta, nil
	}
	m := new(protocol.RequestMeta)
	if f := notificationMeta.decodeObject(d, m, meta); f != nil {
		return NoMeta, f.in("_meta").fault("params")
	}
	return m, nil
}

// notificationMeta are the members of 2026-07-28 schema, NotificationMetaObject.
var notificationMeta = rows[protocol.RequestMeta](
	decoded(keySubscription, func(d *Dialect, m *protocol.RequestMeta, v []byte) *fail {
		return readID(d, &m.SubscriptionID, v)
	}),
)

// AppendServerCapabilities appends a ServerCapabilities object. Capabilities that the revision does
// not have are left out.
func (d *Dialect) AppendServerCapabilities(dst []byte, c *protocol.ServerCapabilities) []byte {
	dst, _ = serverCapabilityMembers.append(d, dst, c) // flags and objects do not fail
	return dst
}
