package nethttp

import (
	"net/http"
	"time"

	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/internal/hostcall"
	"github.com/kagami-mcp/kagami/transport/internal/httpserver"
)

// Metadata serves RFC 9728 metadata, for the root of the host. The host's authenticator provides
// the metadata, as the authenticators of middleware/auth do. If it does not, the answer is 404.
// Servers of New serve the metadata without it.
//
//	mux.Handle("/.well-known/oauth-protected-resource", metadata)
//	mux.Handle("/.well-known/oauth-protected-resource/", metadata)
//
// The metadata is public, so hosts and origins are not checked, and the options have no effect
// except WriteTimeout.
func Metadata(host transport.Host, opts ...Option) http.Handler {
	c, log := newConfig(opts), hostcall.NewLog(host, time.Minute)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s := newSink(w, r, c)
		defer s.recovered(log)
		_ = s.whole(httpserver.Describe(host, r.Method, r.URL.EscapedPath())) // the client may have disconnected, which does not matter here
	})
}
