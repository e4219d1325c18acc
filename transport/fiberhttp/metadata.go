package fiberhttp

import (
	"github.com/gofiber/fiber/v2"

	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/internal/front"
)

// MountMetadata serves RFC 9728 metadata at the root of the host, where Mount under a
// prefix cannot reach. The host's authenticator provides it, as those of middleware/auth
// do; with one that does not, it is 404. Servers of New have it already.
//
// The metadata is for everybody, so hosts and origins are not checked: the options have no
// effect.
func MountMetadata(app *fiber.App, host transport.Host, _ ...Option) {
	serve := func(f *fiber.Ctx) error {
		rc := f.Context()
		defer func() {
			if value := recover(); value != nil { // it would end the process
				rc.Response.Reset()
				write(rc, front.Broken(value))
			}
		}()
		write(rc, front.Describe(host, string(rc.Method()), string(rc.URI().PathOriginal())))
		return nil
	}
	app.All(front.Metadata, serve)
	app.All(front.Metadata+"/*", serve)
}
