package dialect

import (
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

var cancelledMembers = fields[protocol.CancelledParams]{
	{"requestId", optional, func(_ *Dialect, p *protocol.CancelledParams, v []byte) *fail { return readID(&p.ID, v) }},
	{"reason", optional, func(_ *Dialect, p *protocol.CancelledParams, v []byte) *fail { return readString(&p.Reason, v) }},
}

func decodeCancelled(d *Dialect, o jsontext.Object) (protocol.Params, *fail) {
	p := new(protocol.CancelledParams)
	if f := cancelledMembers.decodeObject(d, p, o); f != nil {
		return nil, f
	}
	if p.ID.IsZero() && !d.optionalCancelID {
		return nil, refuse("is missing").in("requestId")
	}
	return p, nil
}

var progressMembers = fields[protocol.ProgressParams]{
	{"progressToken", required, func(_ *Dialect, p *protocol.ProgressParams, v []byte) *fail { return readID(&p.Token, v) }},
	{"progress", required, func(_ *Dialect, p *protocol.ProgressParams, v []byte) *fail { return readFloat(&p.Done, v) }},
	{"total", optional, func(_ *Dialect, p *protocol.ProgressParams, v []byte) *fail { return readFloatPtr(&p.Total, v) }},
	{"message", optional, since(hasProgressMessage, func(_ *Dialect, p *protocol.ProgressParams, v []byte) *fail { return readString(&p.Message, v) })},
}

var logMembers = fields[protocol.LogParams]{
	{"level", required, func(_ *Dialect, p *protocol.LogParams, v []byte) *fail { return readLevel(&p.Level, v) }},
	{"logger", optional, func(_ *Dialect, p *protocol.LogParams, v []byte) *fail { return readString(&p.Logger, v) }},
	{"data", required, func(_ *Dialect, p *protocol.LogParams, v []byte) *fail {
		p.Data = v
		return nil
	}},
}

var resourceUpdatedMembers = fields[protocol.ResourceUpdatedParams]{
	{"uri", required, func(_ *Dialect, p *protocol.ResourceUpdatedParams, v []byte) *fail { return readString(&p.URI, v) }},
}

var elicitationCompleteMembers = fields[protocol.ElicitationCompleteParams]{
	{"elicitationId", required, func(_ *Dialect, p *protocol.ElicitationCompleteParams, v []byte) *fail {
		return readString(&p.ID, v)
	}},
}

var acknowledgedMembers = fields[protocol.AcknowledgedParams]{
	{"notifications", required, func(d *Dialect, p *protocol.AcknowledgedParams, v []byte) *fail {
		return filterMembers.decode(d, &p.Filter, v)
	}},
}

func decodeTaskStatus(d *Dialect, o jsontext.Object) (protocol.Params, *fail) {
	p := new(protocol.TaskStatusParams)
	if f := coreTaskMembers.decodeObject(d, &p.Task, o); f != nil {
		return nil, f
	}
	return p, nil
}

func decodeTaskParams(d *Dialect, o jsontext.Object) (protocol.Params, *fail) {
	p := new(protocol.TaskParams)
	if f := readDetailedTask(d, &p.Task, o.Raw()); f != nil {
		return nil, f
	}
	return p, nil
}
