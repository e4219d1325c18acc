package fiberhttp

import (
	"errors"
	"net/http"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/internal/hostcall"
	"github.com/kagami-mcp/kagami/transport/internal/httpserver"
	"github.com/kagami-mcp/kagami/transport/internal/streamable"
)

// MountMetadata serves RFC 9728 metadata at the root of the host, which Mount under a prefix cannot
// reach. The host's authenticator provides the metadata, as the authenticators of middleware/auth
// do. If it does not, the answer is 404. Servers of New serve the metadata without MountMetadata.
//
// The metadata is public, so hosts and origins are not checked, and the options have no effect. If
// the host has no metadata for a path, the app's next matching route answers, such as another host
// whose endpoint has another path. For the path without an endpoint, the first host with metadata
// answers.
func MountMetadata(app *fiber.App, host transport.Host, _ ...Option) {
	log := hostcall.NewLog(host, time.Minute)
	mountMetadata(app, func(f *fiber.Ctx) error {
		reply := describe(log, host, f)
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

// describe returns the host's answer. It recovers a panic, which would end the process.
func describe(log *hostcall.Log, host transport.Host, f *fiber.Ctx) (reply *streamable.Reply) {
	defer func() {
		if value := recover(); value != nil {
			reply = httpserver.Broken(log, value)
		}
	}()
	return httpserver.Describe(host, string(f.Context().Method()), string(f.Context().URI().PathOriginal()))
}
