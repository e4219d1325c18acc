package main

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/middleware/recover"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/transport/fiberhttp"
	"github.com/kagami-mcp/kagami/transport/nethttp"
)

type tenantKey struct{}

// TenantFrom returns the tenant that the program has put into the context.
func TenantFrom(ctx context.Context) string {
	tenant, _ := ctx.Value(tenantKey{}).(string)
	return tenant
}

// UnderFiber mounts the server beside the routes of a Fiber app, behind the app's middleware.
func UnderFiber(server *framework.Server) *fiber.App {
	app := fiber.New(fiber.Config{ReadBufferSize: 16 << 10, ReadTimeout: 5 * time.Second, DisableStartupMessage: true})
	app.Use(recover.New())
	app.Get("/", func(c *fiber.Ctx) error { return c.SendString("my own page") })

	fiberhttp.Mount(app.Group("/mcp"), server,
		fiberhttp.AllowedHosts("mcp.example.com"),
		fiberhttp.Context(func(ctx context.Context, c *fiber.Ctx) context.Context {
			// Only behind a proxy that sets X-Tenant itself: otherwise a client chooses its tenant.
			return context.WithValue(ctx, tenantKey{}, strings.Clone(c.Get("X-Tenant")))
		}),
	)
	return app
}

// UnderNetHTTP does the same with a mux of net/http.
func UnderNetHTTP(server *framework.Server) http.Handler {
	endpoint := nethttp.Handler(server, nethttp.AllowedHosts("mcp.example.com"))
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("my own page")) })
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		ctx := context.WithValue(r.Context(), tenantKey{}, r.Header.Get("X-Tenant")) // only behind a proxy that sets it
		endpoint.ServeHTTP(w, r.WithContext(ctx))
	})
	return mux
}

// Anywhere serves without sessions.
func Anywhere(server *framework.Server) http.Handler {
	return nethttp.Handler(server, nethttp.Stateless(), nethttp.AllowedHosts("mcp.example.com"))
}

// Stop ends a program that mounts the server. It first stops the server, so that calls are answered
// and streams end. Then it stops the Fiber app.
func Stop(server *framework.Server, app *fiber.App) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return errors.Join(server.Shutdown(ctx), app.ShutdownWithContext(ctx))
}
