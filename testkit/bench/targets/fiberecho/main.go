// Command fiberecho is what Fiber costs without MCP: it answers with ready bytes.
package main

import (
	"context"
	"net"
	"os"
	"os/signal"
	"syscall"

	"github.com/gofiber/fiber/v2" //nolint:depguard // bare Fiber is what is measured

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
	app := fiber.New(fiber.Config{DisableStartupMessage: true})
	app.Post("/mcp", func(c *fiber.Ctx) error {
		c.Context().SetContentType(echo.Kind)
		if echo.Close {
			c.Context().SetConnectionClose()
		}
		response := c.Response()
		response.SwapBody(echo.Append(response.SwapBody(nil)[:0], c.Body()))
		return nil
	})
	return app.Listener(l)
}
