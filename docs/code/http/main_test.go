package main

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
)

type sum struct {
	Sum    int
	Tenant string
	From   bool
}

// calls calls a mounted server with a handshake and without, and requests the program's own page.
func calls(t *testing.T, base string) {
	t.Helper()
	for _, revision := range []protocol.Revision{protocol.Rev20251125, protocol.Rev20260728} {
		c, err := client.Connect(t.Context(), client.HTTP(base+"/mcp", client.Header("X-Tenant", "acme")), client.Revisions(revision))
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range c.Tools(t.Context()) { // the client must know which arguments to repeat in headers
			if err != nil {
				t.Fatal(err)
			}
		}
		got, err := client.Call[sum](t.Context(), c, "add", map[string]any{"A": 1, "B": 2, "region": "eu"})
		if err != nil || got != (sum{3, "acme", true}) {
			t.Errorf("%s: %+v, %v", revision, got, err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	resp, err := http.Get(base + "/")
	if err != nil {
		t.Fatal(err)
	}
	page, _ := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if string(page) != "my own page" {
		t.Errorf("the page is %q", page)
	}
}

func build(t *testing.T) *framework.Server {
	t.Helper()
	server, err := NewApp().Build()
	if err != nil {
		t.Fatal(err)
	}
	return server
}

func TestUnderFiber(t *testing.T) {
	server := build(t)
	app := UnderFiber(server)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- app.Listener(l) }()
	calls(t, "http://"+l.Addr().String())
	http.DefaultClient.CloseIdleConnections()
	if err := Stop(server, app); err != nil {
		t.Error(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestUnderNetHTTP(t *testing.T) {
	server := build(t)
	s := httptest.NewServer(UnderNetHTTP(server))
	defer s.Close()
	calls(t, s.URL)
	if err := server.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
}

func TestAnywhere(t *testing.T) {
	server := build(t)
	s := httptest.NewServer(Anywhere(server))
	defer s.Close()
	c, err := client.Connect(t.Context(), client.HTTP(s.URL), client.Revisions(protocol.Rev20251125))
	if err != nil {
		t.Fatal(err)
	}
	got, err := client.Call[sum](t.Context(), c, "add", map[string]any{"A": 1, "B": 2, "region": "eu"})
	if err != nil || got.Sum != 3 {
		t.Errorf("%+v, %v", got, err)
	}
	if err := errors.Join(c.Close(), server.Shutdown(context.Background())); err != nil {
		t.Error(err)
	}
}
