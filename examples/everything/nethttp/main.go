// Command nethttp serves package app with net/http and its own mux. A program that also
// serves other pages does the same.
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
	headerTime = 10 * time.Second // time limit for the headers of a request
	grace      = 10 * time.Second // how long calls may continue after the signal to end
)

func main() {
	addr := flag.String("http", "127.0.0.1:8080", "address to listen on")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
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

// serve accepts connections on l until ctx ends.
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
	var failure error
	select {
	case failure = <-served:
	case <-ctx.Done():
	}
	// Stop the MCP server first: it ends its streams, and net/http waits for them.
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	return errors.Join(failure, server.Shutdown(last), web.Shutdown(last))
}
