package serve_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/serve"
	"github.com/kagami-mcp/kagami/transport/fiberhttp"
)

// TestStoreTakesAnyInitialize: a session is kept as the client wrote it, with spaces.
func TestStoreTakesAnyInitialize(t *testing.T) {
	t.Parallel()
	app := framework.New("spaced", "1").Add(framework.Tool("film", func(context.Context, struct{}) (string, error) { return "done", nil },
		framework.Describe("d"), framework.Task(framework.TaskOptional)))
	ctx, stop := context.WithCancel(t.Context())
	done, bound := make(chan error, 1), make(chan net.Addr, 1)
	go func() {
		done <- serve.Run(ctx, app, []string{"--http", "127.0.0.1:0", "--store", "file:" + filepath.Join(t.TempDir(), "s.db")},
			serve.HTTP(fiberhttp.OnListen(func(a net.Addr) { bound <- a })))
	}()
	defer func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	var url string
	select {
	case a := <-bound:
		url = "http://" + a.String() + "/mcp"
	case err := <-done:
		done <- nil
		t.Fatal(err)
	}
	pool := &http.Transport{}
	defer pool.CloseIdleConnections()
	session := ""
	post := func(body string) string {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
		if session != "" {
			req.Header.Set("Mcp-Session-Id", session)
		}
		res, err := (&http.Client{Transport: pool}).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(res.Body)
		_ = res.Body.Close()
		session = max(session, res.Header.Get("Mcp-Session-Id"))
		return string(text)
	}
	post(`{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}}`)
	post(`{"jsonrpc": "2.0", "method": "notifications/initialized"}`)
	for range 20 { // the session is kept beside the answer to initialized
		got := post(`{"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "film", "arguments": {}, "task": {}}}`)
		if !strings.Contains(got, `"working"`) {
			t.Fatalf("the call as a task: %s", got)
		}
		time.Sleep(5 * time.Millisecond)
	}
}
