package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"

	"go.uber.org/zap"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/testkit/bench/internal/sample"
	"github.com/kagami-mcp/kagami/transport/nethttp"
)

func newApp() *framework.App {
	return framework.New(sample.Name, sample.Version, framework.WithLogger(zap.NewNop())).Add(
		framework.Tool("add", func(_ context.Context, in sample.AddIn) (sample.AddOut, error) {
			return sample.Add(in), nil
		}, framework.Describe(sample.AddText)),
	)
}

const (
	openFrame = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"growth","version":"1"}}}`
	doneFrame = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	callFrame = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":{"a":2,"b":3}}}`
)

// web asks a handler without a network.
type web struct {
	ctx     context.Context //nolint:containedctx // of the whole program
	handler http.Handler
}

// writer keeps a response.
type writer struct {
	status int
	header http.Header
	body   []byte
}

// Header returns the header of the response.
func (w *writer) Header() http.Header { return w.header }

// WriteHeader keeps the status.
func (w *writer) WriteHeader(status int) { w.status = status }

// Write keeps the body.
func (w *writer) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	w.body = append(w.body, p...)
	return len(p), nil
}

// Flush is there for streams, which nothing here opens.
func (w *writer) Flush() {}

func (s *web) post(session, frame string, want int) (*writer, error) {
	r, err := http.NewRequestWithContext(s.ctx, http.MethodPost, "http://127.0.0.1/mcp", bytes.NewReader([]byte(frame)))
	if err != nil {
		return nil, err
	}
	r.RemoteAddr = "127.0.0.1:1"
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if session != "" {
		r.Header.Set("Mcp-Session-Id", session)
		r.Header.Set("MCP-Protocol-Version", "2025-11-25")
	}
	w := &writer{header: http.Header{}}
	s.handler.ServeHTTP(w, r)
	if w.status != want {
		return nil, fmt.Errorf("status %d: %s", w.status, w.body)
	}
	return w, nil
}

func (s *web) open() (session string, err error) {
	w, err := s.post("", openFrame, http.StatusOK)
	if err != nil {
		return "", err
	}
	session = w.header.Get("Mcp-Session-Id")
	_, err = s.post(session, doneFrame, http.StatusAccepted)
	return session, err
}

// sessions are n of one client, who may have a quarter of all.
func sessions(ctx context.Context, n int) (figures, error) {
	server, err := newApp().Build()
	if err != nil {
		return nil, err
	}
	if err := server.Start(ctx); err != nil {
		return nil, err
	}
	s := &web{ctx, nethttp.Handler(server, nethttp.MaxSessions(4*(n+2*batches*batch)))}
	for range batch { // which fills the pools
		if _, err := s.open(); err != nil {
			return nil, err
		}
	}
	before := live()
	ids := make([]string, n)
	for i := range ids {
		if ids[i], err = s.open(); err != nil {
			return nil, err
		}
	}
	weight := (live() - before) / float64(n) / 1024
	next := 0
	call, err := each(batch, func() error {
		next = (next + 7919) % n // all over them
		_, err := s.post(ids[next], callFrame, http.StatusOK)
		return err
	})
	if err != nil {
		return nil, err
	}
	opening, err := each(batch, func() error { _, err := s.open(); return err })
	if err != nil {
		return nil, err
	}
	return figures{"call": call, "open": opening, "weight": weight}, server.Shutdown(ctx)
}
