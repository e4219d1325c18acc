package testkit

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/transport/nethttp"
)

// Serve serves an app over HTTP on a port of its own, for clients outside the test, and returns the
// URL of its endpoint. source receives that URL, because an authenticator must know it
// (auth.Resource). The server also serves the authenticator's metadata. opts are further options of
// the server, such as nethttp.Route. They must not change the URL. The server ends with the test.
func Serve(t testing.TB, source func(url string) *framework.App, opts ...nethttp.Option) (url string) {
	t.Helper()
	if source == nil {
		t.Fatalf("testkit: the function that makes the app is nil")
		return ""
	}
	l, err := loopback(t.Context())
	if err != nil {
		t.Fatalf("testkit: %v", err)
		return ""
	}
	url = "http://" + l.Addr().String() + "/mcp"
	app := source(url)
	if app == nil {
		_ = l.Close()
		t.Fatalf("testkit: the function that makes the app returned nil")
		return ""
	}
	server, err := app.Build()
	if err != nil {
		_ = l.Close()
		t.Fatalf("testkit: the app does not build: %v", err)
		return ""
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	served := make(chan error, 1)
	all := slices.Concat(opts, []nethttp.Option{ // a copy, because opts may be a part of the caller's slice
		nethttp.Listener(l), nethttp.Grace(time.Millisecond),
		nethttp.OnEndpoint(func(at string) {
			if at != url {
				t.Errorf("testkit: Serve: the app was made for %s, and its endpoint is %s: leave out nethttp.Path and nethttp.TLS", url, at)
			}
		}),
	})
	go func() { served <- server.Serve(ctx, nethttp.New("", all...)) }()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Errorf("testkit: serving the app: %v", err)
		}
	})
	return url
}
