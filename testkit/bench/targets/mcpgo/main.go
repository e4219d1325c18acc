// Command mcpgo is the same server on mcp-go. As it is shipped it validates nothing;
// BENCH_MODE=validate has it validate arguments and results, as the others do. Panics are
// recovered in both modes, as the others do, which is one deferred function a call.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/kagami-mcp/kagami/testkit/bench/internal/sample"
	"github.com/kagami-mcp/kagami/testkit/bench/internal/target"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM) //nolint:forbidigo // the main function of a program
	defer stop()
	os.Exit(target.Main(ctx, target.Server{
		HTTP: func(l net.Listener) error {
			mux := http.NewServeMux()
			mux.Handle("/mcp", server.NewStreamableHTTPServer(newServer()))
			return http.Serve(l, mux) //nolint:gosec // as in its examples
		},
		Stdio: func(ctx context.Context, in io.Reader, out io.Writer) error {
			return server.NewStdioServer(newServer()).Listen(ctx, in, out)
		},
	}))
}

func newServer() *server.MCPServer {
	options := []server.ServerOption{
		server.WithToolCapabilities(true), server.WithResourceCapabilities(true, true), server.WithRecovery(),
	}
	if os.Getenv("BENCH_MODE") == "validate" {
		options = append(options, server.WithInputSchemaValidation(), server.WithOutputSchemaValidation())
	}
	s := server.NewMCPServer(sample.Name, sample.Version, options...)
	index, blob := sample.NewIndex(), sample.Blob()
	add(s, "add", sample.AddText, sample.AddSchema, sample.Add)
	add(s, "search", sample.SearchText, sample.SearchSchema, index.Search)
	s.AddTool(tool("blob", sample.BlobText, sample.EmptySchema), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText(blob), nil
	})
	s.AddTool(tool("notify", sample.NotifyText, sample.NotifySchema, mcp.WithOutputSchema[sample.AddOut]()), mcp.NewStructuredToolHandler(notify))
	tools, templates := sample.Extras()
	for i := range tools {
		add(s, sample.ExtraName(i), sample.ExtraText, sample.ExtraSchema, sample.Extra)
	}
	for i := templates - 1; i >= 0; i-- {
		s.AddResourceTemplate(mcp.NewResourceTemplate(sample.Template(i), sample.TemplateName(i), mcp.WithTemplateMIMEType(sample.MIME)), page)
	}
	return s
}

func tool(name, text, schema string, more ...mcp.ToolOption) mcp.Tool {
	t := mcp.NewTool(name, append([]mcp.ToolOption{
		mcp.WithDescription(text), mcp.WithRawInputSchema(json.RawMessage(schema)),
	}, more...)...)
	t.InputSchema.Type = "" // a tool may have only one schema, and the raw one has the type
	return t
}

func add[In, Out any](s *server.MCPServer, name, text, schema string, f func(In) Out) {
	s.AddTool(tool(name, text, schema, mcp.WithOutputSchema[Out]()),
		mcp.NewStructuredToolHandler(func(_ context.Context, _ mcp.CallToolRequest, in In) (Out, error) {
			return f(in), nil
		}))
}

// notify waits for room where the queue of the session is full, so that nothing is
// dropped for want of it.
func notify(ctx context.Context, request mcp.CallToolRequest, in sample.NotifyIn) (sample.AddOut, error) {
	s := server.ServerFromContext(ctx)
	for i := range in.N {
		report := map[string]any{
			"progressToken": request.Params.Meta.ProgressToken, "progress": i + 1, "total": in.N, "message": "working",
		}
		for {
			err := s.SendNotificationToClient(ctx, "notifications/progress", report)
			if err == nil {
				break
			}
			if !errors.Is(err, server.ErrNotificationChannelBlocked) {
				return sample.AddOut{}, fmt.Errorf("reporting: %w", err)
			}
			runtime.Gosched()
		}
	}
	return sample.AddOut{Sum: in.N}, nil
}

func page(_ context.Context, request mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
	_, id, _ := strings.Cut(request.Params.URI, "://")
	return []mcp.ResourceContents{mcp.TextResourceContents{URI: request.Params.URI, MIMEType: sample.MIME, Text: sample.Page(id)}}, nil
}
