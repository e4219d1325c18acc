// Command kagami is the server that is measured, written like any other.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/serve"
	"github.com/kagami-mcp/kagami/testkit/bench/internal/sample"
	"github.com/kagami-mcp/kagami/testkit/bench/internal/target"
	"github.com/kagami-mcp/kagami/transport/fiberhttp"
)

func main() {
	app := newApp()
	if len(os.Args) > 1 && os.Args[1] == target.PipeCommand {
		os.Exit(piped(app))
	}
	target.Observe()
	// One address opens all streams of a measurement; a thousand are the default.
	serve.Main(app, serve.HTTP(fiberhttp.MaxStreams(4096)))
}

func newApp() *framework.App {
	index, blob := sample.NewIndex(), sample.Blob()
	app := framework.New(sample.Name, sample.Version, framework.WithPageSize(1000)).Add(
		framework.Tool("add", func(_ context.Context, in sample.AddIn) (sample.AddOut, error) {
			return sample.Add(in), nil
		}, framework.Describe(sample.AddText)),
		framework.Tool("search", func(_ context.Context, in sample.SearchIn) (sample.SearchOut, error) {
			return index.Search(in), nil
		}, framework.Describe(sample.SearchText)),
		framework.Tool("blob", func(context.Context, sample.Empty) (string, error) {
			return blob, nil
		}, framework.Describe(sample.BlobText)),
		framework.Tool("notify", notify, framework.Describe(sample.NotifyText)),
	)
	tools, templates := sample.Extras()
	for i := range tools {
		app.Add(framework.Tool(sample.ExtraName(i), extra, framework.Describe(sample.ExtraText)))
	}
	for i := templates - 1; i >= 0; i-- {
		app.Add(framework.ResourceTemplate(sample.Template(i), page, framework.Name(sample.TemplateName(i)), framework.MIME(sample.MIME)))
	}
	return app
}

func notify(ctx context.Context, in sample.NotifyIn) (sample.AddOut, error) {
	for i := range in.N {
		framework.Progress(ctx, i+1, in.N, "working")
	}
	return sample.AddOut{Sum: in.N}, nil
}

func extra(_ context.Context, in sample.ExtraIn) (sample.AddOut, error) { return sample.Extra(in), nil }

type pageOf struct {
	ID string `uri:"id"`
}

func page(_ context.Context, at pageOf) (string, error) { return sample.Page(at.ID), nil }

// piped measures calls in this process.
func piped(app *framework.App) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM) //nolint:forbidigo // the main function of a program
	defer stop()
	err := target.Pipe(ctx, os.Args[2:], os.Stdout, func(ctx context.Context, in io.Reader, out io.Writer) error {
		return serve.Run(ctx, app, nil, serve.Streams(in, out, io.Discard))
	})
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}
