package nethttp

import (
	"maps"
	"net/http"

	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/streamable"
)

// wellKnown is where clients look for metadata (RFC 9728 §3): there, and below with the
// path of the endpoint.
const wellKnown = "/.well-known/oauth-protected-resource"

// describer is an authenticator that tells clients where to get tokens. An answer
// without a body is an error, whose body is the carrier's, or nothing at all.
type describer interface {
	ServeMetadata(method, path string) (status int, header http.Header, body []byte)
}

// Metadata serves RFC 9728 metadata, for the root of the host. It is what the host's
// authenticator says, and 404 for one that says nothing; middleware/auth makes those
// that do. Servers of New have it already.
//
//	mux.Handle("/.well-known/oauth-protected-resource", metadata)
//	mux.Handle("/.well-known/oauth-protected-resource/", metadata)
//
// What it says is for everybody, so that hosts and origins are not checked: the options
// change nothing.
func Metadata(host transport.Host, opts ...Option) http.Handler {
	c := newConfig(opts)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s := newSink(w, r, c)
		defer s.recovered()
		_ = s.whole(describe(w, host, r)) // a client that is gone does not matter any more
	})
}

// describe also puts the fields of the answer into w.
func describe(w http.ResponseWriter, host transport.Host, r *http.Request) *streamable.Reply {
	status, header, body := http.StatusNotFound, http.Header(nil), []byte(nil)
	if server, ok := host.(transport.Server); ok {
		if d, ok := server.Authenticator().(describer); ok {
			status, header, body = d.ServeMetadata(r.Method, r.URL.EscapedPath())
		}
	}
	maps.Copy(w.Header(), header)
	if status >= http.StatusBadRequest {
		return streamable.Refusal(status, http.StatusText(status))
	}
	return &streamable.Reply{Status: status, Body: body}
}
