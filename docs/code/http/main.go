// Command http is the code of docs/http.md.
package main

import (
	"context"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/serve"
	"github.com/kagami-mcp/kagami/transport/fiberhttp"
)

// AddIn is the input of the tool add. Requests of 2026-07-28 repeat Region in the header
// Mcp-Param-Region, for proxies that route by it.
type AddIn struct {
	A, B   int
	Region string `json:"region,omitempty" header:"Region" doc:"where to compute"`
}

// Add returns the sum and who asked for it.
func Add(ctx context.Context, in AddIn) (map[string]any, error) {
	return map[string]any{"sum": in.A + in.B, "tenant": TenantFrom(ctx), "from": framework.Caller(ctx).RemoteAddr != ""}, nil
}

// NewApp returns the app. Tests also call it.
func NewApp() *framework.App {
	return framework.New("http", "1.0.0").Add(
		framework.Tool("add", Add, framework.Describe("Add two numbers."), framework.ReadOnly()),
	)
}

func main() {
	serve.Main(NewApp(), serve.HTTP(
		fiberhttp.AllowedHosts("mcp.example.com"),
		fiberhttp.AllowedOrigins("https://app.example.com"),
	))
}
