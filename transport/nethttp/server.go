package nethttp

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"strings"

	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/internal/httpserver"
	"github.com/kagami-mcp/kagami/transport/internal/legacysse"
	"github.com/kagami-mcp/kagami/transport/internal/streamable"
)

// New returns a stand-alone HTTP server. It serves the endpoint at /mcp, the HTTP+SSE pair at /sse
// and /messages, and the authenticator's metadata at /.well-known/oauth-protected-resource.
// /healthz and /readyz are health checks; /readyz is 503 once the server stops.
//
// addr is host:port. ":8080" is port 8080 of this machine only. An address that other machines can
// reach needs AllowedHosts. With TLS the server also speaks HTTP/2.
//
// Serve may be called again after it has returned, unless there is a Listener.
func New(addr string, opts ...Option) transport.Transport {
	return &standalone{addr: addr, config: newConfig(opts)}
}

type standalone struct {
	addr   string
	config *config
}

// maxHeader bounds the header of a request in bytes; tokens may be long.
const maxHeader = 32 << 10

// Serve accepts requests until ctx ends; see package transport.
func (s *standalone) Serve(ctx context.Context, host transport.Host) error {
	return s.config.Serve(ctx, s.addr, host, func(f *httpserver.Endpoints, stopping <-chan struct{}) httpserver.Server {
		return s.config.server(f, stopping, Metadata(host))
	})
}

// server returns the HTTP server of one run.
func (c *config) server(f *httpserver.Endpoints, stopping <-chan struct{}, metadata http.Handler) httpserver.Server {
	return &server{http.Server{
		Handler:           marking(c.mux(f, stopping, metadata), stopping),
		TLSConfig:         c.Secure(f.Log(), "h2", "http/1.1"),
		ReadHeaderTimeout: c.ReadTimeout,
		ReadTimeout:       c.ReadTimeout,
		IdleTimeout:       c.IdleTimeout,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          log.New(io.Discard, "", 0), //nolint:forbidigo // net/http would log errors that clients cause
		ConnContext: func(ctx context.Context, conn net.Conn) context.Context {
			return context.WithValue(ctx, connKey{}, conn)
		},
		ConnState: func(conn net.Conn, state http.ConnState) {
			if state == http.StateIdle {
				httpserver.Answering(conn, false)
			}
		},
	}}
}

func (c *config) mux(f *httpserver.Endpoints, stopping <-chan struct{}, metadata http.Handler) http.Handler {
	mux := http.NewServeMux()
	door := func(path string, d httpserver.Endpoint) {
		h := &handler{config: c, log: f.Log(), limit: f.Limit(), door: d}
		path = strings.TrimSuffix(path, "/") // a pattern with a slash at its end matches all paths below
		if path != "" {
			mux.Handle(path, h)
		}
		mux.Handle(path+"/{$}", h) // most users expect both paths to work
	}
	say := func(path string, reply func(method string) *streamable.Reply) {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			_ = newSink(w, r, c).whole(reply(r.Method)) // the client may have disconnected, which does not matter here
		})
	}
	door(c.Path, f.MainOf(&c.Config))
	if !c.NoSSE {
		door(c.Beside(httpserver.SSE), f.Old(legacysse.Stream, httpserver.Messages))
		door(c.Beside(httpserver.Messages), f.Old(legacysse.Messages, httpserver.Messages))
	}
	mux.Handle(httpserver.Metadata, metadata)
	mux.Handle(httpserver.Metadata+"/", metadata)
	say(httpserver.Healthz, func(method string) *streamable.Reply { return httpserver.Health(method, nil) })
	say(httpserver.Readyz, func(method string) *streamable.Reply { return httpserver.Health(method, stopping) })
	if c.Path != "/" && !c.Landing.Off {
		mux.Handle("/{$}", &handler{config: c, log: f.Log(), limit: f.Limit(), door: f.RootOf(&c.Config)})
	}
	mux.Handle("/", arriving(f.Routes(&c.Config)))
	return mux
}

type connKey struct{}

// marking marks the connections that have a request (httpserver.Answering). A POST is marked only
// when its body has been read, so that a stopping server does not wait for a client that stalls.
func marking(next http.Handler, stopping <-chan struct{}) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			answering(r)
		}
		if httpserver.Stops(stopping) {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}

// arriving marks the connection of a request to a handler of the program when the handler has read the body; see
// marking.
func arriving(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength == 0 {
			answering(r)
		}
		asked := r.WithContext(r.Context()) // a copy, because net/http must not see the replaced body
		asked.Body = &arrivingBody{ReadCloser: r.Body, asked: r, left: r.ContentLength}
		next.ServeHTTP(w, asked)
	})
}

// arrivingBody is the body of a request to a handler of the program.
type arrivingBody struct {
	io.ReadCloser
	asked *http.Request
	left  int64 // bytes that are still to come; negative if the length was not announced
}

// Read marks the connection at the end of the body.
func (b *arrivingBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.left -= int64(n)
	if n > 0 && b.left == 0 || errors.Is(err, io.EOF) {
		answering(b.asked)
	}
	return n, err //nolint:wrapcheck // it is the body's
}

// answering marks the connection of a request that was read completely.
func answering(r *http.Request) {
	if conn, ok := r.Context().Value(connKey{}).(net.Conn); ok {
		httpserver.Answering(conn, true)
	}
}

// server is one run of a stand-alone server.
type server struct{ http.Server }

// Serve accepts connections.
func (s *server) Serve(l net.Listener) error {
	if s.TLSConfig != nil {
		return s.ServeTLS(l, "", "")
	}
	return s.Server.Serve(l)
}
