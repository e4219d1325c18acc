package fiberhttp

import (
	"github.com/gofiber/fiber/v2"

	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/internal/front"
)

// MountMetadata puts RFC 9728 metadata at the root of the host, where Mount under a
// prefix cannot reach. It is what the host's authenticator says, and 404 for one that
// says nothing; middleware/auth makes those that do. Servers of New have it already.
//
// What it says is for everybody, so that hosts and origins are not checked: the options
// change nothing.
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
