package jsonrpc

import (
	"strconv"

	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// The functions of this file append one frame to dst. Params, results and data
// are copied as they are: where frames are lines they must have no line break.

// AppendRequest writes a request; params is an object, or nil to leave it out.
// Without an id it writes a notification.
func AppendRequest(dst []byte, id ID, method string, params []byte) []byte {
	if id.IsZero() {
		return AppendNotification(dst, method, params)
	}
	dst = append(dst, `{"jsonrpc":"2.0","id":`...)
	dst = append(id.Append(dst), `,"method":`...)
	return appendParams(jsontext.Quote(dst, method), params)
}

// AppendNotification writes a notification; params likewise.
func AppendNotification(dst []byte, method string, params []byte) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","method":`...)
	return appendParams(jsontext.Quote(dst, method), params)
}

func appendParams(dst, params []byte) []byte {
	if params != nil {
		dst = append(append(dst, `,"params":`...), params...)
	}
	return append(dst, '}')
}

// AppendResult writes a result response; a nil result becomes {}, because the
// member must be there. The id must not be absent.
func AppendResult(dst []byte, id ID, result []byte) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","id":`...)
	dst = append(id.Append(dst), `,"result":`...)
	if len(result) == 0 {
		dst = append(dst, '{', '}')
	}
	return append(append(dst, result...), '}')
}

// AppendError writes an error response. Without an id the member is left out, or
// null if nullID (JSON-RPC 2.0 §5). e must not be nil.
func AppendError(dst []byte, id ID, e *Error, nullID bool) []byte {
	dst = append(dst, `{"jsonrpc":"2.0"`...)
	switch {
	case !id.IsZero():
		dst = id.Append(append(dst, `,"id":`...))
	case nullID:
		dst = append(dst, `,"id":null`...)
	}
	dst = append(dst, `,"error":{"code":`...)
	dst = strconv.AppendInt(dst, int64(e.Code), 10)
	dst = jsontext.Quote(append(dst, `,"message":`...), e.Message)
	if len(e.Data) > 0 {
		dst = append(append(dst, `,"data":`...), e.Data...)
	}
	return append(dst, '}', '}')
}
