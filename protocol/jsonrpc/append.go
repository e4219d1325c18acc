package jsonrpc

import (
	"strconv"

	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// The functions of this file append one frame to dst. They copy params, results and data
// unchanged. If each frame is a line, those must not contain line breaks.

// AppendRequest appends a request to dst and returns the extended slice. params is an object. If it
// is nil, the member is left out. If id is zero, AppendRequest appends a notification.
func AppendRequest(dst []byte, id ID, method string, params []byte) []byte {
	if id.IsZero() {
		return AppendNotification(dst, method, params)
	}
	dst = append(dst, `{"jsonrpc":"2.0","id":`...)
	dst = append(id.Append(dst), `,"method":`...)
	return appendParams(jsontext.Quote(dst, method), params)
}

// AppendNotification appends a notification to dst and returns the extended slice. params is an
// object. If it is nil, the member is left out.
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

// AppendResult appends a result response to dst and returns the extended slice. An empty result is
// written as {}, because the member is required. The id must not be zero.
func AppendResult(dst []byte, id ID, result []byte) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","id":`...)
	dst = append(id.Append(dst), `,"result":`...)
	if len(result) == 0 {
		dst = append(dst, '{', '}')
	}
	return append(append(dst, result...), '}')
}

// AppendError appends an error response to dst and returns the extended slice. If id is zero, the
// member is null with nullID, and left out otherwise (JSON-RPC 2.0 §5). e must not be nil.
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
