package fiberhttp

import (
	"net/http"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp/fasthttpadaptor"

	"github.com/kagami-mcp/kagami/transport/internal/front"
	"github.com/kagami-mcp/kagami/transport/streamable"
)

// routed runs the handlers of the program's own. Like an endpoint it judges a request by its header
// first, and reads a body in memory that grows with what arrives.
func (s *server) routed(routes *front.Routes) fiber.Handler {
	run := fasthttpadaptor.NewFastHTTPHandler(routes)
	return func(f *fiber.Ctx) error {
		rc := f.Context()
		length := rc.Request.Header.ContentLength()
		if refused := routes.Refused(string(rc.Host()), int64(length)); refused != nil {
			write(rc, refused)
			return nil
		}
		if first, early := rc.UserValue(verdictKey{}).(*verdict); early && !first.wanted {
			first.wanted = true
			write(rc, &streamable.Reply{Status: http.StatusContinue})
			return nil
		}
		body, large, err := readBody(rc, front.MaxRouteBody)
		switch {
		case large:
			write(rc, streamable.TooLarge(front.MaxRouteBody))
		case err != nil:
			write(rc, streamable.Refusal(http.StatusBadRequest, "the body cannot be read"))
		default:
			rc.Request.SetBody(body)
			run(rc)
		}
		return nil
	}
}
