package engine

import (
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/jsonrpc"
	"github.com/kagami-mcp/kagami/transport"
)

var (
	_ transport.Planned = (*exchange)(nil)
	_ transport.Planned = (*batch)(nil)
)

// interrupted is the error response for a request whose server process ended before it answered.
var interrupted = &jsonrpc.Error{
	Code: protocol.CodeInterrupted,
	Message: "interrupted: the server process that worked on this request has ended. " +
		"What the request was to do may have been done, in part or in full; it is not done again.",
}

// interruptedWait is the same for tasks/result, which only waits.
var interruptedWait = &jsonrpc.Error{
	Code: protocol.CodeInterrupted,
	Message: "interrupted: the server process that worked on this request has ended. " +
		"The task is not affected: send tasks/result again.",
}

// Interrupted implements transport.Planned. If the frame is a request, it returns the error interrupted or
// interruptedWait.
func (x *exchange) Interrupted() []byte {
	if x.run != nil || x.id.IsZero() {
		return nil
	}
	if x.method == protocol.MethodTaskResult {
		return jsonrpc.AppendError(nil, x.id, interruptedWait, false)
	}
	return jsonrpc.AppendError(nil, x.id, interrupted, false)
}

// Interrupted implements transport.Planned. It returns an array with one error for each request, as
// flush sends the answers.
func (b *batch) Interrupted() []byte {
	var all []byte
	for _, x := range b.members {
		if answer := x.Interrupted(); answer != nil {
			all = append(append(all, ','), answer...)
		}
	}
	if all == nil {
		return nil
	}
	all[0] = '['
	return append(all, ']')
}
