package hostcall

import (
	"fmt"

	"github.com/kagami-mcp/kagami/protocol/jsonrpc"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// ErrorTooLong returns the answer to a frame of more than limit bytes. The frame was not read,
// so its id is unknown and is left out (2025-11-25 and 2026-07-28 JSONRPCErrorResponse, where id
// is optional).
func ErrorTooLong(limit int) []byte {
	return jsonrpc.AppendError(nil, jsonrpc.ID{}, &jsonrpc.Error{
		Code:    jsonrpc.CodeInvalidRequest,
		Message: fmt.Sprintf("frame exceeds %d bytes", limit),
	}, false)
}

// ErrorPanicked returns the answer to a frame whose exchange has panicked past the host's own
// recovery, so that the peer does not wait for ever. It returns nil for notifications and
// responses, which are never answered. The answer contains nothing of the panic.
//
// The frame belongs to the host. Reading it is sound only because a host that panicked does not
// use it any more.
func ErrorPanicked(frame []byte) []byte {
	e := &jsonrpc.Error{Code: jsonrpc.CodeInternal, Message: "internal error"}
	if jsontext.Check(frame, jsontext.DefaultLimits()) != nil || jsonrpc.IsBatch(frame) {
		return jsonrpc.AppendError(nil, jsonrpc.ID{}, e, false)
	}
	m, fault := jsonrpc.Decode(frame)
	if fault != nil {
		if fault.Notification {
			return nil
		}
		return jsonrpc.AppendError(nil, fault.ID, e, false)
	}
	if m.Kind != jsonrpc.Request {
		return nil
	}
	return jsonrpc.AppendError(nil, m.ID, e, false)
}
