// Command everything serves one of everything that a server can offer (see package
// app), on the carriers of package serve. Command nethttp serves the same app with a
// mux of net/http.
//
//	go run ./cmd/kagami call ./examples/everything test_simple_text
//	go run ./examples/everything --http :8080
package main

import (
	"github.com/kagami-mcp/kagami/examples/everything/app"
	"github.com/kagami-mcp/kagami/framework/serve"
	_ "github.com/kagami-mcp/kagami/framework/store/boltstore"  // --store file:PATH
	_ "github.com/kagami-mcp/kagami/framework/store/redisstore" // --store redis://HOST:PORT/DB
)

func main() {
	serve.Main(app.New())
}
