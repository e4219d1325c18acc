package dialect

import (
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// initialize holds the capabilities raw, because their meaning depends on the version.
type initialize struct {
	protocol.InitializeParams
	capabilities []byte
}

var initializeMembers = fields[initialize]{
	{"protocolVersion", required, func(_ *Dialect, p *initialize, v []byte) *fail { return readString(&p.Version, v) }},
	{"capabilities", required, func(_ *Dialect, p *initialize, v []byte) *fail { return readObject(&p.capabilities, v) }},
	{"clientInfo", required, func(d *Dialect, p *initialize, v []byte) *fail {
		return implementationMembers.decode(d, &p.Client, v)
	}},
}

// decodeInitialize decodes the params of initialize. It reads the capabilities by the revision that
// will be negotiated, not by the dialect of the caller.
func decodeInitialize(d *Dialect, o jsontext.Object) (protocol.Params, *fail) {
	var p initialize
	if f := initializeMembers.decodeObject(d, &p, o); f != nil {
		return nil, f
	}
	if f := readClientCapabilities(negotiated(d.all, p.Version), &p.Capabilities, p.capabilities); f != nil {
		return nil, f.in("capabilities")
	}
	return &p.InitializeParams, nil
}

var listMembers = fields[protocol.ListParams]{
	{"cursor", optional, func(_ *Dialect, p *protocol.ListParams, v []byte) *fail { return readStringPtr(&p.Cursor, v) }},
}

var callToolMembers = fields[protocol.CallToolParams]{
	{"name", required, func(_ *Dialect, p *protocol.CallToolParams, v []byte) *fail { return readString(&p.Name, v) }},
	{"arguments", optional, func(_ *Dialect, p *protocol.CallToolParams, v []byte) *fail { return readArguments(p, v) }},
	{"task", optional, func(d *Dialect, p *protocol.CallToolParams, v []byte) *fail { return readTaskRequest(d, &p.Task, v) }},
	{"inputResponses", optional, func(d *Dialect, p *protocol.CallToolParams, v []byte) *fail {
		return readResponses(d, &p.Inputs, v)
	}},
	{"requestState", optional, func(d *Dialect, p *protocol.CallToolParams, v []byte) *fail {
		return readState(d, &p.Inputs, v)
	}},
}

// readArguments reads the arguments of a tool. It also accepts a string that contains the object.
func readArguments(p *protocol.CallToolParams, v []byte) *fail {
	if text, ok := jsontext.String(v); ok && jsontext.KindOf([]byte(text)) == jsontext.KindObject &&
		jsontext.Check([]byte(text), jsontext.DefaultLimits()) == nil {
		v, p.Quoted = []byte(text), true
	}
	return readObject(&p.Arguments, v)
}

var readResourceMembers = fields[protocol.ReadResourceParams]{
	{"uri", required, func(_ *Dialect, p *protocol.ReadResourceParams, v []byte) *fail { return readString(&p.URI, v) }},
	{"inputResponses", optional, func(d *Dialect, p *protocol.ReadResourceParams, v []byte) *fail {
		return readResponses(d, &p.Inputs, v)
	}},
	{"requestState", optional, func(d *Dialect, p *protocol.ReadResourceParams, v []byte) *fail {
		return readState(d, &p.Inputs, v)
	}},
}

var getPromptMembers = fields[protocol.GetPromptParams]{
	{"name", required, func(_ *Dialect, p *protocol.GetPromptParams, v []byte) *fail { return readString(&p.Name, v) }},
	{"arguments", optional, func(_ *Dialect, p *protocol.GetPromptParams, v []byte) *fail {
		return readMap(&p.Arguments, v, readString)
	}},
	{"inputResponses", optional, func(d *Dialect, p *protocol.GetPromptParams, v []byte) *fail {
		return readResponses(d, &p.Inputs, v)
	}},
	{"requestState", optional, func(d *Dialect, p *protocol.GetPromptParams, v []byte) *fail {
		return readState(d, &p.Inputs, v)
	}},
}

// readResponses reads inputResponses. It ignores the member before 2026-07-28.
func readResponses(d *Dialect, in *protocol.Inputs, v []byte) *fail {
	if !d.inputRounds {
		return nil
	}
	return readObjects(&in.Responses, v)
}

func readState(d *Dialect, in *protocol.Inputs, v []byte) *fail {
	if !d.inputRounds {
		return nil
	}
	return readStringPtr(&in.State, v)
}

// readTaskRequest reads the member task. Revisions without core tasks ignore it (SEP-2663).
func readTaskRequest(d *Dialect, to **protocol.TaskRequest, v []byte) *fail {
	if !d.coreTasks {
		return nil
	}
	*to = new(protocol.TaskRequest)
	return taskRequestMembers.decode(d, *to, v)
}

var taskRequestMembers = fields[protocol.TaskRequest]{
	{"ttl", optional, func(_ *Dialect, t *protocol.TaskRequest, v []byte) *fail {
		t.TTL = new(int64)
		return readInt(t.TTL, v)
	}},
}

var subscribeMembers = fields[protocol.SubscribeParams]{
	{"uri", required, func(_ *Dialect, p *protocol.SubscribeParams, v []byte) *fail { return readString(&p.URI, v) }},
}

var unsubscribeMembers = fields[protocol.UnsubscribeParams]{
	{"uri", required, func(_ *Dialect, p *protocol.UnsubscribeParams, v []byte) *fail { return readString(&p.URI, v) }},
}

var listenMembers = fields[protocol.ListenParams]{
	{"notifications", required, func(d *Dialect, p *protocol.ListenParams, v []byte) *fail {
		return filterMembers.decode(d, &p.Filter, v)
	}},
}

var filterMembers = fields[protocol.SubscriptionFilter]{
	{"toolsListChanged", optional, func(_ *Dialect, s *protocol.SubscriptionFilter, v []byte) *fail { return readBool(&s.Tools, v) }},
	{"promptsListChanged", optional, func(_ *Dialect, s *protocol.SubscriptionFilter, v []byte) *fail {
		return readBool(&s.Prompts, v)
	}},
	{"resourcesListChanged", optional, func(_ *Dialect, s *protocol.SubscriptionFilter, v []byte) *fail {
		return readBool(&s.Resources, v)
	}},
	{"resourceSubscriptions", optional, func(_ *Dialect, s *protocol.SubscriptionFilter, v []byte) *fail {
		return readList(&s.URIs, v, readString)
	}},
	{"taskIds", optional, func(_ *Dialect, s *protocol.SubscriptionFilter, v []byte) *fail {
		return readList(&s.Tasks, v, readString)
	}},
}

var setLevelMembers = fields[protocol.SetLevelParams]{
	{"level", required, func(_ *Dialect, p *protocol.SetLevelParams, v []byte) *fail { return readLevel(&p.Level, v) }},
}

var completeMembers = fields[protocol.CompleteParams]{
	{"ref", required, readRef},
	{"argument", required, func(d *Dialect, p *protocol.CompleteParams, v []byte) *fail {
		return completeArgumentMembers.decode(d, p, v)
	}},
	{"context", optional, since(hasContext, func(d *Dialect, p *protocol.CompleteParams, v []byte) *fail {
		return completeContextMembers.decode(d, p, v)
	})},
}

var completeArgumentMembers = fields[protocol.CompleteParams]{
	{"name", required, func(_ *Dialect, p *protocol.CompleteParams, v []byte) *fail { return readString(&p.Argument, v) }},
	{"value", required, func(_ *Dialect, p *protocol.CompleteParams, v []byte) *fail { return readString(&p.Value, v) }},
}

var completeContextMembers = fields[protocol.CompleteParams]{
	{"arguments", optional, func(_ *Dialect, p *protocol.CompleteParams, v []byte) *fail {
		return readMap(&p.Context, v, readString)
	}},
}

var promptRefMembers = fields[protocol.CompleteParams]{
	typed[protocol.CompleteParams](),
	{"name", required, func(_ *Dialect, p *protocol.CompleteParams, v []byte) *fail { return readString(&p.Prompt, v) }},
}

var resourceRefMembers = fields[protocol.CompleteParams]{
	typed[protocol.CompleteParams](),
	{"uri", required, func(_ *Dialect, p *protocol.CompleteParams, v []byte) *fail { return readString(&p.Template, v) }},
}

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

var getTaskMembers = fields[protocol.GetTaskParams]{
	{"taskId", required, func(_ *Dialect, p *protocol.GetTaskParams, v []byte) *fail { return readString(&p.ID, v) }},
}

var taskResultMembers = fields[protocol.TaskResultParams]{
	{"taskId", required, func(_ *Dialect, p *protocol.TaskResultParams, v []byte) *fail { return readString(&p.ID, v) }},
}

var listTasksMembers = fields[protocol.ListTasksParams]{
	{"cursor", optional, func(_ *Dialect, p *protocol.ListTasksParams, v []byte) *fail { return readStringPtr(&p.Cursor, v) }},
}

var cancelTaskMembers = fields[protocol.CancelTaskParams]{
	{"taskId", required, func(_ *Dialect, p *protocol.CancelTaskParams, v []byte) *fail { return readString(&p.ID, v) }},
}

var updateTaskMembers = fields[protocol.UpdateTaskParams]{
	{"taskId", required, func(_ *Dialect, p *protocol.UpdateTaskParams, v []byte) *fail { return readString(&p.ID, v) }},
	{"inputResponses", required, func(_ *Dialect, p *protocol.UpdateTaskParams, v []byte) *fail {
		return readObjects(&p.Responses, v)
	}},
}

// elicitMode is the member that discriminates the two modes.
var elicitMode = fields[string]{
	{"mode", optional, func(_ *Dialect, mode *string, v []byte) *fail { return readEnum(mode, v, "form", "url") }},
}

var (
	elicitFormMembers = append(elicitMembers(), field[protocol.ElicitParams]{
		"requestedSchema", required,
		func(_ *Dialect, p *protocol.ElicitParams, v []byte) *fail { return readObject(&p.Schema, v) },
	})
	elicitURLMembers = append(elicitMembers(), field[protocol.ElicitParams]{
		"url", required,
		func(_ *Dialect, p *protocol.ElicitParams, v []byte) *fail { return readString(&p.URL, v) },
	}, field[protocol.ElicitParams]{
		"elicitationId", optional,
		func(d *Dialect, p *protocol.ElicitParams, v []byte) *fail {
			if !d.elicitationIDs {
				return nil
			}
			return readString(&p.ID, v)
		},
	})
)

// elicitMembers returns the members that both modes have.
func elicitMembers() fields[protocol.ElicitParams] {
	return fields[protocol.ElicitParams]{
		{"message", required, func(_ *Dialect, p *protocol.ElicitParams, v []byte) *fail { return readString(&p.Message, v) }},
		{"task", optional, func(d *Dialect, p *protocol.ElicitParams, v []byte) *fail { return readTaskRequest(d, &p.Task, v) }},
	}
}

func decodeElicit(d *Dialect, o jsontext.Object) (protocol.Params, *fail) {
	p := new(protocol.ElicitParams)
	if f := readElicit(d, p, o.Raw()); f != nil {
		return nil, f
	}
	return p, nil
}

// readElicit reads an elicitation. A missing mode means form mode. Each mode has its own members.
func readElicit(d *Dialect, p *protocol.ElicitParams, raw []byte) *fail {
	var mode string
	if d.elicitModes {
		if f := elicitMode.decode(d, &mode, raw); f != nil {
			return f
		}
	}
	if mode != "url" {
		return elicitFormMembers.decode(d, p, raw)
	}
	if f := elicitURLMembers.decode(d, p, raw); f != nil {
		return f
	}
	switch {
	case p.URL == "":
		return refuse("must not be empty").in("url")
	case p.ID == "" && d.elicitationIDs:
		return refuse("is missing or empty").in("elicitationId")
	}
	return nil
}
