package dialect

// ClientMethod reports whether a client may send the request under this revision.
func (d *Dialect) ClientMethod(method string) bool {
	m, ok := d.methods[method]
	return ok && m.client && m.request
}

// ServerNotification reports whether a server may send the notification under this revision.
func (d *Dialect) ServerNotification(method string) bool {
	m, ok := d.methods[method]
	return ok && m.server && !m.request
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

func table[T any](ms members[T], places ...string) Table {
	t := Table{Places: places}
	for _, m := range ms {
		t.Members = append(t.Members, Member{m.name, m.in.has, m.required.has})
	}
	return t
}

// Tables are the tables of all objects that the schemas describe.
func Tables() []Table {
	return []Table{
		table(implementationMembers, "Implementation"),
		table(iconMembers, "Icon"),
		table(annotationMembers, "Annotations", "Annotated.annotations"),
		table(toolMembers, "Tool"),
		table(executionMembers, "ToolExecution"),
		table(toolAnnotationMembers, "ToolAnnotations"),
		table(resourceMembers, "Resource"),
		table(templateMembers, "ResourceTemplate"),
		table(promptMembers, "Prompt"),
		table(promptArgumentMembers, "PromptArgument"),
		table(rootMembers, "Root"),

		table(textMembers, "TextContent"),
		table(imageMembers, "ImageContent"),
		table(audioMembers, "AudioContent"),
		table(embeddedMembers, "EmbeddedResource"),
		table(linkMembers, "ResourceLink"),
		table(toolUseMembers, "ToolUseContent"),
		table(toolResultMembers, "ToolResultContent"),
		table(contentsMembers, "TextResourceContents"),
		table(contentsMembers, "BlobResourceContents"),

		table(clientCapabilityMembers, "ClientCapabilities"),
		table(rootsMembers, "ClientCapabilities.roots"),
		table(samplingMembers, "ClientCapabilities.sampling"),
		table(elicitationModes, "ClientCapabilities.elicitation"),
		table(clientTasksMembers, "ClientCapabilities.tasks"),
		table(clientTaskRequests, "ClientCapabilities.tasks.requests"),
		table(serverCapabilityMembers, "ServerCapabilities"),
		table(promptsMembers, "ServerCapabilities.prompts"),
		table(resourcesMembers, "ServerCapabilities.resources"),
		table(toolsMembers, "ServerCapabilities.tools"),
		table(serverTasksMembers, "ServerCapabilities.tasks"),
		table(serverTaskRequests, "ServerCapabilities.tasks.requests"),

		table(initializeMembers, "InitializeRequest.params"),
		table(listMembers, "ListToolsRequest.params"),
		table(listMembers, "ListPromptsRequest.params"),
		table(callToolMembers, "CallToolRequest.params"),
		table(readResourceMembers, "ReadResourceRequest.params"),
		table(getPromptMembers, "GetPromptRequest.params"),
		table(taskRequestMembers, "TaskMetadata"),
		table(subscribeMembers, "SubscribeRequest.params"),
		table(unsubscribeMembers, "UnsubscribeRequest.params"),
		table(listenMembers, "SubscriptionsListenRequest.params"),
		table(filterMembers, "SubscriptionFilter"),
		table(setLevelMembers, "SetLevelRequest.params"),
		table(completeMembers, "CompleteRequest.params"),
		table(completeArgumentMembers, "CompleteRequest.params.argument"),
		table(completeContextMembers, "CompleteRequest.params.context"),
		table(promptRefMembers, "PromptReference"),
		table(resourceRefMembers, "ResourceTemplateReference", "ResourceReference"),
		table(getTaskMembers, "GetTaskRequest.params"),
		table(taskResultMembers, "GetTaskPayloadRequest.params"),
		table(listTasksMembers, "ListTasksRequest.params"),
		table(cancelTaskMembers, "CancelTaskRequest.params"),

		table(createMessageMembers, "CreateMessageRequest.params"),
		table(preferenceMembers, "ModelPreferences"),
		table(hintMembers, "ModelHint"),
		table(toolChoiceMembers, "ToolChoice"),
		table(samplingMessageMembers, "SamplingMessage"),
		table(elicitFormMembers, "ElicitRequestFormParams", "ElicitRequest.params"),
		table(elicitURLMembers, "ElicitRequestURLParams"),

		table(cancelledMembers, "CancelledNotification.params"),
		table(progressMembers, "ProgressNotification.params"),
		table(logMembers, "LoggingMessageNotification.params"),
		table(resourceUpdatedMembers, "ResourceUpdatedNotification.params"),
		table(elicitationCompleteMembers, "ElicitationCompleteNotification.params"),
		table(acknowledgedMembers, "SubscriptionsAcknowledgedNotification.params"),

		table(emptyMembers, "EmptyResult"),
		table(initializeResultMembers, "InitializeResult"),
		table(discoverMembers, "DiscoverResult"),
		table(listToolsMembers, "ListToolsResult"),
		table(listResourcesMembers, "ListResourcesResult"),
		table(listTemplatesMembers, "ListResourceTemplatesResult"),
		table(listPromptsMembers, "ListPromptsResult"),
		table(callToolResultMembers, "CallToolResult"),
		table(readResourceResultMembers, "ReadResourceResult"),
		table(getPromptResultMembers, "GetPromptResult"),
		table(promptMessageMembers, "PromptMessage"),
		table(completeResultMembers, "CompleteResult"),
		table(completionMembers, "CompleteResult.completion"),
		table(inputRequiredMembers, "InputRequiredResult"),
		table(createTaskMembers, "CreateTaskResult"),
		table(taskMembers, "Task"),
		table(listTasksResultMembers, "ListTasksResult"),
		table(createMessageResultMembers, "CreateMessageResult"),
		table(listRootsResultMembers, "ListRootsResult"),
		table(elicitResultMembers, "ElicitResult"),
		table(perRequestMeta, "RequestMetaObject"),
		table(notificationMeta, "NotificationMetaObject"),
	}
}
