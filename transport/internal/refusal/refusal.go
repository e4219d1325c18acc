// Package refusal makes the few JSON-RPC errors that a carrier answers by
// itself: those for which no host can be asked. Everything else is the host's.
package refusal

import (
	"fmt"

	"github.com/kagami-mcp/kagami/protocol/jsonrpc"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// TooLong answers a frame of more than limit bytes. The frame was not read, so
// its id is not known and is left out (2025-11-25 and 2026-07-28
// JSONRPCErrorResponse, where id is optional).
func TooLong(limit int) []byte {
	return jsonrpc.AppendError(nil, jsonrpc.ID{}, &jsonrpc.Error{
		Code:    jsonrpc.CodeInvalidRequest,
		Message: fmt.Sprintf("frame exceeds %d bytes", limit),
	}, false)
}

// Panicked answers a frame whose exchange has panicked past the host's own
// recovery, so that the peer does not wait for ever. It is nil where nothing may
// be answered: notifications and responses.
//
// The frame belongs to the host; reading it is sound only because a host that
// panicked has let go of it. Nothing of the panic is told to the peer.
func Panicked(frame []byte) []byte {
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
