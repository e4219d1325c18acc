package fiberhttp_test

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/gofiber/fiber/v2"

	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/fiberhttp"
)

// described is a host whose authenticator tells something at one path.
type described struct{ transport.Server }

func (described) Services() transport.Services { return transport.Services{Authenticator: teller{}} }

type teller struct{}

func (teller) Authenticate(context.Context, http.Header) (*transport.Principal, error) {
	return nil, errors.New("nobody")
}

func (teller) ServeMetadata(method, path string) (int, http.Header, []byte) {
	switch path {
	case "/.well-known/oauth-protected-resource/a%2Fb":
		return http.StatusOK, http.Header{"Content-Type": {"application/json"}, "Cache-Control": {"public"}}, []byte(`{"method":"` + method + `"}`)
	case "/.well-known/oauth-protected-resource/panic":
		panic("as if the program had done it")
	}
	return http.StatusNotFound, nil, nil
}

// undescribed is one whose authenticator has nothing to tell.
type undescribed struct{ described }

func (undescribed) Services() transport.Services { return transport.Services{} }

// second tells something at another path.
type second struct{ described }

func (second) Services() transport.Services { return transport.Services{Authenticator: other{}} }

type other struct{ teller }

func (other) ServeMetadata(method, path string) (int, http.Header, []byte) {
	if path != "/.well-known/oauth-protected-resource/second" {
		return http.StatusNotFound, nil, nil
	}
	return http.StatusOK, http.Header{"Content-Type": {"application/json"}}, []byte(`"second by ` + method + `"`)
}

func TestMountMetadata(t *testing.T) {
	t.Parallel()
	app := fiber.New(fiber.Config{DisableStartupMessage: true})
	app.Use(func(c *fiber.Ctx) error { return c.Next() })
	fiberhttp.MountMetadata(app, described{})
	silent := fiber.New(fiber.Config{DisableStartupMessage: true})
	fiberhttp.MountMetadata(silent, undescribed{})
	two := fiber.New(fiber.Config{DisableStartupMessage: true})
	fiberhttp.MountMetadata(two, described{})
	fiberhttp.MountMetadata(two, second{})
	two.Get("/.well-known/*", func(c *fiber.Ctx) error { return c.JSON("the program's own") })
	const notFound = `{"jsonrpc":"2.0","error":{"code":-32600,"message":"Not Found"}}`
	tests := []struct {
		app          *fiber.App
		method, path string
		status       int
		body         string
	}{
		{app, "GET", "/.well-known/oauth-protected-resource/a%2Fb", 200, `{"method":"GET"}`},
		{app, "POST", "/.well-known/oauth-protected-resource/a%2Fb", 200, `{"method":"POST"}`},
		{app, "OPTIONS", "/.well-known/oauth-protected-resource/a%2Fb?x=y", 200, `{"method":"OPTIONS"}`},
		{app, "GET", "/.well-known/oauth-protected-resource", 404, notFound},
		{app, "GET", "/.well-known/oauth-protected-resource/panic", 500, `{"jsonrpc":"2.0","error":{"code":-32603,"message":"internal error"}}`},
		{silent, "GET", "/.well-known/oauth-protected-resource", 404, notFound},
		{two, "GET", "/.well-known/oauth-protected-resource/a%2Fb", 200, `{"method":"GET"}`},
		{two, "GET", "/.well-known/oauth-protected-resource/second", 200, `"second by GET"`},
		{two, "GET", "/.well-known/oauth-protected-resource/third", 200, `"the program's own"`},
	}
	for _, tt := range tests {
		conn := start(t, tt.app, listen(t))()
		got := request(t, conn, tt.method, tt.path, "")
		if body := text(t, got); got.StatusCode != tt.status || body != tt.body || got.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s %s: %d %s %v", tt.method, tt.path, got.StatusCode, body, got.Header)
		}
	}
}
