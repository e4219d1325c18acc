package fiberhttp

import (
	"errors"
	"net/http"

	"github.com/gofiber/fiber/v2"

	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/internal/httpserver"
	"github.com/kagami-mcp/kagami/transport/internal/streamable"
)

// MountMetadata serves RFC 9728 metadata at the root of the host, where Mount under a
// prefix cannot reach. The host's authenticator provides it, as those of middleware/auth
// do; with one that does not, it is 404. Servers of New have it already.
//
// The metadata is for everybody, so hosts and origins are not checked: the options have no
// effect. Where the host has no metadata, the app's next route that matches answers: that of
// another host, whose endpoint has another path, for instance. At the place without a path
// the first host answers that has any.
func MountMetadata(app *fiber.App, host transport.Host, _ ...Option) {
	mountMetadata(app, func(f *fiber.Ctx) error {
		reply := describe(host, f)
		if reply.Status == http.StatusNotFound {
			err := f.Next()
			if e, ok := errors.AsType[*fiber.Error](err); !ok || e.Code != fiber.StatusNotFound {
				return err
			}
		}
		write(f.Context(), reply)
		return nil
	})
}

func mountMetadata(app *fiber.App, serve fiber.Handler) {
	app.All(httpserver.Metadata, serve)
	app.All(httpserver.Metadata+"/*", serve)
}

// describe is the host's answer. A panic in it would end the process.
func describe(host transport.Host, f *fiber.Ctx) (reply *streamable.Reply) {
	defer func() {
		if value := recover(); value != nil {
			reply = httpserver.Broken(value)
		}
	}()
	return httpserver.Describe(host, string(f.Context().Method()), string(f.Context().URI().PathOriginal()))
}
