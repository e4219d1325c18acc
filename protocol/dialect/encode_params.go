package dialect

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// AppendParams appends the params of a request or notification, always an
// object. m becomes its _meta and may be nil; a request of 2026-07-28 carries
// the required members whatever m says. Params of a method that the revision
// lacks are an error, those of methods outside the specification are not.
func (d *Dialect) AppendParams(dst []byte, p protocol.Params, m *protocol.RequestMeta) ([]byte, error) {
	w := d.writer(dst)
	method := p.Method()
	custom, isCustom := p.(*protocol.CustomParams)
	if _, ok := d.methods[method]; !ok && !isCustom {
		w.fail("%s does not exist", method)
		return w.done()
	}
	meta := metaOf{RequestMeta: m, request: d.ClientMethod(method)}
	w.open('{')
	if isCustom {
		meta.raw = w.custom(custom.Raw)
		meta.request = !strings.HasPrefix(method, "notifications/")
	} else {
		w.params(p)
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

// params writes the members of params. A type that has none is not named.
func (w *writer) params(p protocol.Params) {
	switch p := p.(type) {
	case *protocol.InitializeParams:
		w.str("protocolVersion", p.Version)
		w.key("capabilities")
		w.b = w.d.AppendClientCapabilities(w.b, &p.Capabilities)
		w.implementation("clientInfo", &p.Client)
	case *protocol.ListParams:
		w.textPtr("cursor", p.Cursor)
	case *protocol.CallToolParams:
		w.callTool(p)
	case *protocol.ReadResourceParams:
		w.str("uri", p.URI)
		w.inputs(&p.Inputs)
	case *protocol.GetPromptParams:
		w.str("name", p.Name)
		w.stringMap("arguments", p.Arguments)
		w.inputs(&p.Inputs)
	case *protocol.SubscribeParams:
		w.str("uri", p.URI)
	case *protocol.UnsubscribeParams:
		w.str("uri", p.URI)
	case *protocol.ListenParams:
		w.filter(&p.Filter)
	case *protocol.CompleteParams:
		w.complete(p)
	case *protocol.SetLevelParams:
		w.str("level", string(p.Level))
	case *protocol.CreateMessageParams:
		w.createMessage(p)
	case *protocol.ElicitParams:
		w.elicit(p)
		w.task(p.Task)
	default:
		w.taskParams(p)
	}
}

func (w *writer) taskParams(p protocol.Params) {
	switch p := p.(type) {
	case *protocol.GetTaskParams:
		w.str("taskId", p.ID)
	case *protocol.TaskResultParams:
		w.str("taskId", p.ID)
	case *protocol.CancelTaskParams:
		w.str("taskId", p.ID)
	case *protocol.ListTasksParams:
		w.textPtr("cursor", p.Cursor)
	case *protocol.UpdateTaskParams:
		w.str("taskId", p.ID)
		w.responses(p.Responses)
	default:
		w.notification(p)
	}
}

func (w *writer) notification(p protocol.Params) {
	switch p := p.(type) {
	case *protocol.CancelledParams:
		w.cancelled(p)
	case *protocol.ProgressParams:
		w.progress(p)
	case *protocol.LogParams:
		w.str("level", string(p.Level))
		w.text("logger", p.Logger)
		w.key("data")
		w.valueOrNull(p.Data)
	case *protocol.ResourceUpdatedParams:
		w.str("uri", p.URI)
	case *protocol.ElicitationCompleteParams:
		w.str("elicitationId", p.ID)
	case *protocol.TaskStatusParams:
		w.taskMembers(&p.Task)
	case *protocol.TaskParams:
		w.detailedTask(&p.Task)
	case *protocol.AcknowledgedParams:
		w.filter(&p.Filter)
	}
}

// valueOrNull writes a required member of any type.
func (w *writer) valueOrNull(v []byte) {
	if len(v) == 0 {
		v = []byte("null")
	}
	w.raw(v)
}

func (w *writer) callTool(p *protocol.CallToolParams) {
	w.str("name", p.Name)
	if p.Quoted {
		w.str("arguments", string(p.Arguments))
	} else {
		w.objectMember("arguments", p.Arguments)
	}
	w.inputs(&p.Inputs)
	w.task(p.Task)
}

// inputs writes the answers of an input round (2026-07-28 basic/patterns/mrtr).
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

// task writes the wish for a task (2025-11-25 basic/utilities/tasks).
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

// stringMap writes names sorted; left out where m is nil.
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

// filter: what is false is left out (2026-07-28 basic/patterns/subscriptions).
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

func (w *writer) complete(p *protocol.CompleteParams) {
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
}

func (w *writer) cancelled(p *protocol.CancelledParams) {
	switch {
	case !p.ID.IsZero():
		w.key("requestId")
		w.b = p.ID.Append(w.b)
	case !w.d.optionalCancelID:
		w.fail("a cancellation needs the id of a request")
	}
	w.text("reason", p.Reason)
}

func (w *writer) progress(p *protocol.ProgressParams) {
	if p.Token.IsZero() {
		w.fail("progress needs a token")
		return
	}
	w.key("progressToken")
	w.b = p.Token.Append(w.b)
	w.float("progress", p.Done)
	w.floatPtr("total", p.Total)
	if w.d.progressMessage {
		w.text("message", p.Message)
	}
}
