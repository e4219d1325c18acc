package fiberhttp

import (
	"net/http"

	"github.com/gofiber/fiber/v2"

	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/internal/front"
	"github.com/kagami-mcp/kagami/transport/streamable"
)

// wellKnown is where clients look for metadata (RFC 9728 §3): there, and below with the
// path of the endpoint.
const wellKnown = "/.well-known/oauth-protected-resource"

// describer is an authenticator that tells clients where to get tokens. An answer
// without a body is an error, whose body is the carrier's, or nothing at all.
type describer interface {
	ServeMetadata(method, path string) (status int, header http.Header, body []byte)
}

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
		write(rc, describe(host, string(rc.Method()), string(rc.URI().PathOriginal())))
		return nil
	}
	app.All(wellKnown, serve)
	app.All(wellKnown+"/*", serve)
}

func describe(host transport.Host, method, path string) *streamable.Reply {
	status, header, body := http.StatusNotFound, http.Header(nil), []byte(nil)
	if server, ok := host.(transport.Server); ok {
		if d, ok := server.Authenticator().(describer); ok {
			status, header, body = d.ServeMetadata(method, path)
		}
	}
	reply := &streamable.Reply{Status: status, Body: body}
	if status >= http.StatusBadRequest {
		reply = streamable.Refusal(status, http.StatusText(status))
	}
	for name := range header {
		reply.Header = append(reply.Header, streamable.Field{Name: name, Value: header.Get(name)})
	}
	return reply
}
