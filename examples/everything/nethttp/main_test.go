package main

import (
	"context"
	"net"
	"net/http"
	"testing"

	"go.uber.org/goleak"

	"github.com/kagami-mcp/kagami/examples/everything/app"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
	"github.com/kagami-mcp/kagami/testkit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The same server works on all revisions and on both paths, and it ends without errors.
func TestServe(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- serve(ctx, l) }()
	has := map[string]bool{} // in memory
	for _, tool := range testkit.New(t, app.New()).Tools() {
		has[tool.Name] = true
	}
	transport := &http.Transport{}
	web := client.HTTPClient(&http.Client{Transport: transport})
	for _, path := range []string{"/mcp", "/sse"} {
		for _, rev := range protocol.Revisions() {
			if path == "/sse" && rev == protocol.Rev20260728 {
				continue // this revision has no session to keep
			}
			c, err := client.Connect(t.Context(), client.HTTP("http://"+l.Addr().String()+path, web), client.Revisions(rev))
			if err != nil {
				t.Errorf("%s %s: %v", path, rev, err)
				continue
			}
			if got, err := client.Call[string](t.Context(), c, "test_simple_text", nil); got == "" || err != nil {
				t.Errorf("%s %s: %q, %v", path, rev, got, err)
			}
			listed := 0
			for tool, err := range c.Tools(t.Context()) {
				listed++
				if !has[tool.Name] || err != nil {
					t.Errorf("%s %s: %s, %v: the app has no such tool", path, rev, tool.Name, err)
				}
			}
			if listed == 0 {
				t.Errorf("%s %s: no tools are listed", path, rev)
			}
			if err := c.Close(); err != nil {
				t.Errorf("%s %s: %v", path, rev, err)
			}
		}
	}
	transport.CloseIdleConnections()
	stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
}
