package streamable

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/kagami-mcp/kagami/protocol/jsonrpc"
)

// Field is one header field of a response.
type Field struct{ Name, Value string }

// Reply is a response for a carrier to write: a whole response, or one that is still open. It is
// read-only.
type Reply struct {
	Status int
	Header []Field
	Body   []byte

	// Borrowed is set if Body is in memory of Request.Buffers. The carrier uses that memory again.
	Borrowed bool

	// Stream, if not nil, writes the response. The other fields are unset then.
	Stream *Stream

	// Hijacked is set if the Hijacker writes the response. The other fields are unset then.
	Hijacked bool
}

// streams reports whether the response is still open.
func (r *Reply) streams() bool { return r.Stream != nil || r.Hijacked }

// The media types of Streamable HTTP.
const (
	typeJSON = "application/json"
	typeSSE  = "text/event-stream"
)

var contentJSON = Field{"Content-Type", typeJSON}

// Headers of the most frequent replies. Replies share them, so append only to a clipped copy.
var (
	jsonHeader   = []Field{contentJSON}
	eventsHeader = []Field{{"Content-Type", typeSSE}, {"Cache-Control", "no-cache, no-transform"}, {"X-Accel-Buffering", "no"}}
)

// refuse returns a reply whose body is a JSON-RPC error without id. Clients of 2026-07-28 use the
// body to tell a refusal from a server that does not know the revision
// (basic/transports/streamable-http).
func refuse(status int, message string, more ...Field) *Reply {
	code := jsonrpc.CodeInvalidRequest
	if status >= http.StatusInternalServerError {
		code = jsonrpc.CodeInternal
	}
	return &Reply{
		Status: status,
		Header: append([]Field{contentJSON}, more...),
		Body:   jsonrpc.AppendError(nil, jsonrpc.ID{}, &jsonrpc.Error{Code: code, Message: message}, false),
	}
}

// add appends a field. It does not change a header that other replies share.
func (r *Reply) add(f Field) { r.Header = append(slices.Clip(r.Header), f) }

func (r *Reply) with(fields []Field) *Reply {
	r.Header = append(slices.Clip(r.Header), fields...)
	return r
}

// retryAfter asks for one second. By then another node, or this one after a restart, may answer.
var retryAfter = Field{"Retry-After", "1"}

func shuttingDown() *Reply {
	return refuse(http.StatusServiceUnavailable, "the server is shutting down", retryAfter)
}

// notReady returns a reply for a host that refuses calls although it does not stop. It could not start, and
// logs why.
func notReady() *Reply {
	return refuse(http.StatusServiceUnavailable, "the server is not ready", retryAfter)
}

func noSession() *Reply { return refuse(http.StatusNotFound, "no such session") }

// unavailable returns a reply that is not 404, because 404 would end the client's session.
func unavailable() *Reply {
	return refuse(http.StatusServiceUnavailable, "sessions cannot be looked up now", retryAfter)
}

func tooManyStreams() *Reply {
	return refuse(http.StatusTooManyRequests, "too many open streams", retryAfter)
}

func tooManyCalls() *Reply {
	return refuse(http.StatusTooManyRequests, "too many calls at once", retryAfter)
}

// heldBack is the text of the refusal of a stream if Request.Whole is set.
const heldBack = "there are no streams here: something in this server holds responses back until they end"

func notAllowed(methods string) *Reply {
	return refuse(http.StatusMethodNotAllowed, "this method is not served here", Field{"Allow", methods})
}

// Refusal returns a reply of the carrier, for a request that did not reach an endpoint. Its body is
// a JSON-RPC error, as in all refusals.
func Refusal(status int, message string) *Reply { return refuse(status, message) }

// TooLarge returns the Refusal of a body of more than limit bytes.
func TooLarge(limit int) *Reply {
	return refuse(http.StatusRequestEntityTooLarge, fmt.Sprintf("the body is larger than the limit of %d bytes", limit))
}
