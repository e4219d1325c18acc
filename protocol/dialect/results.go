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
	w.open('{')
	if w.clientResult(r) {
		w.shut('}')
		return w.done()
	}
	if custom, ok := r.(*protocol.CustomResult); ok {
		w.resultMeta(nil, w.customResult(custom.Raw), r, server)
	} else {
		w.resultType(r)
		w.resultMeta(w.result(r), nil, r, server)
	}
	w.shut('}')
	return w.done()
}

// resultType writes the resultType of a result (2026-07-28 basic "Result").
func (w *writer) resultType(r protocol.Result) {
	if !resultType.has(w.d) {
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
		return written(w, readResourceResultMembers, r, r.Meta)
	case *protocol.GetPromptResult:
		return written(w, getPromptResultMembers, r, r.Meta)
	case *protocol.CompleteResult:
		return written(w, completeResultMembers, r, r.Meta)
	case *protocol.InitializeResult:
		w.exists(sessions, "initialize")
		return written(w, initializeResultMembers, r, r.Meta)
	case *protocol.DiscoverResult:
		w.exists(sessionless, "server/discover")
		return written(w, discoverMembers, r, r.Meta)
	case *protocol.ListenResult:
		w.exists(sessionless, "subscriptions/listen")
		return nil
	case *protocol.InputRequiredResult:
		w.exists(sessionless, "input_required")
		if len(r.Requests) == 0 && r.State == nil {
			w.fail("input_required needs requests or a state")
		}
		return written(w, inputRequiredMembers, r, r.Meta)
	default:
		return w.list(r)
	}
}

// written writes the members of a result and returns meta, its _meta.
func written[T any](w *writer, ms members[T], r *T, meta protocol.Meta) protocol.Meta {
	writeInto(w, ms, r)
	return meta
}

func (w *writer) list(r protocol.Result) protocol.Meta {
	switch r := r.(type) {
	case *protocol.Page:
		w.page(r)
		return r.Meta
	case *protocol.ListToolsResult:
		return written(w, listToolsMembers, r, r.Meta)
	case *protocol.ListResourcesResult:
		return written(w, listResourcesMembers, r, r.Meta)
	case *protocol.ListTemplatesResult:
		return written(w, listTemplatesMembers, r, r.Meta)
	case *protocol.ListPromptsResult:
		return written(w, listPromptsMembers, r, r.Meta)
	default:
		return w.taskAnswer(r)
	}
}

func (w *writer) taskAnswer(r protocol.Result) protocol.Meta {
	switch r := r.(type) {
	case *protocol.CreateTaskResult:
		w.exists(coreTasks|sessionless, "a task")
		writeInto(w, createTaskMembers, r)
		if !w.d.CoreTasks() {
			writeInto(w, taskMembers, &r.Task)
		}
		return r.Meta
	case *protocol.TaskResult:
		w.exists(coreTasks|sessionless, "a task")
		if w.d.TaskExtension() {
			w.take(appendDetailedTask(w.d, w.b, &r.Task))
			return r.Meta
		}
		return written(w, taskMembers, &r.Task.Task, r.Meta)
	case *protocol.ListTasksResult:
		w.exists(coreTasks, "tasks/list")
		return written(w, listTasksResultMembers, r, r.Meta)
	default:
		w.fail("result %T: type is not of package protocol", r)
		return nil
	}
}

// clientResult writes the members of r and returns true if r is a result that clients send.
func (w *writer) clientResult(r protocol.Result) bool {
	switch r := r.(type) {
	case *protocol.CreateMessageResult:
		writeInto(w, createMessageResultMembers, r)
	case *protocol.ListRootsResult:
		writeInto(w, listRootsResultMembers, r)
	case *protocol.ElicitResult:
		w.exists(elicits, "elicitation")
		writeInto(w, elicitResultMembers, r)
	default:
		return false
	}
	return true
}

// exists fails unless the writer's revision is in the set. what names the thing that only these
// revisions have.
func (w *writer) exists(in revisions, what string) {
	if !in.has(w.d) {
		w.fail("%s does not exist", what)
	}
}

// resultMeta writes the _meta of a server's result with the members of m, or of the object raw.
// Reserved members take precedence over members of the user.
func (w *writer) resultMeta(m protocol.Meta, raw []byte, r protocol.Result, server []byte) {
	server = w.identity(r, server)
	reserved, value := w.reserved(r)
	if len(m) == 0 && raw == nil && server == nil && reserved == "" {
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
	w.metaMembers(m, raw, func(name string) bool {
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
		if w.d.CoreTasks() && r.ImmediateResponse != "" {
			return keyImmediate, jsontext.Quote(nil, r.ImmediateResponse)
		}
	}
	return "", nil
}

// identity returns the serverInfo to send: the one of a DiscoverResult, or else server. It returns nil
// if results of the revision do not have serverInfo.
func (w *writer) identity(r protocol.Result, server []byte) []byte {
	if !resultType.has(w.d) {
		return nil
	}
	if found, ok := r.(*protocol.DiscoverResult); ok && found.Server.Name != "" {
		info, err := implementationMembers.append(w.d, nil, &found.Server)
		if err != nil {
			w.fail("%w", err)
		}
		return info
	}
	return server
}

// customResult writes an encoded result and its resultType. It does not write the result's _meta,
// but returns it.
func (w *writer) customResult(raw []byte) (meta []byte) {
	if len(raw) > 0 && jsontext.KindOf(raw) != jsontext.KindObject {
		w.fail("a result must be an object")
		return nil
	}
	if _, ok := jsontext.Member(raw, "resultType"); !ok {
		w.resultType(nil)
	}
	return w.custom(raw)
}

// callToolResult writes the members of callToolResultMembers by hand, because it is the most frequent
// result.
func (w *writer) callToolResult(r *protocol.CallToolResult) {
	w.key("content")
	if r.Content == nil && len(r.Structured) > 0 {
		w.b = append(w.b, `[{"type":"text","text":`...)
		w.b = jsontext.QuoteBytes(w.b, r.Structured)
		w.b = append(w.b, "}]"...)
	} else {
		w.blocks(r.Content, inResult)
	}
	if len(r.Structured) > 0 && w.d.StructuredContent() {
		w.key("structuredContent")
		w.b = w.d.appendStructured(w.b, r.Structured, r.Wrapped)
	}
	if r.IsError {
		w.key("isError")
		w.b = append(w.b, "true"...)
	}
}

// page writes a list whose entries are encoded.
func (w *writer) page(r *protocol.Page) {
	size := 128 // for the members around the entries
	for _, e := range r.Entries {
		size += len(e) + 1
	}
	w.b = slices.Grow(w.b, size)
	name := [...]string{"tools", "resources", "resourceTemplates", "prompts"}
	w.key(name[r.Kind])
	w.open('[')
	for _, e := range r.Entries {
		w.comma()
		w.b = append(w.b, e...)
	}
	w.shut(']')
	writeInto(w, pageMembers, r)
}

var pageMembers = cacheable(func(r *protocol.Page) *protocol.CacheHints { return &r.Cache },
	optional("nextCursor", pointer(str), func(r *protocol.Page) **string { return &r.Next }),
)

// DecodeResult decodes the result of a request method, of either side. The method determines the
// type of the result. Acknowledgements are EmptyResult. tasks/result and methods that the revision
// lacks yield CustomResult. A tools/call may yield a CreateTaskResult.
//
// On 2026-07-28 resultType decides first, and an unknown resultType is a fault (basic "Result").
// The fault names the member by its path. Raw JSON in the result aliases the input.
func (d *Dialect) DecodeResult(method string, result []byte) (protocol.Result, *protocol.Fault) {
	r, f := d.decodeResult(method, result)
	if f != nil {
		return nil, f.fault("result")
	}
	return r, nil
}

func (d *Dialect) decodeResult(method string, result []byte) (protocol.Result, *fail) {
	result, f := objectOf(result)
	if f != nil {
		return nil, f
	}
	m, ok := d.methods[method]
	if !ok {
		return decodeCustomResult(d, result)
	}
	kind, f := d.resultKind(m, result)
	switch {
	case f != nil:
		return nil, f
	case kind == "task":
		return decodeCreateTask(d, result)
	case kind == "input_required":
		return decodeInputRequired(d, result)
	case m.result == nil:
		return decodeCustomResult(d, result)
	}
	return m.result(d, result)
}

// resultKind returns "complete", "task" or "input_required". It returns the last two only if the
// method allows such a result.
func (d *Dialect) resultKind(m *method, result []byte) (string, *fail) {
	const complete = "complete"
	if !resultType.has(d) {
		if v, ok := jsontext.Member(result, "task"); ok && jsontext.KindOf(v) != jsontext.KindNull && d.CoreTasks() && m.task {
			return "task", nil
		}
		return complete, nil
	}
	v, ok := jsontext.Member(result, "resultType")
	if !ok {
		return complete, nil
	}
	kind, ok := jsontext.String(v)
	switch {
	case !ok:
		return "", refuse("must be a string").in("resultType")
	case kind == complete,
		kind == "task" && m.client.has(d) && m.task,
		kind == "input_required" && m.rounds:
		return kind, nil
	}
	return "", refuse("is not one that " + m.name + " may have").in("resultType")
}

type resultReader func(d *Dialect, raw []byte) (protocol.Result, *fail)

// resultOf returns a reader of results that uses a table of members.
func resultOf[T any, P interface {
	*T
	protocol.Result
}](ms members[T]) resultReader {
	return func(d *Dialect, raw []byte) (protocol.Result, *fail) {
		t := new(T)
		if f := ms.decode(d, t, raw); f != nil {
			return nil, f
		}
		return P(t), nil
	}
}

func decodeCustomResult(_ *Dialect, raw []byte) (protocol.Result, *fail) {
	if f := repeated(raw); f != nil {
		return nil, f
	}
	return &protocol.CustomResult{Raw: raw}, nil
}

var readEmpty = resultOf(emptyMembers)

// decodeInputRequired refuses a result with neither questions nor state, because the client could
// not continue (2026-07-28 basic/patterns/mrtr).
func decodeInputRequired(d *Dialect, raw []byte) (protocol.Result, *fail) {
	r := new(protocol.InputRequiredResult)
	if f := inputRequiredMembers.decode(d, r, raw); f != nil {
		return nil, f
	}
	if len(r.Requests) == 0 && r.State == nil {
		return nil, refuse("must have inputRequests or requestState")
	}
	return r, nil
}

// decodeCreateTask reads a created task. The task is a member of the result on 2025-11-25, and the
// result itself in the extension (SEP-2663).
func decodeCreateTask(d *Dialect, raw []byte) (protocol.Result, *fail) {
	r := new(protocol.CreateTaskResult)
	if f := createTaskMembers.decode(d, r, raw); f != nil {
		return nil, f
	}
	if d.TaskExtension() {
		if f := taskMembers.decode(d, &r.Task, raw); f != nil {
			return nil, f
		}
		return r, nil
	}
	if text, ok := r.Meta[keyImmediate].(string); ok {
		r.ImmediateResponse = text
		delete(r.Meta, keyImmediate)
	}
	return r, nil
}

// decodeCancelTask reads the result of tasks/cancel. Only 2025-11-25 returns the task.
func decodeCancelTask(d *Dialect, raw []byte) (protocol.Result, *fail) {
	if d.TaskExtension() {
		return readEmpty(d, raw)
	}
	return decodeTaskResult(d, raw)
}

func decodeTaskResult(d *Dialect, raw []byte) (protocol.Result, *fail) {
	r := new(protocol.TaskResult)
	if f := readDetailedTask(d, &r.Task, raw); f != nil {
		return nil, f
	}
	if m := MetaOf(jsontext.Bare(raw)).Raw(); m != nil {
		if f := readMeta(d, &r.Meta, m); f != nil {
			return nil, f.in("_meta")
		}
	}
	return r, nil
}
