// Command httpecho is what net/http costs without MCP: it answers with ready bytes.
package main

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"sync"
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

// buffers are the buffers of one request.
type buffers struct {
	request bytes.Buffer
	answer  []byte
}

func serve(echo *target.Echo, l net.Listener) error {
	var pool sync.Pool // of buffers, as Fiber has them
	mux := http.NewServeMux()
	mux.HandleFunc("POST /mcp", func(w http.ResponseWriter, r *http.Request) {
		b, _ := pool.Get().(*buffers)
		if b == nil {
			b = &buffers{}
		}
		defer pool.Put(b)
		b.request.Reset()
		if _, err := b.request.ReadFrom(r.Body); err != nil {
			return // who asked is gone
		}
		b.answer = echo.Append(b.answer[:0], b.request.Bytes())
		header := w.Header()
		header.Set("Content-Type", echo.Kind)
		header.Set("Content-Length", strconv.Itoa(len(b.answer)))
		if echo.Close {
			header.Set("Connection", "close")
		}
		_, _ = w.Write(b.answer)
	})
	return http.Serve(l, mux) //nolint:gosec // nothing but the bench speaks to it
}
