package fiberhttp

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/internal/httpserver"
	"github.com/kagami-mcp/kagami/transport/internal/inflight"
	"github.com/kagami-mcp/kagami/transport/internal/streamable"
)

// New returns a stand-alone HTTP server: the endpoint at /mcp, the HTTP+SSE pair at /sse
// and /messages, the authenticator's metadata at /.well-known/oauth-protected-resource,
// /healthz, and /readyz, which is 503 once the server stops. addr is host:port; ":8080" is
// port 8080 of this machine only, and an address that others can reach needs AllowedHosts.
//
// Serve may be called again after it has returned, unless there is a Listener.
func New(addr string, opts ...Option) transport.Transport {
	return &standalone{addr: addr, config: newConfig("/mcp", opts)}
}

type standalone struct {
	addr   string
	config *config
}

// readBuffer bounds the header of a request: tokens may be long. Each connection between
// requests has one, so it is not longer than that.
const readBuffer = 16 << 10

// writeBuffer is where an answer and its header are put together: most are a few KB, of
// which half is the copy as text. It stays with a connection, too. What is longer is written
// from where it is, together with the header: see [lent.Join].
const writeBuffer = 8 << 10

// Serve takes requests until ctx ends; see package transport.
func (s *standalone) Serve(ctx context.Context, host transport.Host) error {
	if g, ok := host.(interface{ CheckServable() error }); ok {
		if err := g.CheckServable(); err != nil {
			return err
		}
	}
	return s.config.Serve(ctx, s.addr, host, func(f *httpserver.Endpoints, stopping <-chan struct{}) httpserver.Server {
		run := &server{carrier: newCarrier(s.config, f), stopping: stopping}
		run.app = run.newApp()
		mountMetadata(run.app, func(f *fiber.Ctx) error {
			write(f.Context(), describe(host, f))
			return nil
		})
		if len(s.config.Routes) > 0 {
			run.app.Use(run.routed(f.Routes(&s.config.Config)))
		}
		return run
	})
}

// server is one run of a stand-alone server.
type server struct {
	*carrier
	app      *fiber.App
	stopping <-chan struct{}
}

func (s *server) newApp() *fiber.App {
	app := fiber.New(fiber.Config{
		DisableStartupMessage: true,
		CaseSensitive:         true,
		ReadBufferSize:        readBuffer,
		WriteBufferSize:       writeBuffer,
		BodyLimit:             s.front.Limit(),
		ReadTimeout:           s.ReadTimeout,
		IdleTimeout:           s.IdleTimeout,
		ErrorHandler:          s.refuse,
		// Requests are judged by their header. A body that is not small is read by the handler, in
		// memory that grows with what arrives.
		StreamRequestBody: true,
		// Forms are refused, and not taken apart before that.
		DisablePreParseMultipartForm: true,
	})
	s.again = &again{server: app.Server(), idle: app.Config().IdleTimeout, stopping: s.stopping, served: inflight.New()}
	app.Server().ConnState = func(conn net.Conn, state fasthttp.ConnState) {
		if state == fasthttp.StateIdle {
			httpserver.Answering(conn, false)
		}
	}
	route := app.Server().Handler
	app.Server().Handler = func(rc *fasthttp.RequestCtx) {
		if conn, ok := rc.Conn().(*lent); ok {
			conn.begin(&rc.Request)
			defer conn.end()
		}
		s.handle(rc, route)
	}
	app.Server().HeaderReceived, app.Server().ExpectHandler = announced, func(rc *fasthttp.RequestCtx) int { return s.judge(rc, route) }
	for path, stopping := range map[string]<-chan struct{}{httpserver.Healthz: nil, httpserver.Readyz: s.stopping} {
		app.All(path, func(f *fiber.Ctx) error {
			write(f.Context(), httpserver.Health(f.Method(), stopping))
			return nil
		})
	}
	s.mount(app, pattern)
	if s.Path != "/" && !s.Landing.Off {
		s.route(app, "/", s.front.RootOf(&s.Config))
	}
	return app
}

// handle is what fasthttp calls for each request.
func (s *server) handle(rc *fasthttp.RequestCtx, route fasthttp.RequestHandler) {
	httpserver.Answering(rc.Conn(), true)
	distrust(rc)
	if !slices.Contains(fiber.DefaultMethods, method(rc.Method())) { // Fiber's own answer is plain text
		write(rc, httpserver.NotAllowed("GET, POST, DELETE"))
		return
	}
	route(rc)
	unread(rc)
	if httpserver.Stops(s.stopping) && !answered(rc.Conn()) {
		rc.SetConnectionClose()
	}
}

// escapes of bytes in a path.
var escapes = regexp.MustCompile(`%[0-9A-Fa-f]{2}|[^\x00-\x7F]+`)

// pattern is a path for Fiber's router, which goes by the bytes that arrive: what is not
// ASCII comes with escapes, and what looks like a pattern shall be none.
func pattern(path string) string {
	path = escapes.ReplaceAllStringFunc(path, func(part string) string {
		if part[0] == '%' {
			return strings.ToUpper(part)
		}
		return url.PathEscape(part)
	})
	return strings.NewReplacer(":", `\:`, "*", `\*`, "+", `\+`).Replace(path)
}

// distrust makes the connection end with this request if the request's end is doubtful.
func distrust(rc *fasthttp.RequestCtx) {
	if doubtful(&rc.Request.Header) {
		rc.Request.Header.SetConnectionClose() // for what takes the connection over
		rc.SetConnectionClose()
	}
}

// doubtful reports whether a proxy in front may disagree about where the request ends with fasthttp,
// which goes by the chunks (request smuggling): what follows on the connection may belong to somebody
// else, so the connection must end (RFC 9112 section 6.1).
func doubtful(h *fasthttp.RequestHeader) bool {
	// With chunks it is -1, or 0 where there were none: then fasthttp has dropped the field.
	if h.ContentLength() > 0 || !sent(h, "Transfer-Encoding") {
		return false
	}
	return !h.IsHTTP11() || sent(h, "Content-Length")
}

// sent says whether the client has sent a field in the header, whatever fasthttp has made of it.
func sent(h *fasthttp.RequestHeader, name string) bool {
	for field := range lines(h) {
		if strings.EqualFold(string(bytes.TrimSpace(field)), name) {
			return true
		}
	}
	return false
}

// lines yields what each line of the header has before its colon.
func lines(h *fasthttp.RequestHeader) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for line := range bytes.SplitSeq(h.RawHeaders(), []byte("\n")) {
			if field, _, _ := bytes.Cut(line, []byte(":")); !yield(field) {
				return
			}
		}
	}
}

// refuse answers what never came to an endpoint. Fiber's own texts repeat bytes of
// the request.
func (s *server) refuse(f *fiber.Ctx, err error) error {
	status := http.StatusInternalServerError
	if fault, ok := errors.AsType[*fiber.Error](err); ok {
		status = fault.Code
	}
	if status == http.StatusRequestEntityTooLarge || status == http.StatusRequestHeaderFieldsTooLarge {
		httpserver.Unread(f.Context().Conn())
	}
	reply := streamable.Refusal(status, http.StatusText(status))
	if status == http.StatusRequestEntityTooLarge {
		reply = streamable.TooLarge(s.front.Limit())
	}
	write(f.Context(), reply)
	return nil
}

// Serve takes connections.
func (s *server) Serve(l net.Listener) error {
	return s.app.Listener(&lending{Listener: l, secure: s.Secure("http/1.1")}) // fasthttp has no other
}

// Shutdown waits for the last bytes of streams, which fasthttp does not know of, and
// for the rest.
func (s *server) Shutdown(ctx context.Context) error {
	given := s.again.served.Close() // no connection goes on after its stream any more
	select {
	case <-s.streams.Close():
	case <-ctx.Done():
	}
	err := s.app.ShutdownWithContext(ctx)
	select {
	case <-given:
	case <-ctx.Done():
	}
	return err
}
