package fiberhttp

import (
	"bytes"
	"context"
	"crypto/tls"
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
	"github.com/kagami-mcp/kagami/transport/internal/workerpool"
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

// Serve accepts requests until ctx ends; see package transport.
func (s *standalone) Serve(ctx context.Context, host transport.Host) error {
	return s.config.Serve(ctx, s.addr, host, func(f *httpserver.Endpoints, stopping <-chan struct{}) httpserver.Server {
		run := &server{carrier: newCarrier(s.config, f), stopping: stopping, open: inflight.New()}
		run.goroutines = workerpool.New(stopping, func(serve func()) { serve() })
		run.app = run.newApp()
		mountMetadata(run.app, func(f *fiber.Ctx) error {
			write(f.Context(), describe(run.front.Log(), host, f))
			return nil
		})
		if len(s.config.Routes) > 0 {
			run.app.Use(routed(f.Routes(&s.config.Config)))
		}
		return run
	})
}

// server is one run of a stand-alone server. It reads HTTP with the parser of fasthttp, in a loop of
// its own (ADR 39), and passes the requests to a Fiber app.
//
// Serve sets route before it accepts a connection; nothing changes after that. The pool ends its idle
// goroutines when stopping is closed, and the others after their connection.
type server struct {
	*carrier
	app      *fiber.App
	route    fasthttp.RequestHandler // of the app
	stopping <-chan struct{}
	open     *inflight.Counter // connections

	goroutines *workerpool.Pool[func()] // of connections
}

func (s *server) newApp() *fiber.App {
	app := fiber.New(fiber.Config{CaseSensitive: true, ErrorHandler: refuse})
	for path, stopping := range map[string]<-chan struct{}{httpserver.Healthz: nil, httpserver.Readyz: s.stopping} {
		app.All(path, func(f *fiber.Ctx) error {
			write(f.Context(), httpserver.Health(f.Method(), stopping))
			return nil
		})
	}
	s.mount(app, pattern)
	if s.Path != "/" && !s.Landing.Off {
		s.carrier.route(app, "/", s.front.RootOf(&s.Config))
	}
	return app
}

// handle answers one request. It does not write the response.
func (s *server) handle(rc *fasthttp.RequestCtx) {
	distrust(rc)
	if !slices.Contains(fiber.DefaultMethods, method(rc.Method())) { // Fiber would answer in plain text
		write(rc, httpserver.NotAllowed("GET, POST, DELETE"))
		return
	}
	s.route(rc)
}

// stops reports whether connections end with their response.
func (s *server) stops() bool { return httpserver.Stops(s.stopping) }

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
	return !h.IsHTTP11() || sent(h, "Content-Length") || h.ContentLength() < chunked // another coding, without a length
}

// connectionFlags reports whether the client wants the connection to end, and whether it waits for "100 Continue".
// HTTP/1.0 does not have the latter (RFC 9110 section 10.1.1). fasthttp recognizes only the text "close",
// but the option may be in any case, and one of several (RFC 9110 section 7.6.1).
func connectionFlags(h *fasthttp.RequestHeader) (end, more bool) {
	for name, value := range h.All() { // Peek would normalize each name
		switch string(name) {
		case "Connection":
			for option := range bytes.SplitSeq(value, []byte(",")) {
				end = end || bytes.EqualFold(bytes.TrimSpace(option), []byte("close"))
			}
		case "Expect":
			more = more || h.IsHTTP11() && bytes.EqualFold(value, []byte("100-continue"))
		}
	}
	return end, more
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
func refuse(f *fiber.Ctx, err error) error {
	status := http.StatusInternalServerError
	if fault, ok := errors.AsType[*fiber.Error](err); ok {
		status = fault.Code
	}
	write(f.Context(), streamable.Refusal(status, http.StatusText(status)))
	return nil
}

// Serve accepts connections.
func (s *server) Serve(l net.Listener) error {
	s.route = s.app.Handler()
	secure := s.Secure(s.front.Log(), "http/1.1")
	for {
		accepted, err := l.Accept()
		if err != nil {
			return err //nolint:wrapcheck // the caller does
		}
		if secure != nil {
			accepted = tls.Server(accepted, secure)
		}
		s.open.Add()
		c := &conn{Conn: accepted, server: s}
		s.goroutines.Run(func() { c.serve(s.ReadTimeout) })
	}
}

// Shutdown waits for the end of all connections.
func (s *server) Shutdown(ctx context.Context) error {
	select {
	case <-s.open.Close():
		return nil
	case <-ctx.Done():
		return ctx.Err() //nolint:wrapcheck // it is the caller's
	}
}
