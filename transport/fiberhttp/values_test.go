package fiberhttp_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/gofiber/fiber/v2"

	"github.com/kagami-mcp/kagami/testkit/transporttest"
	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/fiberhttp"
)

// TestContextOfFasthttp checks that a context that derives from fasthttp's own, as tracers make it,
// has the values of its request in time. Afterwards it never has the values of the next request on
// the connection.
func TestContextOfFasthttp(t *testing.T) {
	t.Parallel()
	derive := func(c *fiber.Ctx) context.Context {
		who := strings.Clone(c.Get("X-Who"))
		c.Locals("asked", who)
		c.Locals("unasked", who)
		return transport.WithPrincipal(c.Context(), &transport.Principal{Subject: who})
	}
	for name, mount := range map[string]func(app *fiber.App, host transport.Host){
		"UserContext": func(app *fiber.App, host transport.Host) {
			app.Use(func(c *fiber.Ctx) error {
				c.SetUserContext(derive(c))
				return c.Next()
			})
			fiberhttp.Mount(app, host)
		},
		"option": func(app *fiber.App, host transport.Host) {
			fiberhttp.Mount(app, host, fiberhttp.Context(func(_ context.Context, c *fiber.Ctx) context.Context { return derive(c) }))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			host := &keeping{}
			app := fiber.New(quiet(fiber.Config{}))
			mount(app, host)
			conn := start(t, app, nil)()
			for _, who := range []string{"alice", "bob"} {
				text(t, request(t, conn, "POST", "/", transporttest.Frame("echo", "1"), "X-Who: "+who))
			}
			want := []any{"alice", "alice", "alice", nil, "alice", "bob", "bob"}
			if !slices.Equal(host.seen, want) {
				t.Errorf("seen is %v, want %v", host.seen, want)
			}
		})
	}
}

// keeping is a host that keeps the contexts of its requests, and looks into all of them at each.
type keeping struct {
	contexts []context.Context
	seen     []any // of each: asked, unasked unless it is the current one, principal
}

// Accept implements transport.Host.
func (k *keeping) Accept(ctx context.Context, _ []byte) (transport.Exchange, error) {
	for _, earlier := range k.contexts {
		k.seen = append(k.seen, earlier.Value("asked"), earlier.Value("unasked"), transport.PrincipalFrom(earlier).Subject)
	}
	k.contexts = append(k.contexts, ctx)
	k.seen = append(k.seen, ctx.Value("asked"), transport.PrincipalFrom(ctx).Subject)
	return silent{}, nil
}

// silent is an exchange that sends nothing.
type silent struct{}

// Serve implements transport.Exchange.
func (silent) Serve(context.Context, transport.Outbound) error { return nil }
