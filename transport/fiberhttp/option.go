package fiberhttp

import (
	"context"
	"crypto/tls"
	"net"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/kagami-mcp/kagami/transport/internal/front"
)

// Option configures New and Mount. Of an option that is given twice the last one holds, but
// hosts, origins and functions of OnListen add up; zero and less is the default.
// One that is nil is an error of Serve; Mount, which has none, does
// without it.
type Option interface{ option(*config) }

type optionFunc func(*config)

func (f optionFunc) option(c *config) { f(c) }

type config struct {
	front.Config
	context func(ctx context.Context, c *fiber.Ctx) context.Context
}

func newConfig(endpoint string, opts []Option) *config {
	var c config
	for _, o := range opts {
		if o == nil {
			c.Fault = front.ErrNilOption
			continue
		}
		o.option(&c)
	}
	c.Config = c.WithDefaults(endpoint)
	return &c
}

// Path of the endpoint, with escapes as in a URL; default "/mcp" for New, "/" of the router
// for Mount. New takes it literally, Mount as the router does, which knows parameters. The
// HTTP+SSE pair is beside it: "/sse" and "/messages". Where New cannot be, because no
// request has the path or the server has something else there, is an error of Serve.
func Path(path string) Option {
	return optionFunc(func(c *config) { c.Path = path })
}

// AllowedOrigins are pages that may call besides those of loopback and of the server's
// own host: "https://app.example.com". They get CORS header fields. Each is named: there
// is no "*", and what is no origin is an error of Serve.
func AllowedOrigins(origins ...string) Option {
	return optionFunc(func(c *config) { c.AllowedOrigins = append(c.AllowedOrigins, origins...) })
}

// AllowedHosts are names under which clients reach the server besides those of
// loopback; without a port any port is meant. "*" is any name, for servers behind a
// proxy that checks. An empty name is none, and what is no host name, such as a URL, is an
// error of Serve.
func AllowedHosts(hosts ...string) Option {
	return optionFunc(func(c *config) { c.AllowedHosts = append(c.AllowedHosts, hosts...) })
}

// BodyLimit of a POST in bytes; default 4 MiB.
func BodyLimit(n int) Option {
	return optionFunc(func(c *config) { c.BodyLimit = n })
}

// Heartbeat of streams on which nothing else is sent; default 15 s.
func Heartbeat(d time.Duration) Option {
	return optionFunc(func(c *config) { c.Heartbeat = d })
}

// Retry is what clients are told to wait before they resume; default 500 ms.
func Retry(d time.Duration) Option {
	return optionFunc(func(c *config) { c.Retry = d })
}

// SessionIdle is how long a session lives without requests and streams; default 30
// minutes. One in which nothing came after initialize lives for a minute at most.
func SessionIdle(d time.Duration) Option {
	return optionFunc(func(c *config) { c.SessionIdle = d })
}

// Stateless keeps no sessions, so that any of several processes takes any request without a
// shared store: what was said in initialize is forgotten, and clients of the handshake
// revisions get no session id. Handlers cannot ask them anything (ErrUnsupported), a call
// cannot be cancelled, there is no stream of GET, no subscription, no list_changed and no log
// message, a response that broke is lost, and HTTP+SSE is left out. 2026-07-28, which has no
// sessions, is as it is without. A task that belongs to no principal is whose who knows its
// id; several processes need a store for tasks, and WithStateSecrets for questions on
// 2026-07-28.
func Stateless() Option {
	return optionFunc(func(c *config) { c.Stateless, c.NoSSE = true, true })
}

// MaxSessions of each of the two bindings; default 65,536. Of those of Streamable HTTP one
// client, which is a principal or else an address, may have a quarter.
func MaxSessions(n int) Option {
	return optionFunc(func(c *config) { c.MaxSessions = n })
}

// MaxStreams open at once for one session, principal or else address; default 1,024.
func MaxStreams(n int) Option {
	return optionFunc(func(c *config) { c.MaxStreams = n })
}

// ReadTimeout of the header and body of a request to New; default 30 s.
func ReadTimeout(d time.Duration) Option {
	return optionFunc(func(c *config) { c.ReadTimeout = d })
}

// IdleTimeout of a connection of New between two requests; default 120 s.
func IdleTimeout(d time.Duration) Option {
	return optionFunc(func(c *config) { c.IdleTimeout = d })
}

// WriteTimeout is when a client that does not read is given up; default 10 s. It is not
// the time of a whole response. Short answers of Mount have the app's own; a stream there
// waits as long for its connection, which comes when all middleware has run.
func WriteTimeout(d time.Duration) Option {
	return optionFunc(func(c *config) { c.WriteTimeout = d })
}

// Grace is how long Serve of New waits for accepted exchanges when it ends; default
// 30 s. Those that run on are cancelled then and have two more seconds; what is left to be
// written, and a handler that does not end, has WriteTimeout. It waits no longer than the
// host for what does not end: see [transport.Quitter].
func Grace(d time.Duration) Option {
	return optionFunc(func(c *config) { c.Grace = d })
}

// TLS makes New serve https. A configuration without a certificate is an error of Serve.
func TLS(cfg *tls.Config) Option {
	return optionFunc(func(c *config) { c.TLS = cfg })
}

// Listener replaces the address of New, which closes it in the end. AllowedHosts are not
// demanded of one that others reach, but without them only names of loopback are served.
func Listener(l net.Listener) Option {
	return optionFunc(func(c *config) { c.Listener = l })
}

// OnListen is called with the address that New is bound to, before the first connection is
// taken. Several are called in turn.
func OnListen(fn func(net.Addr)) Option {
	return optionFunc(func(c *config) {
		before := c.OnListen
		c.OnListen = func(bound net.Addr) {
			for _, each := range []func(net.Addr){before, fn} {
				if each != nil {
					each(bound)
				}
			}
		}
	})
}

// WithoutHTTPSSE leaves the pair of 2024-11-05 out.
func WithoutHTTPSSE() Option {
	return optionFunc(func(c *config) { c.NoSSE = true })
}

// Context makes the handlers' context carry what the program's own Fiber middleware
// found out, such as transport.WithPrincipal. It runs once a request, before anything
// is decided; what it takes from c it has to copy, since Fiber uses that memory again.
func Context(fn func(ctx context.Context, c *fiber.Ctx) context.Context) Option {
	return optionFunc(func(c *config) { c.context = fn })
}
