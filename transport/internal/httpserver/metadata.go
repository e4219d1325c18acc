package httpserver

import (
	"net/http"
	"strings"

	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/internal/streamable"
)

// Metadata is where clients look for metadata (RFC 9728 §3): there, and below with the path
// of the endpoint.
const Metadata = "/.well-known/oauth-protected-resource"

// describer is an authenticator that tells clients where to get tokens. An answer
// without a body is an error, whose body is the carrier's, or nothing at all.
type describer interface {
	ServeMetadata(method, path string) (status int, header http.Header, body []byte)
}

// Describe is the reply to a request for metadata: what the host's authenticator says.
func Describe(host transport.Host, method, path string) *streamable.Reply {
	status, header, body := http.StatusNotFound, http.Header(nil), []byte(nil)
	if server, ok := host.(transport.Server); ok {
		if d, ok := server.Services().Authenticator.(describer); ok {
			status, header, body = d.ServeMetadata(method, path)
		}
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
