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
	"sync"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/internal/httpserver"
	"github.com/kagami-mcp/kagami/transport/internal/inflight"
	"github.com/kagami-mcp/kagami/transport/internal/streamable"
)

// New returns a stand-alone HTTP server. It serves the endpoint at /mcp, the HTTP+SSE pair at /sse
// and /messages, and the authenticator's metadata at /.well-known/oauth-protected-resource.
// /healthz and /readyz are health checks; /readyz is 503 once the server stops.
//
// addr is host:port. ":8080" is port 8080 of this machine only. An address that other machines can
// reach needs AllowedHosts.
//
// Serve may be called again after it has returned, unless there is a Listener.
func New(addr string, opts ...Option) transport.Transport {
	return &standalone{addr: addr, config: newConfig("/mcp", opts)}
}

type standalone struct {
	addr   string
	config *config
}

// readBuffer bounds the header of a request in bytes; tokens may be long. Each connection that
// fasthttp serves keeps such a buffer, so it is not larger.
const readBuffer = 16 << 10

// writeBuffer is the size in bytes of the buffer for an answer and its header. Most answers have a
// few KB, half of them for the copy as text. Each connection keeps such a buffer. A longer answer
// is written from its own memory, together with the header; see [lent.Join].
const writeBuffer = 8 << 10

// Serve accepts requests until ctx ends; see package transport.
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
		// Requests are checked by their header. The handler reads a body that is not small, into
		// memory that grows with the data.
		StreamRequestBody: true,
		// Forms are refused without being parsed.
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

// handle is called by fasthttp for each request.
func (s *server) handle(rc *fasthttp.RequestCtx, route fasthttp.RequestHandler) {
	httpserver.Answering(rc.Conn(), true)
	distrust(rc)
	if !slices.Contains(fiber.DefaultMethods, method(rc.Method())) { // Fiber would answer in plain text
		write(rc, httpserver.NotAllowed("GET, POST, DELETE"))
		return
	}
	route(rc)
	unread(rc)
	if httpserver.Stops(s.stopping) && !answered(rc.Conn()) {
		rc.SetConnectionClose()
	}
}

// escapes returns what matches the escaped or non-ASCII bytes in a path.
var escapes = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`%[0-9A-Fa-f]{2}|[^\x00-\x7F]+`) })

// pattern returns path for Fiber's router, which compares it with the bytes of the request.
// Non-ASCII bytes arrive escaped. Characters that are special in a pattern are quoted.
func pattern(path string) string {
	path = escapes().ReplaceAllStringFunc(path, func(part string) string {
		if part[0] == '%' {
			return strings.ToUpper(part)
		}
		return url.PathEscape(part)
	})
	return strings.NewReplacer(":", `\:`, "*", `\*`, "+", `\+`).Replace(path)
}

// distrust makes the connection end with this request if it is doubtful where the request ends.
func distrust(rc *fasthttp.RequestCtx) {
	if doubtful(&rc.Request.Header) {
		rc.Request.Header.SetConnectionClose() // for a stream that takes over the connection
		rc.SetConnectionClose()
	}
}

// doubtful reports whether a proxy may disagree with fasthttp about the end of the request (request
// smuggling); fasthttp goes by the chunks. The bytes that follow may then belong to another client,
// so the connection must end (RFC 9112 section 6.1).
func doubtful(h *fasthttp.RequestHeader) bool {
	// With chunks the length is -1, or 0 if there were none; then fasthttp has removed the field.
	if h.ContentLength() > 0 || !sent(h, "Transfer-Encoding") {
		return false
	}
	return !h.IsHTTP11() || sent(h, "Content-Length")
}

// sent reports whether the client has sent a header field, even if fasthttp has removed or changed
// it.
func sent(h *fasthttp.RequestHeader, name string) bool {
	for field := range lines(h) {
		if strings.EqualFold(string(bytes.TrimSpace(field)), name) {
			return true
		}
	}
	return false
}

// lines yields the text before the colon of each header line.
func lines(h *fasthttp.RequestHeader) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for line := range bytes.SplitSeq(h.RawHeaders(), []byte("\n")) {
			if field, _, _ := bytes.Cut(line, []byte(":")); !yield(field) {
				return
			}
		}
	}
}

// refuse answers requests that did not reach an endpoint. Fiber's own texts repeat bytes of the
// request.
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

// Serve accepts connections.
func (s *server) Serve(l net.Listener) error {
	return s.app.Listener(&lending{Listener: l, secure: s.Secure("http/1.1")}) // fasthttp has no other method for a listener
}

// Shutdown waits for the end of streams, which fasthttp does not count, and then shuts fasthttp
// down.
func (s *server) Shutdown(ctx context.Context) error {
	given := s.again.served.Close() // from now on connections close after their stream
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
