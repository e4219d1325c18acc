package dialect

import (
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// DecodeParams reads the params of a request or notification of either side;
// nil is absent. A method that the revision lacks yields CustomParams. The
// fault is an InvalidParams that names the member by its path. _meta is
// DecodeMeta's. Raw JSON in the result aliases params.
func (d *Dialect) DecodeParams(method string, params []byte) (protocol.Params, *protocol.Fault) {
	return d.DecodeParamsObject(method, jsontext.Bare(params))
}

// DecodeParamsObject is DecodeParams for params of which more is known.
func (d *Dialect) DecodeParamsObject(method string, params jsontext.Object) (protocol.Params, *protocol.Fault) {
	read := paramsOf[method]
	if d.methods[method] == 0 {
		read = decodeCustom(method)
	}
	p, f := read(d, params)
	if f != nil {
		return nil, f.fault("params")
	}
	return p, nil
}

type paramsReader func(d *Dialect, o jsontext.Object) (protocol.Params, *fail)

// into reads params with a table of members.
func into[T any, P interface {
	*T
	protocol.Params
}](members fields[T]) paramsReader {
	return func(d *Dialect, o jsontext.Object) (protocol.Params, *fail) {
		t := new(T)
		if f := members.decodeObject(d, t, o); f != nil {
			return nil, f
		}
		return P(t), nil
	}
}

func decodeCustom(method string) paramsReader {
	return func(_ *Dialect, o jsontext.Object) (protocol.Params, *fail) {
		raw := o.Raw()
		if raw != nil && jsontext.KindOf(raw) != jsontext.KindObject {
			return nil, refuse("must be an object")
		}
		if f := repeated(raw); f != nil {
			return nil, f
		}
		return &protocol.CustomParams{Name: method, Raw: raw}, nil
	}
}

func decodeList(kind protocol.ListKind) paramsReader {
	return func(d *Dialect, o jsontext.Object) (protocol.Params, *fail) {
		p := &protocol.ListParams{Kind: kind}
		if f := listMembers.decodeObject(d, p, o); f != nil {
			return nil, f
		}
		return p, nil
	}
}

func decodeListChanged(kind protocol.ListKind) paramsReader {
	return func(d *Dialect, o jsontext.Object) (protocol.Params, *fail) {
		p := &protocol.ListChangedParams{Kind: kind}
		if f := (fields[protocol.ListChangedParams]{}).decodeObject(d, p, o); f != nil {
			return nil, f
		}
		return p, nil
	}
}

// paramsOf finds the reader of every method of any revision.
var paramsOf = map[string]paramsReader{
	protocol.MethodInitialize:    decodeInitialize,
	protocol.MethodDiscover:      into(fields[protocol.DiscoverParams]{}),
	protocol.MethodPing:          into(fields[protocol.PingParams]{}),
	protocol.MethodListTools:     decodeList(protocol.ListTools),
	protocol.MethodCallTool:      into(callToolMembers),
	protocol.MethodListResources: decodeList(protocol.ListResources),
	protocol.MethodListTemplates: decodeList(protocol.ListTemplates),
	protocol.MethodReadResource:  into(readResourceMembers),
	protocol.MethodSubscribe:     into(subscribeMembers),
	protocol.MethodUnsubscribe:   into(unsubscribeMembers),
	protocol.MethodListen:        into(listenMembers),
	protocol.MethodListPrompts:   decodeList(protocol.ListPrompts),
	protocol.MethodGetPrompt:     into(getPromptMembers),
	protocol.MethodComplete:      into(completeMembers),
	protocol.MethodSetLevel:      into(setLevelMembers),
	protocol.MethodGetTask:       into(getTaskMembers),
	protocol.MethodTaskResult:    into(taskResultMembers),
	protocol.MethodListTasks:     into(listTasksMembers),
	protocol.MethodCancelTask:    into(cancelTaskMembers),
	protocol.MethodUpdateTask:    into(updateTaskMembers),

	protocol.MethodCreateMessage: into(createMessageMembers),
	protocol.MethodListRoots:     into(fields[protocol.ListRootsParams]{}),
	protocol.MethodElicit:        decodeElicit,

	protocol.NotificationInitialized:         into(fields[protocol.InitializedParams]{}),
	protocol.NotificationCancelled:           decodeCancelled,
	protocol.NotificationProgress:            into(progressMembers),
	protocol.NotificationMessage:             into(logMembers),
	protocol.NotificationToolsChanged:        decodeListChanged(protocol.ListTools),
	protocol.NotificationResourcesChanged:    decodeListChanged(protocol.ListResources),
	protocol.NotificationPromptsChanged:      decodeListChanged(protocol.ListPrompts),
	protocol.NotificationResourceUpdated:     into(resourceUpdatedMembers),
	protocol.NotificationRootsChanged:        into(fields[protocol.RootsChangedParams]{}),
	protocol.NotificationElicitationComplete: into(elicitationCompleteMembers),
	protocol.NotificationTaskStatus:          decodeTaskStatus,
	protocol.NotificationTask:                decodeTaskParams,
	protocol.NotificationAcknowledged:        into(acknowledgedMembers),
}
