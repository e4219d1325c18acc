package dialect

import (
	"slices"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// AppendResult appends a result object. It returns an error if the revision lacks the result.
// server is the serverInfo written by AppendImplementation, for revisions that have it in _meta
// (2026-07-28 basic "_meta"). It may be nil.
//
// Results of a client never have serverInfo or resultType, because on 2026-07-28 they are answers
// inside a request. A message without role gets the role user, and a sampling result the role
// assistant.
//
// A CallToolResult with structured content and a nil Content gets a text block with a copy of the
// structured content, for older clients and models (server/tools "Structured Content"). An empty
// Content that is not nil stays empty.
func (d *Dialect) AppendResult(dst []byte, r protocol.Result, server []byte) ([]byte, error) {
	w := d.writer(dst)
	if clientResult(r) {
		w.clientResult(r)
		return w.done()
	}
	w.open('{')
	if custom, ok := r.(*protocol.CustomResult); ok {
		w.customResult(custom.Raw, server)
	} else {
		w.resultType(r)
		w.resultMeta(w.result(r), r, server)
	}
	w.shut('}')
	return w.done()
}

// resultType writes the resultType of a result (2026-07-28 basic "Result").
func (w *writer) resultType(r protocol.Result) {
	if !w.d.resultType {
		return
	}
	switch r.(type) {
	case *protocol.InputRequiredResult:
		w.str("resultType", "input_required")
	case *protocol.CreateTaskResult:
		w.str("resultType", "task")
	default:
		w.str("resultType", "complete")
	}
}

// result writes the members of a result and returns its _meta.
func (w *writer) result(r protocol.Result) protocol.Meta {
	switch r := r.(type) {
	case *protocol.EmptyResult:
		return r.Meta
	case *protocol.CallToolResult:
		w.callToolResult(r)
		return r.Meta
	case *protocol.ReadResourceResult:
		w.readResourceResult(r)
		return r.Meta
	case *protocol.GetPromptResult:
		w.text("description", r.Description)
		w.promptMessages(r.Messages)
		return r.Meta
	case *protocol.CompleteResult:
		w.completion(&r.Completion)
		return r.Meta
	case *protocol.InitializeResult:
		w.initializeResult(r)
		return r.Meta
	case *protocol.DiscoverResult:
		w.discoverResult(r)
		return r.Meta
	case *protocol.ListenResult:
		w.exists(w.d.listenStream, "subscriptions/listen")
		return nil
	case *protocol.InputRequiredResult:
		w.inputRequired(r)
		return r.Meta
	default:
		return w.list(r)
	}
}

func (w *writer) list(r protocol.Result) protocol.Meta {
	switch r := r.(type) {
	case *protocol.Page:
		w.page(r)
		return r.Meta
	case *protocol.ListToolsResult:
		w.openList(protocol.ListTools)
		for i := range r.Tools {
			w.comma()
			w.tool(&r.Tools[i])
		}
		w.shutList(r.Next, r.Cache)
		return r.Meta
	case *protocol.ListResourcesResult:
		w.openList(protocol.ListResources)
		for i := range r.Resources {
			w.comma()
			w.resource(&r.Resources[i])
		}
		w.shutList(r.Next, r.Cache)
		return r.Meta
	case *protocol.ListTemplatesResult:
		w.openList(protocol.ListTemplates)
		for i := range r.Templates {
			w.comma()
			w.template(&r.Templates[i])
		}
		w.shutList(r.Next, r.Cache)
		return r.Meta
	case *protocol.ListPromptsResult:
		w.openList(protocol.ListPrompts)
		for i := range r.Prompts {
			w.comma()
			w.prompt(&r.Prompts[i])
		}
		w.shutList(r.Next, r.Cache)
		return r.Meta
	default:
		return w.taskAnswer(r)
	}
}

func (w *writer) taskAnswer(r protocol.Result) protocol.Meta {
	switch r := r.(type) {
	case *protocol.CreateTaskResult:
		return w.createTask(r)
	case *protocol.TaskResult:
		w.taskResult(r)
		return r.Meta
	case *protocol.ListTasksResult:
		w.listTasks(r)
		return r.Meta
	default:
		w.fail("result %T: %w", r, errUnknownType)
		return nil
	}
}

// exists fails if is is false: the revision lacks the thing named by what.
func (w *writer) exists(is bool, what string) {
	if !is {
		w.fail("%s does not exist", what)
	}
}

// resultMeta writes the _meta of a server's result. Reserved members take precedence over members
// of the user.
func (w *writer) resultMeta(m protocol.Meta, r protocol.Result, server []byte) {
	server = w.identity(r, server)
	reserved, value := w.reserved(r)
	if len(m) == 0 && server == nil && reserved == "" {
		return
	}
	w.key("_meta")
	w.open('{')
	if reserved != "" {
		w.key(reserved)
		w.b = append(w.b, value...)
	}
	if server != nil {
		w.key(keyServerInfo)
		w.b = append(w.b, server...)
	}
	w.metaMembers(m, func(name string) bool {
		return reserved != "" && name == reserved || server != nil && name == keyServerInfo
	})
	w.shut('}')
}

// reserved returns a member of _meta that only this type of result has. If there is no such member,
// name is empty.
func (w *writer) reserved(r protocol.Result) (name string, value []byte) {
	switch r := r.(type) {
	case *protocol.ListenResult:
		return keySubscription, r.ID.Append(nil)
	case *protocol.CreateTaskResult:
		if w.d.coreTasks && r.ImmediateResponse != "" {
			return keyImmediate, jsontext.Quote(nil, r.ImmediateResponse)
		}
	}
	return "", nil
}

// identity returns the serverInfo to send: the one of a DiscoverResult, or else server. It returns nil
// if results of the revision do not have serverInfo.
func (w *writer) identity(r protocol.Result, server []byte) []byte {
	if !w.d.resultType {
		return nil
	}
	if found, ok := r.(*protocol.DiscoverResult); ok && found.Server.Name != "" {
		return w.d.AppendImplementation(nil, &found.Server)
	}
	return server
}

// customResult writes an encoded result and adds the members that the revision requires in every
// result.
func (w *writer) customResult(raw, server []byte) {
	if len(raw) > 0 && jsontext.KindOf(raw) != jsontext.KindObject {
		w.fail("a result must be an object")
		return
	}
	if _, ok := jsontext.Member(raw, "resultType"); !ok {
		w.resultType(nil)
	}
	var meta []byte
	for key, v := range jsontext.Members(raw) {
		if key.Is("_meta") {
			meta = v
			continue
		}
		w.keyOf(key.String())
		w.raw(v)
	}
	server = w.identity(nil, server)
	if meta == nil && server == nil {
		return
	}
	w.key("_meta")
	w.open('{')
	if server != nil {
		w.key(keyServerInfo)
		w.b = append(w.b, server...)
	}
	for key, v := range jsontext.Members(meta) {
		if server == nil || !key.Is(keyServerInfo) {
			w.keyOf(key.String())
			w.raw(v)
		}
	}
	w.shut('}')
}

func (w *writer) callToolResult(r *protocol.CallToolResult) {
	if r.Content == nil && len(r.Structured) > 0 {
		w.key("content")
		w.b = append(w.b, `[{"type":"text","text":`...)
		w.b = jsontext.QuoteBytes(w.b, r.Structured)
		w.b = append(w.b, "}]"...)
	} else {
		w.blocks("content", r.Content, inResult)
	}
	w.structured(r.Structured, r.Wrapped)
	w.flag("isError", r.IsError)
}

func (w *writer) readResourceResult(r *protocol.ReadResourceResult) {
	w.key("contents")
	w.open('[')
	for i := range r.Contents {
		w.comma()
		w.contents(&r.Contents[i])
	}
	w.shut(']')
	w.cache(r.Cache)
}

func (w *writer) promptMessages(list []protocol.Message) {
	w.key("messages")
	w.open('[')
	for i := range list {
		w.comma()
		w.open('{')
		w.role(list[i].Role, protocol.RoleUser)
		if blocks := list[i].Blocks(); len(blocks) == 1 {
			w.key("content")
			w.block(blocks[0], inResult)
		} else {
			w.fail("a prompt message has exactly one content block, not %d", len(blocks))
		}
		w.shut('}')
	}
	w.shut(']')
}

// completion writes a completion. If there are more than 100 values, it writes the first 100 and
// sets hasMore (server/utilities/completion "Completion Results").
func (w *writer) completion(c *protocol.Completion) {
	values, total, more := c.Values, c.Total, c.HasMore
	if len(values) > completionsAtMost {
		total, more = max(total, len(values)), true
		values = values[:completionsAtMost]
	}
	w.key("completion")
	w.open('{')
	w.texts("values", values)
	w.count("total", int64(total))
	w.flag("hasMore", more)
	w.shut('}')
}

func (w *writer) initializeResult(r *protocol.InitializeResult) {
	w.exists(w.d.handshake, "initialize")
	w.str("protocolVersion", r.Version)
	w.key("capabilities")
	w.b = w.d.AppendServerCapabilities(w.b, &r.Capabilities)
	w.implementation("serverInfo", &r.Server)
	w.text("instructions", r.Instructions)
}

func (w *writer) discoverResult(r *protocol.DiscoverResult) {
	w.exists(!w.d.handshake, "server/discover")
	w.texts("supportedVersions", r.Versions)
	w.key("capabilities")
	w.b = w.d.AppendServerCapabilities(w.b, &r.Capabilities)
	w.text("instructions", r.Instructions)
	w.cache(r.Cache)
}

func (w *writer) inputRequired(r *protocol.InputRequiredResult) {
	w.exists(w.d.inputRounds, "input_required")
	if len(r.Requests) == 0 && r.State == nil {
		w.fail("input_required needs requests or a state")
	}
	if len(r.Requests) > 0 {
		w.inputRequests(r.Requests)
	}
	w.textPtr("requestState", r.State)
}

// cache writes how long a client may cache a result (2026-07-28 server/utilities/caching).
func (w *writer) cache(c protocol.CacheHints) {
	if !w.d.resultType {
		return
	}
	w.integer("ttlMs", max(0, c.TTL.Milliseconds()))
	scope := "public"
	if c.Private {
		scope = "private"
	}
	w.str("cacheScope", scope)
}

func (w *writer) openList(kind protocol.ListKind) {
	name := [...]string{"tools", "resources", "resourceTemplates", "prompts"}
	w.key(name[kind])
	w.open('[')
}

func (w *writer) shutList(next *string, c protocol.CacheHints) {
	w.shut(']')
	w.textPtr("nextCursor", next)
	w.cache(c)
}

func (w *writer) page(r *protocol.Page) {
	size := 128 // for the members around the entries
	for _, e := range r.Entries {
		size += len(e) + 1
	}
	w.b = slices.Grow(w.b, size)
	w.openList(r.Kind)
	for _, e := range r.Entries {
		w.comma()
		w.b = append(w.b, e...)
	}
	w.shutList(r.Next, r.Cache)
}

// createTask writes a created task. The task is a member of the result on 2025-11-25, and the
// result itself in the extension (SEP-2663).
func (w *writer) createTask(r *protocol.CreateTaskResult) protocol.Meta {
	w.exists(w.d.coreTasks || w.d.taskExtension, "a task")
	if !w.d.coreTasks {
		w.taskMembers(&r.Task)
		return r.Meta
	}
	w.key("task")
	w.open('{')
	w.taskMembers(&r.Task)
	w.shut('}')
	return r.Meta
}

func (w *writer) taskResult(r *protocol.TaskResult) {
	w.exists(w.d.coreTasks || w.d.taskExtension, "a task")
	if w.d.taskExtension {
		w.detailedTask(&r.Task)
		return
	}
	w.taskMembers(&r.Task.Task)
}

func (w *writer) listTasks(r *protocol.ListTasksResult) {
	w.exists(w.d.coreTasks, "tasks/list")
	w.key("tasks")
	w.open('[')
	for i := range r.Tasks {
		w.comma()
		w.open('{')
		w.taskMembers(&r.Tasks[i])
		w.shut('}')
	}
	w.shut(']')
	w.textPtr("nextCursor", r.Next)
}

// clientResult reports whether r is a result that clients send.
func clientResult(r protocol.Result) bool {
	switch r.(type) {
	case *protocol.CreateMessageResult, *protocol.ListRootsResult, *protocol.ElicitResult:
		return true
	}
	return false
}

func (w *writer) clientResult(r protocol.Result) {
	w.open('{')
	switch r := r.(type) {
	case *protocol.CreateMessageResult:
		w.role(r.Role, protocol.RoleAssistant)
		w.samplingContent(r.Content)
		w.str("model", r.Model)
		w.text("stopReason", r.StopReason)
		w.anyMeta(r.Meta)
	case *protocol.ListRootsResult:
		w.key("roots")
		w.open('[')
		for i := range r.Roots {
			w.comma()
			w.root(&r.Roots[i])
		}
		w.shut(']')
		w.handshakeOnlyMeta(r.Meta)
	case *protocol.ElicitResult:
		w.exists(w.d.elicits, "elicitation")
		w.str("action", r.Action)
		w.elicitContent(r.Content)
		w.handshakeOnlyMeta(r.Meta)
	}
	w.shut('}')
}

// handshakeOnlyMeta writes the _meta of an answer to elicitation or roots, which does not exist on
// 2026-07-28.
func (w *writer) handshakeOnlyMeta(m protocol.Meta) {
	if w.d.handshake {
		w.anyMeta(m)
	}
}
