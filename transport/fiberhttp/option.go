package fiberhttp

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/internal/httpserver"
	"github.com/kagami-mcp/kagami/transport/internal/streamable"
)

// Option configures New and Mount. If an option is given twice, the last one counts, except
// that hosts, origins and functions of OnListen and OnEndpoint add up; zero or less stands for the
// default. A nil option is an error of Serve; Mount, which has no error, ignores it.
type Option interface{ option(*config) }

type optionFunc func(*config)

func (f optionFunc) option(c *config) { f(c) }

type config struct {
	httpserver.Config
	context func(ctx context.Context, c *fiber.Ctx) context.Context
}

func newConfig(endpoint string, opts []Option) *config {
	var c config
	for _, o := range opts {
		if o == nil {
			c.Fault = httpserver.ErrNilOption
			continue
		}
		o.option(&c)
	}
	c.Config = c.WithDefaults(endpoint)
	return &c
}

// Path sets the path of the endpoint; default "/mcp" for New, "/" of the router for Mount. New
// takes it literally, with or without the escapes of a URL. Mount takes it as the router does:
// with parameters, with escapes, and "/MCP" for "/mcp" unless the app is CaseSensitive. The
// HTTP+SSE pair is beside it: "/sse" and "/messages". A path that no request can have, or
// where the server has something else, is an error of New's Serve.
func Path(path string) Option {
	return optionFunc(func(c *config) { c.Path = path })
}

// AllowedOrigins sets the pages that may call besides those of loopback and of the server's
// own host: "https://app.example.com". They get CORS header fields. Each must be named:
// there is no "*", and what is not an origin is an error of Serve. Mount, which
// has no error, logs it as a warning.
func AllowedOrigins(origins ...string) Option {
	return optionFunc(func(c *config) { c.AllowedOrigins = append(c.AllowedOrigins, origins...) })
}

// AllowedHosts sets the names under which clients reach the server besides those of
// loopback; a name without a port stands for any port. "*" is any name, for servers behind
// a proxy that checks. Empty names are ignored, and what is not a host name, such as a URL,
// is an error of Serve.
func AllowedHosts(hosts ...string) Option {
	return optionFunc(func(c *config) { c.AllowedHosts = append(c.AllowedHosts, hosts...) })
}

// AllowedHeaders lets pages of AllowedOrigins send header fields of the program's own, such as
// "X-Tenant", besides those of the protocol. Field names that HTTP does not allow are an error
// of Serve.
func AllowedHeaders(names ...string) Option {
	return optionFunc(func(c *config) { c.AllowedHeaders = append(c.AllowedHeaders, names...) })
}

// TrustedProxies says that the proxies in networks set header, such as "X-Forwarded-For", to the
// addresses that a request has passed. The last of them that is no such proxy is the client's: it
// counts for limits, and is what logs, audits and rate limits see. Without it all clients behind
// a proxy share its address. Do not name a network from which clients call directly.
func TrustedProxies(header string, networks ...netip.Prefix) Option {
	return optionFunc(func(c *config) { c.Proxies = streamable.Proxies{Header: header, Networks: networks} })
}

// ClientKey sets who a client without a principal is for the limits of sessions and streams, such
// as a tenant that a gateway names. Clients with one key share the places of one. The default, and
// what counts for an empty key, is the address, of IPv6 its /64. key is called concurrently, for
// each request, and must not keep fields.
func ClientKey(key func(remoteAddr string, fields transport.Fields) string) Option {
	return optionFunc(func(c *config) { c.ClientKey = key })
}

// LoopbackOrigins lets pages of this machine call from any port, as if they were in
// AllowedOrigins: for development, with tools such as the MCP Inspector in direct mode. Do not
// use it where others have pages on the same machine.
func LoopbackOrigins() Option {
	return optionFunc(func(c *config) { c.LoopbackOrigins = true })
}

// BodyLimit sets the limit of a POST's body in bytes; default 4 MiB.
func BodyLimit(n int) Option {
	return optionFunc(func(c *config) { c.BodyLimit = n })
}

// Heartbeat sets how long a stream may be silent: a comment is sent before that time is over;
// default 15 s. Choose less than the read timeout of a proxy.
func Heartbeat(d time.Duration) Option {
	return optionFunc(func(c *config) { c.Heartbeat = d })
}

// Retry sets how long clients are told to wait before they resume; default 500 ms.
func Retry(d time.Duration) Option {
	return optionFunc(func(c *config) { c.Retry = d })
}

// SessionIdle sets how long a session lives without requests and streams; default 30
// minutes. One in which nothing comes after initialize lives for at most a minute.
func SessionIdle(d time.Duration) Option {
	return optionFunc(func(c *config) { c.SessionIdle = d })
}

// Stateless keeps no sessions, so that any of several processes takes any request without a
// shared store: what was said in initialize is forgotten, and clients of the handshake
// revisions get no session id. Handlers cannot ask them anything (ErrUnsupported), a call
// cannot be cancelled, there is no stream of GET, no subscription, no list_changed and no
// log message, a response that breaks is lost, and HTTP+SSE is left out. 2026-07-28, which
// has no sessions, is not affected. A task without a principal belongs to whoever knows its
// id; several processes need a store for tasks, and WithStateSecrets for questions on
// 2026-07-28.
func Stateless() Option {
	return optionFunc(func(c *config) { c.Stateless, c.NoSSE = true, true })
}

// MaxSessions limits the sessions of each of the two bindings; default 65,536. One client,
// which is a principal or else an address, may have a quarter of those of Streamable HTTP.
func MaxSessions(n int) Option {
	return optionFunc(func(c *config) { c.MaxSessions = n })
}

// MaxStreams limits the streams open at once for one session, principal or else address: of GET and of
// subscriptions/listen; default 1,024. The stream of a call counts as that call: see MaxCalls.
func MaxStreams(n int) Option {
	return optionFunc(func(c *config) { c.MaxStreams = n })
}

// MaxCalls limits the calls in flight at once for one principal or else address, in all its sessions and
// without one, whether the client still waits for them or not; default 4,096. A batch
// counts as many as it has messages. Streams that wait for something to happen are not calls: see
// MaxStreams.
func MaxCalls(n int) Option {
	return optionFunc(func(c *config) { c.MaxCalls = n })
}

// ReadTimeout limits the time to read header and body of a request to New; default 30 s.
func ReadTimeout(d time.Duration) Option {
	return optionFunc(func(c *config) { c.ReadTimeout = d })
}

// IdleTimeout limits the time of a connection of New between two requests; default 120 s.
func IdleTimeout(d time.Duration) Option {
	return optionFunc(func(c *config) { c.IdleTimeout = d })
}

// WriteTimeout sets when a client that does not read is given up; default 10 s. It does not
// limit a whole response. Under Mount, short answers have the app's own timeout, and a
// stream waits at most this long for its connection, which it gets when all middleware has
// run.
func WriteTimeout(d time.Duration) Option {
	return optionFunc(func(c *config) { c.WriteTimeout = d })
}

// Grace sets how long Serve of New waits for accepted exchanges when it ends; default 30 s.
// Those still running are then cancelled and have two more seconds; after that, answers
// being written, and handlers that do not end, have WriteTimeout. It waits for handlers
// that do not end no longer than the host does: see [transport.Services].
func Grace(d time.Duration) Option {
	return optionFunc(func(c *config) { c.Grace = d })
}

// TLS makes New serve https. A configuration without a certificate is an error of Serve.
func TLS(cfg *tls.Config) Option {
	return optionFunc(func(c *config) { c.TLS = cfg })
}

// Listener replaces the address of New, which closes it in the end. AllowedHosts is not
// required even if others can reach the listener, but without it only names of loopback are
// served.
func Listener(l net.Listener) Option {
	return optionFunc(func(c *config) { c.Listener = l })
}

// Route puts a handler of the program's own on the server of New, beside the endpoint: a page for
// logins, a webhook. pattern is one of http.ServeMux; "/" takes everything that the server itself does
// not serve. Its own paths come first, and so does its root unless there is NoLanding. The name in Host
// is checked as for the endpoint; the authenticator, origins and limits of MCP have no part in it. A
// body has at most 64 KiB. A pattern that http.ServeMux does not take, or the same one twice, is an
// error of Serve. The handler runs on Fiber by its adaptor: it must not keep
// the request. Programs with an app of their own use the adaptor themselves.
func Route(pattern string, h http.Handler) Option {
	return optionFunc(func(c *config) { c.Routes = append(c.Routes, httpserver.Route{Pattern: pattern, Handler: h}) })
}

// Landing sets what the landing page says about the server, in a sentence or two: the page
// that a browser gets at the root of New and at the endpoint. The page has the server's
// title, its address, and how clients connect. Anybody can read it, so it lists nothing that
// the server offers.
func Landing(text string) Option {
	return optionFunc(func(c *config) { c.Landing.Text = text })
}

// NoLanding leaves the landing page out: a browser gets the error that every client gets.
func NoLanding() Option {
	return optionFunc(func(c *config) { c.Landing.Off = true })
}

// OnEndpoint has fn called with the URL under which this machine reaches the endpoint of New,
// such as "http://127.0.0.1:8080/mcp", before the first connection is accepted. Several are
// called in turn.
func OnEndpoint(fn func(endpoint string)) Option {
	return optionFunc(func(c *config) {
		before := c.OnEndpoint
		c.OnEndpoint = func(endpoint string) {
			if before != nil {
				before(endpoint)
			}
			if fn != nil {
				fn(endpoint)
			}
		}
	})
}

// OnListen has fn called with the address that New is bound to, before the first connection
// is accepted. Several are called in turn.
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

// Context makes the handlers' context carry what the program's own Fiber middleware found
// out, such as transport.WithPrincipal. It runs once per request, before anything is
// decided; it must copy what it takes from c, since Fiber reuses that memory. A context that
// derives from c.Context() has, after the request, only the values that were looked for before.
func Context(fn func(ctx context.Context, c *fiber.Ctx) context.Context) Option {
	return optionFunc(func(c *config) { c.context = fn })
}
