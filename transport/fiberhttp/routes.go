package fiberhttp

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttpadaptor"

	"github.com/kagami-mcp/kagami/transport/internal/httpserver"
	"github.com/kagami-mcp/kagami/transport/internal/streamable"
)

// routed runs the handlers of the program. Like an endpoint, it checks the header of a request
// first, and reads the body into memory that grows with the data.
func routed(routes *httpserver.Routes) fiber.Handler {
	return func(f *fiber.Ctx) error {
		rc := f.Context()
		length := rc.Request.Header.ContentLength()
		if refused := routes.Refused(string(rc.Host()), int64(length)); refused != nil {
			write(rc, refused)
			return nil
		}
		body, large, err := readBody(rc, httpserver.MaxRouteBody)
		switch {
		case large:
			write(rc, streamable.TooLarge(httpserver.MaxRouteBody))
		case err != nil:
			write(rc, streamable.Refusal(http.StatusBadRequest, "the body cannot be read"))
		default:
			rc.Request.SetBody(body)
			workerOf(rc).untimed() // only a server of New has routes
			adapted(f.UserContext(), rc, routes)
		}
		return nil
	}
}

// adapted runs a handler of net/http with ctx. The adaptor would pass the RequestCtx as the
// context. Its Done must not be called while the server stops, and it does not end with the
// request. The adaptor's strings alias memory of the connection, which the next request overwrites.
func adapted(ctx context.Context, rc *fasthttp.RequestCtx, h http.Handler) {
	defer func() {
		if recover() != nil { // the adaptor has replaced the value, and routes only let this one pass
			panic(http.ErrAbortHandler)
		}
	}()
	w := workerOf(rc) // only a server of New has routes
	fasthttpadaptor.NewFastHTTPHandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithCancel(ctx)
		g := &guest{cancel: cancel, ended: make(chan struct{})}
		defer close(g.ended)
		defer cancel()
		w.guest = g // the adaptor goes on only after a flush, a hijack or the end of the handler
		r = r.WithContext(ctx)
		ownStrings(r)
		h.ServeHTTP(out, r)
	})(rc)
}

// ownStrings copies the strings of a request, because a handler of net/http may keep them.
func ownStrings(r *http.Request) {
	r.Method, r.Proto, r.Host, r.RequestURI = strings.Clone(r.Method), strings.Clone(r.Proto), strings.Clone(r.Host), strings.Clone(r.RequestURI)
	r.URL, _ = url.ParseRequestURI(r.RequestURI) // the adaptor has parsed it
	header := make(http.Header, len(r.Header))
	delete(r.Header, "Host") // as in net/http
	for name, values := range r.Header {
		for _, value := range values {
			header.Add(strings.Clone(name), strings.Clone(value))
		}
	}
	r.Header = header
	for i, coding := range r.TransferEncoding {
		r.TransferEncoding[i] = strings.Clone(coding)
	}
}

// guest is a handler of the program. After a flush it may still run when its response has ended, because the client
// has left or wants only the header.
type guest struct {
	cancel context.CancelFunc
	ended  chan struct{} // closed when the handler has returned
}

// leave ends the context of the handler, and waits for the handler, which uses the memory of the request.
func (g *guest) leave() {
	g.cancel()
	<-g.ended
}
