package httpserver

import (
	"net/http"
	"strings"

	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/internal/streamable"
)

// Metadata is the path of resource metadata (RFC 9728 §3). Clients also append the path of the
// endpoint.
const Metadata = "/.well-known/oauth-protected-resource"

// describer is an authenticator that tells clients where to get tokens. For an error it returns no
// body, and the carrier writes its own.
type describer interface {
	ServeMetadata(method, path string) (status int, header http.Header, body []byte)
}

// Describe returns the reply to a request for metadata. The host's authenticator provides it;
// without one, the reply is 404.
func Describe(host transport.Host, method, path string) *streamable.Reply {
	status, header, body := http.StatusNotFound, http.Header(nil), []byte(nil)
	if d, ok := servicesOf(host).Authenticator.(describer); ok {
		status, header, body = d.ServeMetadata(method, path)
	}
	reply := &streamable.Reply{Status: status, Body: body}
	if status >= http.StatusBadRequest {
		reply = streamable.Refusal(status, http.StatusText(status))
	}
	for name, values := range header {
		reply.Header = append(reply.Header, streamable.Field{Name: name, Value: strings.Join(values, ", ")})
	}
	return reply
}
