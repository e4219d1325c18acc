// Command everything serves one of everything that a server can offer (see package
// app) on the carriers that every Kagami program has. Command nethttp, beside it,
// serves the same under a mux of net/http.
package main

import (
	"github.com/kagami-mcp/kagami/examples/everything/app"
	"github.com/kagami-mcp/kagami/framework/serve"
)

func main() {
	serve.Main(app.New())
}
