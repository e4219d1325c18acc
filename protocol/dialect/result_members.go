package dialect

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/jsonrpc"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// resultMeta is the _meta of a server's result. Encoding writes it with the members that the
// revision reserves; see writer.resultMeta.
var resultMeta = kind[protocol.Meta]{
	read:  meta.read,
	write: func(_ *Dialect, dst []byte, _ *protocol.Meta) ([]byte, error) { return dst, nil },
}

var emptyMembers = rows[protocol.EmptyResult](
	optional("_meta", resultMeta, func(r *protocol.EmptyResult) *protocol.Meta { return &r.Meta }),
)

var initializeResultMembers = rows[protocol.InitializeResult](
	required("protocolVersion", str, func(r *protocol.InitializeResult) *string { return &r.Version }),
	required("capabilities", object(serverCapabilityMembers), func(r *protocol.InitializeResult) *protocol.ServerCapabilities { return &r.Capabilities }),
	required("serverInfo", object(implementationMembers), func(r *protocol.InitializeResult) *protocol.Implementation { return &r.Server }),
	optional("instructions", str, func(r *protocol.InitializeResult) *string { return &r.Instructions }),
	optional("_meta", resultMeta, func(r *protocol.InitializeResult) *protocol.Meta { return &r.Meta }),
)

var discoverMembers = cacheable(func(r *protocol.DiscoverResult) *protocol.CacheHints { return &r.Cache },
	required("supportedVersions", list(str), func(r *protocol.DiscoverResult) *[]string { return &r.Versions }),
	required("capabilities", object(serverCapabilityMembers), func(r *protocol.DiscoverResult) *protocol.ServerCapabilities { return &r.Capabilities }),
	optional("instructions", str, func(r *protocol.DiscoverResult) *string { return &r.Instructions }),
	decoded("_meta", readDiscoverMeta),
)

// readDiscoverMeta reads the server's identity from _meta (2026-07-28 server/discover).
func readDiscoverMeta(d *Dialect, r *protocol.DiscoverResult, v []byte) *fail {
	if f := readMeta(d, &r.Meta, v); f != nil {
		return f
	}
	delete(r.Meta, keyServerInfo)
	if info, ok := jsontext.Member(v, keyServerInfo); ok && jsontext.KindOf(info) != jsontext.KindNull {
		if f := implementationMembers.decode(d, &r.Server, info); f != nil {
			return f.in(keyServerInfo)
		}
	}
	return nil
}

var listenResultMembers = rows[protocol.ListenResult](
	whole("_meta", object(listenMetaMembers)).requiredIn(always),
)

var listenMetaMembers = rows[protocol.ListenResult](
	required(keySubscription, id("a subscription needs an id"), func(r *protocol.ListenResult) *jsonrpc.ID { return &r.ID }),
)

var listToolsMembers = cacheable(func(r *protocol.ListToolsResult) *protocol.CacheHints { return &r.Cache },
	required("tools", list(object(toolMembers)), func(r *protocol.ListToolsResult) *[]protocol.Tool { return &r.Tools }),
	optional("nextCursor", pointer(str), func(r *protocol.ListToolsResult) **string { return &r.Next }),
	optional("_meta", resultMeta, func(r *protocol.ListToolsResult) *protocol.Meta { return &r.Meta }),
)

var listResourcesMembers = cacheable(func(r *protocol.ListResourcesResult) *protocol.CacheHints { return &r.Cache },
	required("resources", list(object(resourceMembers)), func(r *protocol.ListResourcesResult) *[]protocol.Resource { return &r.Resources }),
	optional("nextCursor", pointer(str), func(r *protocol.ListResourcesResult) **string { return &r.Next }),
	optional("_meta", resultMeta, func(r *protocol.ListResourcesResult) *protocol.Meta { return &r.Meta }),
)

var listTemplatesMembers = cacheable(func(r *protocol.ListTemplatesResult) *protocol.CacheHints { return &r.Cache },
	required("resourceTemplates", list(object(templateMembers)), func(r *protocol.ListTemplatesResult) *[]protocol.ResourceTemplate { return &r.Templates }),
	optional("nextCursor", pointer(str), func(r *protocol.ListTemplatesResult) **string { return &r.Next }),
	optional("_meta", resultMeta, func(r *protocol.ListTemplatesResult) *protocol.Meta { return &r.Meta }),
)

var listPromptsMembers = cacheable(func(r *protocol.ListPromptsResult) *protocol.CacheHints { return &r.Cache },
	required("prompts", list(object(promptMembers)), func(r *protocol.ListPromptsResult) *[]protocol.Prompt { return &r.Prompts }),
	optional("nextCursor", pointer(str), func(r *protocol.ListPromptsResult) **string { return &r.Next }),
	optional("_meta", resultMeta, func(r *protocol.ListPromptsResult) *protocol.Meta { return &r.Meta }),
)

// callToolResultMembers are the members of a call's result; see writer.callToolResult.
var callToolResultMembers = rows[protocol.CallToolResult](
	decoded("content", func(d *Dialect, r *protocol.CallToolResult, v []byte) *fail {
		return readBlocks(d, &r.Content, v, inResult)
	}).
		requiredIn(always),
	nullable("structuredContent", structured, func(r *protocol.CallToolResult) *json.RawMessage { return &r.Structured }).since(protocol.Rev20250618),
	optional("isError", boolean, func(r *protocol.CallToolResult) *bool { return &r.IsError }),
	optional("_meta", resultMeta, func(r *protocol.CallToolResult) *protocol.Meta { return &r.Meta }),
)

var readResourceResultMembers = cacheable(func(r *protocol.ReadResourceResult) *protocol.CacheHints { return &r.Cache },
	required("contents", list(contents), func(r *protocol.ReadResourceResult) *[]protocol.Contents { return &r.Contents }),
	optional("_meta", resultMeta, func(r *protocol.ReadResourceResult) *protocol.Meta { return &r.Meta }),
)

var getPromptResultMembers = rows[protocol.GetPromptResult](
	optional("description", str, func(r *protocol.GetPromptResult) *string { return &r.Description }),
	required("messages", list(object(promptMessageMembers)), func(r *protocol.GetPromptResult) *[]protocol.Message { return &r.Messages }),
	optional("_meta", resultMeta, func(r *protocol.GetPromptResult) *protocol.Meta { return &r.Meta }),
)

var promptMessageMembers = rows[protocol.Message](
	required("role", role(protocol.RoleUser), func(m *protocol.Message) *protocol.Role { return &m.Role }),
	whole("content", promptContent).requiredIn(always),
)

// promptContent is the only block of a prompt message.
var promptContent = kind[protocol.Message]{
	read: func(d *Dialect, m *protocol.Message, v []byte) *fail { return readBlock(d, &m.Content, v, inResult) },
	write: func(d *Dialect, dst []byte, m *protocol.Message) ([]byte, error) {
		blocks := m.Blocks()
		if len(blocks) != 1 {
			return dst, fmt.Errorf("a prompt message has exactly one content block, not %d", len(blocks))
		}
		w := d.writer(dst)
		w.block(blocks[0], inResult)
		return w.ended()
	},
}

var completeResultMembers = rows[protocol.CompleteResult](
	required("completion", completion, func(r *protocol.CompleteResult) *protocol.Completion { return &r.Completion }),
	optional("_meta", resultMeta, func(r *protocol.CompleteResult) *protocol.Meta { return &r.Meta }),
)

// completion is a completion. If there are more than 100 values, encoding writes the first 100 and
// sets hasMore (server/utilities/completion "Completion Results").
var completion = kind[protocol.Completion]{
	read: completionMembers.decode,
	write: func(d *Dialect, dst []byte, c *protocol.Completion) ([]byte, error) {
		if n := len(c.Values); n > completionsAtMost {
			c = &protocol.Completion{Values: c.Values[:completionsAtMost], Total: max(c.Total, n), HasMore: true}
		}
		return completionMembers.append(d, dst, c)
	},
}

var completionMembers = rows[protocol.Completion](
	required("values", list(str), func(c *protocol.Completion) *[]string { return &c.Values }),
	optional("total", integer[int](), func(c *protocol.Completion) *int { return &c.Total }),
	optional("hasMore", boolean, func(c *protocol.Completion) *bool { return &c.HasMore }),
)

var inputRequiredMembers = rows[protocol.InputRequiredResult](
	optional("inputRequests", inputRequests, func(r *protocol.InputRequiredResult) *[]protocol.InputRequest { return &r.Requests }),
	optional("requestState", pointer(str), func(r *protocol.InputRequiredResult) **string { return &r.State }),
	optional("_meta", resultMeta, func(r *protocol.InputRequiredResult) *protocol.Meta { return &r.Meta }),
)

// createTaskMembers are the members of a created task. In the extension the members of the task are
// added (SEP-2663).
var createTaskMembers = rows[protocol.CreateTaskResult](
	required("task", object(taskMembers), func(r *protocol.CreateTaskResult) *protocol.Task { return &r.Task }).only(coreTasks),
	optional("_meta", resultMeta, func(r *protocol.CreateTaskResult) *protocol.Meta { return &r.Meta }),
)

var listTasksResultMembers = rows[protocol.ListTasksResult](
	required("tasks", list(object(taskMembers)), func(r *protocol.ListTasksResult) *[]protocol.Task { return &r.Tasks }),
	optional("nextCursor", pointer(str), func(r *protocol.ListTasksResult) **string { return &r.Next }),
	optional("_meta", resultMeta, func(r *protocol.ListTasksResult) *protocol.Meta { return &r.Meta }),
)

var createMessageResultMembers = rows[protocol.CreateMessageResult](
	required("role", role(protocol.RoleAssistant), func(r *protocol.CreateMessageResult) *protocol.Role { return &r.Role }),
	required("content", samplingContent, func(r *protocol.CreateMessageResult) *[]protocol.Block { return &r.Content }),
	required("model", str, func(r *protocol.CreateMessageResult) *string { return &r.Model }),
	optional("stopReason", str, func(r *protocol.CreateMessageResult) *string { return &r.StopReason }),
	optional("_meta", meta, func(r *protocol.CreateMessageResult) *protocol.Meta { return &r.Meta }),
)

var listRootsResultMembers = rows[protocol.ListRootsResult](
	required("roots", roots, func(r *protocol.ListRootsResult) *[]protocol.Root { return &r.Roots }),
	optional("_meta", meta, func(r *protocol.ListRootsResult) *protocol.Meta { return &r.Meta }).only(sessions),
)

var roots = kind[[]protocol.Root]{
	read: func(d *Dialect, to *[]protocol.Root, v []byte) *fail {
		if jsontext.KindOf(v) == jsontext.KindNull {
			return nil // clients in Go encode a nil slice as null
		}
		return list(object(rootMembers)).read(d, to, v)
	},
	write: list(object(rootMembers)).write,
}

var elicitResultMembers = rows[protocol.ElicitResult](
	required("action", enum("accept", "decline", "cancel"), func(r *protocol.ElicitResult) *string { return &r.Action }),
	optional("content", answers, func(r *protocol.ElicitResult) *json.RawMessage { return &r.Content }),
	optional("_meta", meta, func(r *protocol.ElicitResult) *protocol.Meta { return &r.Meta }).only(sessions),
)

// cacheable returns the table of a result that a client may cache. at returns its CacheHints.
func cacheable[T any](at func(*T) *protocol.CacheHints, all ...member[T]) members[T] {
	return rows(append(all, optional("ttlMs", ttlMs, at).only(sessionless), optional("cacheScope", cacheScope, at).only(sessionless))...)
}

// ttlMs and cacheScope are how long a client may cache a result, and for whom (2026-07-28
// server/utilities/caching). Decoding reads a negative or absent ttlMs as 0.
var (
	ttlMs = kind[protocol.CacheHints]{
		read: readTTLMs,
		write: func(_ *Dialect, dst []byte, c *protocol.CacheHints) ([]byte, error) {
			return strconv.AppendInt(dst, max(0, c.TTL.Milliseconds()), 10), nil
		},
	}
	cacheScope = kind[protocol.CacheHints]{
		read: readScope,
		write: func(_ *Dialect, dst []byte, c *protocol.CacheHints) ([]byte, error) {
			if c.Private {
				return append(dst, `"private"`...), nil
			}
			return append(dst, `"public"`...), nil
		},
	}
)

func readTTLMs(d *Dialect, c *protocol.CacheHints, v []byte) *fail {
	var ms int64
	if f := readInt(d, &ms, v); f != nil {
		return f
	}
	const longest = int64(1<<63-1) / int64(time.Millisecond)
	c.TTL = time.Duration(min(max(ms, 0), longest)) * time.Millisecond
	return nil
}

func readScope(_ *Dialect, c *protocol.CacheHints, v []byte) *fail {
	var scope string
	f := readEnum(&scope, v, "public", "private")
	c.Private = scope != "public"
	return f
}
