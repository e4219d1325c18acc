package nethttp

import (
	"net/http"

	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/internal/httpserver"
)

// Metadata serves RFC 9728 metadata, for the root of the host. The host's authenticator
// provides it, as those of middleware/auth do; with one that does not, it is 404. Servers
// of New have it already.
//
//	mux.Handle("/.well-known/oauth-protected-resource", metadata)
//	mux.Handle("/.well-known/oauth-protected-resource/", metadata)
//
// The metadata is for everybody, so hosts and origins are not checked: the options have no
// effect.
func Metadata(host transport.Host, opts ...Option) http.Handler {
	c := newConfig(opts)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s := newSink(w, r, c)
		defer s.recovered()
		_ = s.whole(httpserver.Describe(host, r.Method, r.URL.EscapedPath())) // a client that is gone does not matter any more
	})
}
