// Command httpecho is what net/http costs without MCP: it answers with ready bytes.
package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"syscall"

	"github.com/kagami-mcp/kagami/testkit/bench/internal/target"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM) //nolint:forbidigo // the main function of a program
	defer stop()
	os.Exit(target.MainEcho(ctx, func(e *target.Echo) target.Server {
		return target.Server{HTTP: func(l net.Listener) error { return serve(e, l) }}
	}))
}

func serve(echo *target.Echo, l net.Listener) error {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /mcp", func(w http.ResponseWriter, r *http.Request) {
		request, err := io.ReadAll(r.Body)
		if err != nil {
			return // who asked is gone
		}
		answer := echo.Append(nil, request)
		header := w.Header()
		header.Set("Content-Type", echo.Kind)
		header.Set("Content-Length", strconv.Itoa(len(answer)))
		if echo.Close {
			header.Set("Connection", "close")
		}
		_, _ = w.Write(answer)
	})
	return http.Serve(l, mux) //nolint:gosec // nothing but the bench speaks to it
}
