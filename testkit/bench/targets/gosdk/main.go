// Command gosdk is the same server on the official Go SDK, which validates always.
//
// BENCH_MODE has the words json, to answer in JSON where it may, and stateless, to have
// no sessions, which is how it serves 2026-07-28.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/kagami-mcp/kagami/testkit/bench/internal/sample"
	"github.com/kagami-mcp/kagami/testkit/bench/internal/target"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM) //nolint:forbidigo // the main function of a program
	defer stop()
	mode := os.Getenv("BENCH_MODE")
	os.Exit(target.Main(ctx, target.Server{
		HTTP: func(l net.Listener) error {
			server := newServer()
			handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
				&mcp.StreamableHTTPOptions{JSONResponse: strings.Contains(mode, "json"), Stateless: strings.Contains(mode, "stateless")})
			mux := http.NewServeMux()
			mux.Handle("/mcp", handler)
			return http.Serve(l, mux) //nolint:gosec // as in its examples
		},
		Stdio: func(ctx context.Context, in io.Reader, out io.Writer) error {
			return newServer().Run(ctx, &mcp.IOTransport{Reader: io.NopCloser(in), Writer: nopCloser{out}})
		},
	}))
}

type nopCloser struct{ io.Writer }

// Close does nothing: the streams are closed by those who made them.
func (nopCloser) Close() error { return nil }

func newServer() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: sample.Name, Version: sample.Version}, nil)
	index, blob := sample.NewIndex(), sample.Blob()
	add(s, "add", sample.AddText, sample.AddSchema, func(in sample.AddIn) sample.AddOut { return sample.Add(in) })
	add(s, "search", sample.SearchText, sample.SearchSchema, index.Search)
	mcp.AddTool(s, tool("blob", sample.BlobText, sample.EmptySchema),
		func(context.Context, *mcp.CallToolRequest, sample.Empty) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: blob}}}, nil, nil
		})
	mcp.AddTool(s, tool("notify", sample.NotifyText, sample.NotifySchema), notify)
	tools, templates := sample.Extras()
	for i := range tools {
		add(s, sample.ExtraName(i), sample.ExtraText, sample.ExtraSchema, sample.Extra)
	}
	for i := templates - 1; i >= 0; i-- {
		s.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: sample.Template(i), Name: sample.TemplateName(i), MIMEType: sample.MIME}, page)
	}
	return s
}

func tool(name, text, schema string) *mcp.Tool {
	return &mcp.Tool{Name: name, Description: text, InputSchema: json.RawMessage(schema)}
}

func add[In, Out any](s *mcp.Server, name, text, schema string, f func(In) Out) {
	mcp.AddTool(s, tool(name, text, schema), func(_ context.Context, _ *mcp.CallToolRequest, in In) (*mcp.CallToolResult, Out, error) {
		return nil, f(in), nil
	})
}

func notify(ctx context.Context, request *mcp.CallToolRequest, in sample.NotifyIn) (*mcp.CallToolResult, sample.AddOut, error) {
	token := request.Params.GetProgressToken()
	for i := range in.N {
		err := request.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
			ProgressToken: token, Progress: float64(i + 1), Total: float64(in.N), Message: "working",
		})
		if err != nil {
			return nil, sample.AddOut{}, fmt.Errorf("reporting: %w", err)
		}
	}
	return nil, sample.AddOut{Sum: in.N}, nil
}

func page(_ context.Context, request *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	_, id, _ := strings.Cut(request.Params.URI, "://")
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: request.Params.URI, MIMEType: sample.MIME, Text: sample.Page(id)}}}, nil
}
