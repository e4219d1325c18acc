package dialect

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// AppendParams appends the params of a request or notification, always as an object. m becomes its
// _meta and may be nil. A client request of 2026-07-28 always has the required members of _meta.
// AppendParams returns an error if the revision lacks the method. It accepts methods that are not
// in the specification.
func (d *Dialect) AppendParams(dst []byte, p protocol.Params, m *protocol.RequestMeta) ([]byte, error) {
	w := d.writer(dst)
	method := p.Method()
	custom, isCustom := p.(*protocol.CustomParams)
	row, ok := d.methods[method]
	if !ok && !isCustom {
		w.fail("%s does not exist", method)
		return w.done()
	}
	meta := metaOf{RequestMeta: m, request: ok && row.client && row.request}
	w.open('{')
	if isCustom {
		meta.raw = w.custom(custom.Raw)
		meta.request = !strings.HasPrefix(method, "notifications/")
	} else if row.params.write != nil {
		*w = row.params.write(*w, p)
	}
	w.requestMeta(meta)
	w.shut('}')
	return w.done()
}

// custom writes the members of params outside the specification, and returns their _meta.
func (w *writer) custom(raw []byte) (meta []byte) {
	if len(raw) > 0 && jsontext.KindOf(raw) != jsontext.KindObject {
		w.fail("params must be an object")
	}
	for key, v := range jsontext.Members(raw) {
		if key.Is("_meta") {
			meta = v
			continue
		}
		w.keyOf(key.String())
		w.raw(v)
	}
	return meta
}

// Each of the following functions writes the params of one method; see coded.

func writeInitialize(w writer, p *protocol.InitializeParams) writer {
	w.str("protocolVersion", p.Version)
	w.key("capabilities")
	w.b = w.d.AppendClientCapabilities(w.b, &p.Capabilities)
	w.implementation("clientInfo", &p.Client)
	return w
}

func writeCallTool(w writer, p *protocol.CallToolParams) writer {
	w.str("name", p.Name)
	if p.Quoted {
		w.str("arguments", string(p.Arguments))
	} else {
		w.objectMember("arguments", p.Arguments)
	}
	w.inputs(&p.Inputs)
	w.task(p.Task)
	return w
}

func writeReadResource(w writer, p *protocol.ReadResourceParams) writer {
	w.str("uri", p.URI)
	w.inputs(&p.Inputs)
	return w
}

func writeSubscribe(w writer, p *protocol.SubscribeParams) writer {
	w.str("uri", p.URI)
	return w
}

func writeUnsubscribe(w writer, p *protocol.UnsubscribeParams) writer {
	w.str("uri", p.URI)
	return w
}

func writeListen(w writer, p *protocol.ListenParams) writer {
	w.filter(&p.Filter)
	return w
}

func writeGetPrompt(w writer, p *protocol.GetPromptParams) writer {
	w.str("name", p.Name)
	w.stringMap("arguments", p.Arguments)
	w.inputs(&p.Inputs)
	return w
}

func writeComplete(w writer, p *protocol.CompleteParams) writer {
	w.key("ref")
	w.open('{')
	if p.Template != "" {
		w.str("type", "ref/resource")
		w.str("uri", p.Template)
	} else {
		w.str("type", "ref/prompt")
		w.str("name", p.Prompt)
	}
	w.shut('}')
	w.key("argument")
	w.open('{')
	w.str("name", p.Argument)
	w.str("value", p.Value)
	w.shut('}')
	if p.Context != nil && w.d.context {
		w.key("context")
		w.open('{')
		w.stringMap("arguments", p.Context)
		w.shut('}')
	}
	return w
}

func writeSetLevel(w writer, p *protocol.SetLevelParams) writer {
	w.str("level", string(p.Level))
	return w
}

func writeGetTask(w writer, p *protocol.GetTaskParams) writer {
	w.str("taskId", p.ID)
	return w
}

func writeTaskResult(w writer, p *protocol.TaskResultParams) writer {
	w.str("taskId", p.ID)
	return w
}

func writeListTasks(w writer, p *protocol.ListTasksParams) writer {
	w.textPtr("cursor", p.Cursor)
	return w
}

func writeCancelTask(w writer, p *protocol.CancelTaskParams) writer {
	w.str("taskId", p.ID)
	return w
}

func writeUpdateTask(w writer, p *protocol.UpdateTaskParams) writer {
	w.str("taskId", p.ID)
	w.responses(p.Responses)
	return w
}

func writeCreateMessage(w writer, p *protocol.CreateMessageParams) writer {
	w.createMessage(p)
	return w
}

func writeElicit(w writer, p *protocol.ElicitParams) writer {
	w.elicit(p)
	w.task(p.Task)
	return w
}

func writeCancelled(w writer, p *protocol.CancelledParams) writer {
	switch {
	case !p.ID.IsZero():
		w.key("requestId")
		w.b = p.ID.Append(w.b)
	case !w.d.optionalCancelID:
		w.fail("a cancellation needs the id of a request")
	}
	w.text("reason", p.Reason)
	return w
}

func writeProgress(w writer, p *protocol.ProgressParams) writer {
	if p.Token.IsZero() {
		w.fail("progress needs a token")
		return w
	}
	w.key("progressToken")
	w.b = p.Token.Append(w.b)
	w.float("progress", p.Done)
	w.floatPtr("total", p.Total)
	if w.d.progressMessage {
		w.text("message", p.Message)
	}
	return w
}

func writeLog(w writer, p *protocol.LogParams) writer {
	w.str("level", string(p.Level))
	w.text("logger", p.Logger)
	w.key("data")
	w.valueOrNull(p.Data)
	return w
}

func writeResourceUpdated(w writer, p *protocol.ResourceUpdatedParams) writer {
	w.str("uri", p.URI)
	return w
}

func writeElicitationComplete(w writer, p *protocol.ElicitationCompleteParams) writer {
	w.str("elicitationId", p.ID)
	return w
}

func writeTaskStatus(w writer, p *protocol.TaskStatusParams) writer {
	w.taskMembers(&p.Task)
	return w
}

func writeTask(w writer, p *protocol.TaskParams) writer {
	w.detailedTask(&p.Task)
	return w
}

func writeAcknowledged(w writer, p *protocol.AcknowledgedParams) writer {
	w.filter(&p.Filter)
	return w
}

// valueOrNull writes a required member of any type.
func (w *writer) valueOrNull(v []byte) {
	if len(v) == 0 {
		v = []byte("null")
	}
	w.raw(v)
}

// inputs writes the client's answers for the next round (2026-07-28 basic/patterns/mrtr).
func (w *writer) inputs(in *protocol.Inputs) {
	if !w.d.inputRounds {
		return
	}
	if in.Responses != nil {
		w.responses(in.Responses)
	}
	w.textPtr("requestState", in.State)
}

func (w *writer) responses(m map[string]json.RawMessage) {
	w.key("inputResponses")
	w.open('{')
	for _, k := range slices.Sorted(maps.Keys(m)) {
		w.keyOf(k)
		w.object(m[k])
	}
	w.shut('}')
}

// task writes the request to run as a task (2025-11-25 basic/utilities/tasks).
func (w *writer) task(t *protocol.TaskRequest) {
	if t == nil || !w.d.coreTasks {
		return
	}
	w.key("task")
	w.open('{')
	if t.TTL != nil {
		w.integer("ttl", *t.TTL)
	}
	w.shut('}')
}

// stringMap writes an object of strings, sorted by name. It writes nothing if m is nil.
func (w *writer) stringMap(name string, m map[string]string) {
	if m == nil {
		return
	}
	w.key(name)
	w.open('{')
	for _, k := range slices.Sorted(maps.Keys(m)) {
		w.keyOf(k)
		w.b = jsontext.Quote(w.b, m[k])
	}
	w.shut('}')
}

// filter writes a subscription filter without the members that are false (2026-07-28
// basic/patterns/subscriptions).
func (w *writer) filter(f *protocol.SubscriptionFilter) {
	w.key("notifications")
	w.open('{')
	w.flag("toolsListChanged", f.Tools)
	w.flag("promptsListChanged", f.Prompts)
	w.flag("resourcesListChanged", f.Resources)
	w.someTexts("resourceSubscriptions", f.URIs)
	if f.Tasks != nil {
		w.texts("taskIds", f.Tasks)
	}
	w.shut('}')
}
