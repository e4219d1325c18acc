package dialect

import (
	"encoding/json"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/jsonrpc"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

var cancelledMembers = rows[protocol.CancelledParams](
	optional("requestId", id("a cancellation needs the id of a request"), func(p *protocol.CancelledParams) *jsonrpc.ID { return &p.ID }).
		requiredIn(always&^since(protocol.Rev20251125)|sessionless),
	optional("reason", str, func(p *protocol.CancelledParams) *string { return &p.Reason }),
)

var progressMembers = rows[protocol.ProgressParams](
	required("progressToken", id("progress needs a token"), func(p *protocol.ProgressParams) *jsonrpc.ID { return &p.Token }),
	required("progress", number, func(p *protocol.ProgressParams) *float64 { return &p.Done }),
	optional("total", pointer(number), func(p *protocol.ProgressParams) **float64 { return &p.Total }),
	optional("message", str, func(p *protocol.ProgressParams) *string { return &p.Message }).since(protocol.Rev20250326),
)

var logMembers = rows[protocol.LogParams](
	required("level", level, func(p *protocol.LogParams) *protocol.Level { return &p.Level }),
	optional("logger", str, func(p *protocol.LogParams) *string { return &p.Logger }),
	required("data", encoded, func(p *protocol.LogParams) *json.RawMessage { return &p.Data }),
)

var resourceUpdatedMembers = rows[protocol.ResourceUpdatedParams](
	required("uri", str, func(p *protocol.ResourceUpdatedParams) *string { return &p.URI }),
)

var elicitationCompleteMembers = rows[protocol.ElicitationCompleteParams](
	required("elicitationId", str, func(p *protocol.ElicitationCompleteParams) *string { return &p.ID }),
)

var acknowledgedMembers = rows[protocol.AcknowledgedParams](
	required("notifications", object(filterMembers), func(p *protocol.AcknowledgedParams) *protocol.SubscriptionFilter { return &p.Filter }),
)

func readTaskStatus(d *Dialect, p *protocol.TaskStatusParams, o jsontext.Object) *fail {
	return taskMembers.decodeObject(d, &p.Task, o)
}

func appendTaskStatus(d *Dialect, dst []byte, p *protocol.TaskStatusParams) ([]byte, error) {
	return taskMembers.appendInto(d, dst, &p.Task)
}

func readTaskParams(d *Dialect, p *protocol.TaskParams, o jsontext.Object) *fail {
	return readDetailedTask(d, &p.Task, o.Raw())
}

func appendTaskParams(d *Dialect, dst []byte, p *protocol.TaskParams) ([]byte, error) {
	return appendDetailedTask(d, dst, &p.Task)
}
