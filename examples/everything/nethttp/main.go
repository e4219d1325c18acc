// Command nethttp serves package app on net/http, under a mux of its own, as a
// program does that has more to serve than MCP:
//
//	go run ./examples/everything/nethttp --http 127.0.0.1:8080
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/kagami-mcp/kagami/examples/everything/app"
	"github.com/kagami-mcp/kagami/transport/nethttp"
)

const (
	headerTime = 10 * time.Second // for the headers of a request
	grace      = 10 * time.Second // how long calls may go on after the program was told to end
)

func main() {
	addr := flag.String("http", "127.0.0.1:8080", "address to listen on")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", *addr)
	if err == nil {
		err = serve(ctx, l)
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "nethttp:", err)
		os.Exit(1)
	}
}

// serve accepts connections of l until ctx ends.
func serve(ctx context.Context, l net.Listener) error {
	server, err := app.New().Build()
	if err != nil {
		return errors.Join(err, l.Close())
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp", nethttp.Handler(server))
	mux.Handle("/sse", nethttp.SSE(server))
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("The MCP endpoint is /mcp.\n"))
	})
	web := &http.Server{Handler: mux, ReadHeaderTimeout: headerTime}
	served := make(chan error, 1)
	go func() { served <- web.Serve(l) }()
	select {
	case err := <-served:
		return errors.Join(err, server.Shutdown(ctx))
	case <-ctx.Done():
	}
	// The MCP server first: it ends its streams, which net/http would wait for.
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	return errors.Join(server.Shutdown(last), web.Shutdown(last))
}
