package fiberhttp

import (
	"context"
	"net/http"
	"sync"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/internal/httpserver"
	"github.com/kagami-mcp/kagami/transport/internal/legacysse"
	"github.com/kagami-mcp/kagami/transport/internal/streamable"
)

// Mount serves the endpoint under the program's own app or group: at the router's own path or at
// Path, with the HTTP+SSE pair beside it. The app may itself be mounted in another app.
//
// Options for a server have no effect, because the app has its own.
func Mount(r fiber.Router, host transport.Host, opts ...Option) {
	c := newConfig("/", opts)
	c.Mounted(host)
	newCarrier(c, httpserver.New(host, c.Config.Config)).mount(r, func(path string) string { return path })
}

// carrier is one endpoint with its HTTP+SSE pair.
type carrier struct {
	*config
	front   *httpserver.Endpoints
	memory  httpserver.Memory // for long answers
	buffers sync.Pool         // buffers of streams, while they write
}

func newCarrier(c *config, f *httpserver.Endpoints) *carrier {
	return &carrier{config: c, front: f}
}

// mount adds routes for the carrier's paths. pattern spells a path for the router.
func (c *carrier) mount(r fiber.Router, pattern func(path string) string) {
	c.route(r, pattern(c.Path), c.front.MainOf(&c.Config))
	if !c.NoSSE {
		c.route(r, pattern(c.Beside(httpserver.SSE)), c.front.Old(legacysse.Stream, httpserver.Messages))
		c.route(r, pattern(c.Beside(httpserver.Messages)), c.front.Old(legacysse.Messages, httpserver.Messages))
	}
}

// route sends all methods to the endpoint, which also answers the methods that it does not serve.
// Otherwise Fiber would run the handler of GET for HEAD.
func (c *carrier) route(r fiber.Router, path string, door httpserver.Endpoint) {
	serve := func(f *fiber.Ctx) error {
		c.serve(f, door)
		return nil // errors do not reach the app's ErrorHandler
	}
	r.All(path, serve)
	if _, group := r.(*fiber.Group); group && path == "/" {
		r.All("", serve) // StrictRouting distinguishes the two paths
	}
}

// serve answers one request. It recovers a panic of a handler, which would end the process unless
// the program has middleware that recovers.
func (c *carrier) serve(f *fiber.Ctx, door httpserver.Endpoint) {
	rc := f.Context()
	distrust(rc) // again, for apps of the program
	defer func() {
		if value := recover(); value != nil {
			rc.Response.Reset()
			write(rc, httpserver.Broken(c.front.Log(), value))
		}
	}()
	ctx := f.UserContext()
	if c.context != nil {
		ctx = c.context(ctx, f)
	}
	ctx, end := borrow(ctx, rc)
	defer end()
	defer unread(rc)
	switch reply := c.answer(ctx, rc, door); {
	case reply.Hijacked:
	case reply.Stream != nil:
		c.stream(context.WithoutCancel(ctx), rc, reply.Stream)
	default:
		write(rc, reply)
	}
}

func (c *carrier) answer(ctx context.Context, rc *fasthttp.RequestCtx, door httpserver.Endpoint) *streamable.Reply {
	r, ok := readRequest(rc)
	if !ok {
		return streamable.Refusal(http.StatusBadRequest, "the target names another host")
	}
	pending, refused := door(ctx, &r.Request)
	if refused != nil {
		return refused
	}
	if r.Method != http.MethodPost {
		return pending.Serve(nil)
	}
	body, large, err := readBody(rc, c.front.Limit())
	w := workerOf(rc)
	switch {
	case large:
		return pending.TooLarge(c.front.Limit())
	case err != nil:
		return pending.Unreadable()
	case w == nil:
		return pending.Serve(body)
	}
	r.Buffers, r.Hijacker = w, w
	defer func() { r.Buffers, r.Hijacker = nil, nil }() // the request may be kept, the worker must not be
	return w.settle(pending.Serve(body))
}

// write makes reply an ordinary response. The body is not copied.
func write(rc *fasthttp.RequestCtx, reply *streamable.Reply) {
	rc.Response.SetStatusCode(reply.Status)
	for _, f := range reply.Header {
		switch f.Name {
		case "Content-Type":
			rc.Response.Header.SetContentType(f.Value)
		case "Vary":
			rc.Response.Header.Add(f.Name, f.Value) // keeps the values of middleware
		case "Cache-Control", "X-Accel-Buffering": // of each event stream; the names are already canonical
			rc.Response.Header.SetCanonical([]byte(f.Name), []byte(f.Value))
		default:
			rc.Response.Header.Set(f.Name, f.Value)
		}
	}
	rc.Response.SetBodyRaw(reply.Body)
}
