package dialect

import (
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

var emptyMembers = fields[protocol.EmptyResult]{
	{"_meta", optional, func(_ *Dialect, r *protocol.EmptyResult, v []byte) *fail { return readMeta(&r.Meta, v) }},
}

var initializeResultMembers = fields[protocol.InitializeResult]{
	{"protocolVersion", required, func(_ *Dialect, r *protocol.InitializeResult, v []byte) *fail {
		return readString(&r.Version, v)
	}},
	{"capabilities", required, func(d *Dialect, r *protocol.InitializeResult, v []byte) *fail {
		return readServerCapabilities(d, &r.Capabilities, v)
	}},
	{"serverInfo", required, func(d *Dialect, r *protocol.InitializeResult, v []byte) *fail {
		return implementationMembers.decode(d, &r.Server, v)
	}},
	{"instructions", optional, func(_ *Dialect, r *protocol.InitializeResult, v []byte) *fail {
		return readString(&r.Instructions, v)
	}},
	{"_meta", optional, func(_ *Dialect, r *protocol.InitializeResult, v []byte) *fail { return readMeta(&r.Meta, v) }},
}

var discoverMembers = fields[protocol.DiscoverResult]{
	{"supportedVersions", required, func(_ *Dialect, r *protocol.DiscoverResult, v []byte) *fail {
		return readList(&r.Versions, v, readString)
	}},
	{"capabilities", required, func(d *Dialect, r *protocol.DiscoverResult, v []byte) *fail {
		return readServerCapabilities(d, &r.Capabilities, v)
	}},
	{"instructions", optional, func(_ *Dialect, r *protocol.DiscoverResult, v []byte) *fail {
		return readString(&r.Instructions, v)
	}},
	{"ttlMs", optional, since((*Dialect).ResultType, func(_ *Dialect, r *protocol.DiscoverResult, v []byte) *fail { return readTTLMs(&r.Cache, v) })},
	{"cacheScope", optional, since((*Dialect).ResultType, func(_ *Dialect, r *protocol.DiscoverResult, v []byte) *fail { return readScope(&r.Cache, v) })},
	{"_meta", optional, func(_ *Dialect, r *protocol.DiscoverResult, v []byte) *fail { return readMeta(&r.Meta, v) }},
}

// listOf returns the table of a list result, given access to its parts.
func listOf[R, T any](
	name string, list func(*R) *[]T, item func(*Dialect, *T, []byte) *fail,
	rest func(*R) (next **string, cache *protocol.CacheHints, meta *protocol.Meta),
) fields[R] {
	return fields[R]{
		{name, required, func(d *Dialect, r *R, v []byte) *fail {
			return readList(list(r), v, func(t *T, v []byte) *fail { return item(d, t, v) })
		}},
		{"nextCursor", optional, func(_ *Dialect, r *R, v []byte) *fail {
			next, _, _ := rest(r)
			return readStringPtr(next, v)
		}},
		{"ttlMs", optional, since((*Dialect).ResultType, func(_ *Dialect, r *R, v []byte) *fail {
			_, cache, _ := rest(r)
			return readTTLMs(cache, v)
		})},
		{"cacheScope", optional, since((*Dialect).ResultType, func(_ *Dialect, r *R, v []byte) *fail {
			_, cache, _ := rest(r)
			return readScope(cache, v)
		})},
		{"_meta", optional, func(_ *Dialect, r *R, v []byte) *fail {
			_, _, meta := rest(r)
			return readMeta(meta, v)
		}},
	}
}

var (
	listToolsMembers = listOf("tools",
		func(r *protocol.ListToolsResult) *[]protocol.Tool { return &r.Tools }, readTool,
		func(r *protocol.ListToolsResult) (**string, *protocol.CacheHints, *protocol.Meta) {
			return &r.Next, &r.Cache, &r.Meta
		})
	listResourcesMembers = listOf("resources",
		func(r *protocol.ListResourcesResult) *[]protocol.Resource { return &r.Resources }, readResource,
		func(r *protocol.ListResourcesResult) (**string, *protocol.CacheHints, *protocol.Meta) {
			return &r.Next, &r.Cache, &r.Meta
		})
	listTemplatesMembers = listOf("resourceTemplates",
		func(r *protocol.ListTemplatesResult) *[]protocol.ResourceTemplate { return &r.Templates }, readTemplate,
		func(r *protocol.ListTemplatesResult) (**string, *protocol.CacheHints, *protocol.Meta) {
			return &r.Next, &r.Cache, &r.Meta
		})
	listPromptsMembers = listOf("prompts",
		func(r *protocol.ListPromptsResult) *[]protocol.Prompt { return &r.Prompts }, readPrompt,
		func(r *protocol.ListPromptsResult) (**string, *protocol.CacheHints, *protocol.Meta) {
			return &r.Next, &r.Cache, &r.Meta
		})
)

var callToolResultMembers = fields[protocol.CallToolResult]{
	{"content", required, func(d *Dialect, r *protocol.CallToolResult, v []byte) *fail {
		return readBlocks(d, &r.Content, v, inResult)
	}},
	{"structuredContent", nullable, since((*Dialect).StructuredContent, func(d *Dialect, r *protocol.CallToolResult, v []byte) *fail {
		return readStructured(d, &r.Structured, v)
	})},
	{"isError", optional, func(_ *Dialect, r *protocol.CallToolResult, v []byte) *fail { return readBool(&r.IsError, v) }},
	{"_meta", optional, func(_ *Dialect, r *protocol.CallToolResult, v []byte) *fail { return readMeta(&r.Meta, v) }},
}

var readResourceResultMembers = fields[protocol.ReadResourceResult]{
	{"contents", required, func(d *Dialect, r *protocol.ReadResourceResult, v []byte) *fail {
		return readList(&r.Contents, v, func(c *protocol.Contents, v []byte) *fail { return readContents(d, c, v) })
	}},
	{"ttlMs", optional, since((*Dialect).ResultType, func(_ *Dialect, r *protocol.ReadResourceResult, v []byte) *fail { return readTTLMs(&r.Cache, v) })},
	{"cacheScope", optional, since((*Dialect).ResultType, func(_ *Dialect, r *protocol.ReadResourceResult, v []byte) *fail { return readScope(&r.Cache, v) })},
	{"_meta", optional, func(_ *Dialect, r *protocol.ReadResourceResult, v []byte) *fail { return readMeta(&r.Meta, v) }},
}

var getPromptResultMembers = fields[protocol.GetPromptResult]{
	{"description", optional, func(_ *Dialect, r *protocol.GetPromptResult, v []byte) *fail {
		return readString(&r.Description, v)
	}},
	{"messages", required, func(d *Dialect, r *protocol.GetPromptResult, v []byte) *fail {
		return readList(&r.Messages, v, func(m *protocol.Message, v []byte) *fail {
			return promptMessageMembers.decode(d, m, v)
		})
	}},
	{"_meta", optional, func(_ *Dialect, r *protocol.GetPromptResult, v []byte) *fail { return readMeta(&r.Meta, v) }},
}

var promptMessageMembers = fields[protocol.Message]{
	{"role", required, func(_ *Dialect, m *protocol.Message, v []byte) *fail { return readRole(&m.Role, v) }},
	{"content", required, func(d *Dialect, m *protocol.Message, v []byte) *fail {
		return readBlock(d, &m.Content, v, inResult)
	}},
}

var completeResultMembers = fields[protocol.CompleteResult]{
	{"completion", required, func(d *Dialect, r *protocol.CompleteResult, v []byte) *fail {
		return completionMembers.decode(d, &r.Completion, v)
	}},
	{"_meta", optional, func(_ *Dialect, r *protocol.CompleteResult, v []byte) *fail { return readMeta(&r.Meta, v) }},
}

var completionMembers = fields[protocol.Completion]{
	{"values", required, func(_ *Dialect, c *protocol.Completion, v []byte) *fail {
		return readList(&c.Values, v, readString)
	}},
	{"total", optional, func(_ *Dialect, c *protocol.Completion, v []byte) *fail { return readInt(&c.Total, v) }},
	{"hasMore", optional, func(_ *Dialect, c *protocol.Completion, v []byte) *fail { return readBool(&c.HasMore, v) }},
}

var inputRequiredMembers = fields[protocol.InputRequiredResult]{
	{"inputRequests", optional, func(d *Dialect, r *protocol.InputRequiredResult, v []byte) *fail {
		return readInputRequests(d, &r.Requests, v)
	}},
	{"requestState", optional, func(_ *Dialect, r *protocol.InputRequiredResult, v []byte) *fail {
		return readStringPtr(&r.State, v)
	}},
	{"_meta", optional, func(_ *Dialect, r *protocol.InputRequiredResult, v []byte) *fail { return readMeta(&r.Meta, v) }},
}

var createTaskMembers = fields[protocol.CreateTaskResult]{
	{"task", optional, since((*Dialect).CoreTasks, func(d *Dialect, r *protocol.CreateTaskResult, v []byte) *fail {
		return readTask(d, &r.Task, v)
	})},
	{"_meta", optional, func(_ *Dialect, r *protocol.CreateTaskResult, v []byte) *fail { return readMeta(&r.Meta, v) }},
}

var listTasksResultMembers = fields[protocol.ListTasksResult]{
	{"tasks", required, func(d *Dialect, r *protocol.ListTasksResult, v []byte) *fail {
		return readList(&r.Tasks, v, func(t *protocol.Task, v []byte) *fail { return readTask(d, t, v) })
	}},
	{"nextCursor", optional, func(_ *Dialect, r *protocol.ListTasksResult, v []byte) *fail { return readStringPtr(&r.Next, v) }},
	{"_meta", optional, func(_ *Dialect, r *protocol.ListTasksResult, v []byte) *fail { return readMeta(&r.Meta, v) }},
}

var createMessageResultMembers = fields[protocol.CreateMessageResult]{
	{"role", required, func(_ *Dialect, r *protocol.CreateMessageResult, v []byte) *fail { return readRole(&r.Role, v) }},
	{"content", required, func(d *Dialect, r *protocol.CreateMessageResult, v []byte) *fail {
		return readSamplingContent(d, &r.Content, v)
	}},
	{"model", required, func(_ *Dialect, r *protocol.CreateMessageResult, v []byte) *fail { return readString(&r.Model, v) }},
	{"stopReason", optional, func(_ *Dialect, r *protocol.CreateMessageResult, v []byte) *fail {
		return readString(&r.StopReason, v)
	}},
	{"_meta", optional, func(_ *Dialect, r *protocol.CreateMessageResult, v []byte) *fail { return readMeta(&r.Meta, v) }},
}

var listRootsResultMembers = fields[protocol.ListRootsResult]{
	{"roots", required, func(d *Dialect, r *protocol.ListRootsResult, v []byte) *fail {
		if jsontext.KindOf(v) == jsontext.KindNull {
			return nil // clients in Go encode a nil slice as null
		}
		return readList(&r.Roots, v, func(t *protocol.Root, v []byte) *fail { return readRoot(d, t, v) })
	}},
	{"_meta", optional, since((*Dialect).Handshake, func(_ *Dialect, r *protocol.ListRootsResult, v []byte) *fail { return readMeta(&r.Meta, v) })},
}

var elicitResultMembers = fields[protocol.ElicitResult]{
	{"action", required, func(_ *Dialect, r *protocol.ElicitResult, v []byte) *fail {
		return readEnum(&r.Action, v, "accept", "decline", "cancel")
	}},
	{"content", optional, func(_ *Dialect, r *protocol.ElicitResult, v []byte) *fail { return readObject(&r.Content, v) }},
	{"_meta", optional, since((*Dialect).Handshake, func(_ *Dialect, r *protocol.ElicitResult, v []byte) *fail { return readMeta(&r.Meta, v) })},
}
