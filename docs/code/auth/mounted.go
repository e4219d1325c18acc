package main

import (
	"net/http"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/transport/nethttp"
)

// UnderNetHTTP serves the endpoint. It also serves the metadata at the root of the host, because
// clients look there to find out where to log in.
func UnderNetHTTP(server *framework.Server) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/mcp", nethttp.Handler(server, nethttp.AllowedHosts("shop.example.com")))
	metadata := nethttp.Metadata(server)
	mux.Handle("/.well-known/oauth-protected-resource", metadata)
	mux.Handle("/.well-known/oauth-protected-resource/", metadata)
	return mux
}
