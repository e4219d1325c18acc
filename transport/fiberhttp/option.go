package fiberhttp

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/internal/httpserver"
	"github.com/kagami-mcp/kagami/transport/internal/streamable"
)

// Option configures New and Mount. If an option is given twice, the last one counts; hosts,
// origins, header fields, routes, and functions of OnListen and OnEndpoint accumulate. For numbers
// and durations, zero or less selects the default. A nil option makes Serve return an error; Mount
// ignores it and logs a warning.
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

// Path sets the path of the endpoint. The default is "/mcp" for New and "/", relative to the
// router, for Mount. The HTTP+SSE pair is beside it: "/sse" and "/messages".
//
// New takes the path literally, with or without the escapes of a URL. Serve returns an error if no
// request can have the path, or if the server has something else there. Mount takes the path as the
// router does: with parameters and escapes, and "/MCP" matches "/mcp" unless the app is
// CaseSensitive.
func Path(path string) Option {
	return optionFunc(func(c *config) { c.Path = path })
}

// AllowedOrigins sets origins whose pages may call, such as "https://app.example.com". They also
// get CORS header fields. Pages of loopback hosts and of the server's own host may always call.
// Name each origin; there is no "*". If a value is not an origin, Serve returns an error, and Mount
// logs a warning.
func AllowedOrigins(origins ...string) Option {
	origins = slices.Clone(origins)
	return optionFunc(func(c *config) { c.AllowedOrigins = append(c.AllowedOrigins, origins...) })
}

// AllowedHosts sets the host names under which clients reach the server, in addition to loopback
// names. A name without a port matches any port. "*" matches any name, for servers behind a proxy
// that checks the name. Empty names are ignored. If a value is not a host name, such as a URL,
// Serve returns an error, and Mount logs a warning.
func AllowedHosts(hosts ...string) Option {
	hosts = slices.Clone(hosts)
	return optionFunc(func(c *config) { c.AllowedHosts = append(c.AllowedHosts, hosts...) })
}

// AllowedHeaders lets pages of AllowedOrigins send header fields of the program, such as
// "X-Tenant", in addition to the fields of the protocol. If a name is not valid in HTTP, Serve
// returns an error, and Mount logs a warning.
func AllowedHeaders(names ...string) Option {
	names = slices.Clone(names)
	return optionFunc(func(c *config) { c.AllowedHeaders = append(c.AllowedHeaders, names...) })
}

// TrustedProxies sets the networks of proxies whose header field, such as "X-Forwarded-For", lists
// the addresses that a request has passed. The client's address is the last one in the list that is
// not in networks. Limits, logs, audits and rate limits use it. Without this option all clients
// behind a proxy share its address. Do not name a network whose clients call directly. If there is no
// network, or the header is not the name of a field, Serve returns an error, and Mount
// logs a warning.
func TrustedProxies(header string, networks ...netip.Prefix) Option {
	networks = slices.Clone(networks)
	return optionFunc(func(c *config) { c.Proxies = streamable.Proxies{Header: header, Networks: networks} })
}

// ClientKey sets a function that identifies a client without a principal, for limits: for example
// the tenant that a gateway names. Clients with the same key share the limits of one client. By
// default, or if the key is empty, the address identifies the client; for IPv6 its /64. key is
// called concurrently, possibly more than once for a request, and must not keep fields.
func ClientKey(key func(remoteAddr string, fields transport.Fields) string) Option {
	return optionFunc(func(c *config) { c.ClientKey = key })
}

// LoopbackOrigins lets pages of this machine call from any port, as if they were in AllowedOrigins.
// It is for development, with tools such as the MCP Inspector in direct mode. Do not use it on a
// machine where other users serve pages.
func LoopbackOrigins() Option {
	return optionFunc(func(c *config) { c.LoopbackOrigins = true })
}

// BodyLimit sets the largest body of a POST in bytes; default 4 MiB, at most 2 GiB.
func BodyLimit(n int) Option {
	return optionFunc(func(c *config) { c.BodyLimit = n })
}

// Heartbeat sets how long a stream may be silent; a comment is sent before that time is over. The
// default is 15 s. Choose less than the read timeout of a proxy.
func Heartbeat(d time.Duration) Option {
	return optionFunc(func(c *config) { c.Heartbeat = d })
}

// Retry sets how long clients should wait before they resume; default 500 ms.
func Retry(d time.Duration) Option {
	return optionFunc(func(c *config) { c.Retry = d })
}

// SessionIdle sets how long a session lives without requests and streams; default 30 minutes. A
// session with no request after initialize lives for one minute at most.
func SessionIdle(d time.Duration) Option {
	return optionFunc(func(c *config) { c.SessionIdle = d })
}

// Stateless serves each request without a session, so that any of several processes can serve any
// request without a shared store. The server does not remember initialize, and clients of the
// handshake revisions get no session id. For these clients the following does not work:
//
//   - Handlers cannot ask the client anything (ErrUnsupported).
//   - Calls cannot be cancelled, and a response that breaks is lost.
//   - There are no streams of GET, subscriptions, list_changed notifications or log messages.
//   - HTTP+SSE is not served.
//
// Revision 2026-07-28 has no sessions and is not affected. Any client that has the id of a task
// without a principal can use the task. Several processes need a store for tasks, and
// WithStateSecrets for questions on 2026-07-28.
func Stateless() Option {
	return optionFunc(func(c *config) { c.Stateless, c.NoSSE = true, true })
}

// MaxSessions limits the number of sessions, separately for Streamable HTTP and HTTP+SSE; default
// 65,536. On Streamable HTTP one client, a principal or else an address, may have a quarter of the
// sessions, and a session that began with a large initialize counts as several. At the limit, a new
// session there ends an idle one. Its client then opens another. If all sessions are in use, and on
// HTTP+SSE in any case, the new session is refused.
func MaxSessions(n int) Option {
	return optionFunc(func(c *config) { c.MaxSessions = n })
}

// MaxStreams limits the streams of GET and of subscriptions/listen that are open at the same time;
// default 1,024. It applies to each session and, without a session, to each principal or else
// address. The stream of a call counts as a call; see MaxCalls.
func MaxStreams(n int) Option {
	return optionFunc(func(c *config) { c.MaxStreams = n })
}

// MaxCalls limits the calls that run at the same time for one principal or else address, with and
// without sessions; default 4,096. A call counts even if the client does not wait for it any more.
// A batch counts as many calls as it has messages, and a large body as several, so that about 64
// bodies of the largest size are in flight. Streams that wait for something to happen are not calls;
// see MaxStreams.
func MaxCalls(n int) Option {
	return optionFunc(func(c *config) { c.MaxCalls = n })
}

// ReadTimeout limits the time to read header and body of a request to New; default 30 s.
func ReadTimeout(d time.Duration) Option {
	return optionFunc(func(c *config) { c.ReadTimeout = d })
}

// IdleTimeout limits the time between two requests on a connection of New; default 120 s.
func IdleTimeout(d time.Duration) Option {
	return optionFunc(func(c *config) { c.IdleTimeout = d })
}

// WriteTimeout sets when a client that does not read is disconnected; default 10 s. It does not
// limit a whole response. Under Mount, short answers have the app's own timeout. A stream gets its
// connection when all middleware has returned, and waits for it at most this long.
func WriteTimeout(d time.Duration) Option {
	return optionFunc(func(c *config) { c.WriteTimeout = d })
}

// Grace sets how long Serve of New waits for accepted exchanges when it ends. The default is 30 s,
// or the host's if it is longer; see [transport.Services]. Exchanges that still run are then
// cancelled and have two more seconds. After that, answers that are being written, and handlers
// that do not return, have WriteTimeout. Serve does not wait longer for such handlers than the host
// does; see [transport.Services].
func Grace(d time.Duration) Option {
	return optionFunc(func(c *config) { c.Grace = d })
}

// TLS makes New serve HTTPS. If cfg has no certificate, Serve returns an error. If cfg is nil, New
// serves HTTP without TLS.
func TLS(cfg *tls.Config) Option {
	return optionFunc(func(c *config) { c.TLS = cfg })
}

// Listener sets a listener that New uses instead of its address, and closes when it ends.
// AllowedHosts is not required even if other machines can reach the listener, but without it only
// loopback names are served.
func Listener(l net.Listener) Option {
	return optionFunc(func(c *config) { c.Listener = l })
}

// Route serves a handler of the program on the server of New, such as a login page or a webhook.
// pattern is a pattern of http.ServeMux; "/" takes every path that the server itself does not
// serve. The server's own paths take precedence, and so does its root unless NoLanding is given.
//
// The Host field is checked as for the endpoint. The authenticator, origins and limits of MCP do
// not apply. A body has at most 64 KiB. Serve returns an error if http.ServeMux does not accept a
// pattern, if two are the same, or if a pattern matches only a path that the server itself serves.
// The handler runs on Fiber's adaptor and must not keep the request. Its context ends with the
// response. A handler that has not written yet does not learn that the client has left.
//
// Programs with an app of their own use the adaptor themselves.
func Route(pattern string, h http.Handler) Option {
	return optionFunc(func(c *config) { c.Routes = append(c.Routes, httpserver.Route{Pattern: pattern, Handler: h}) })
}

// Landing sets a sentence or two about the server for the landing page. A browser gets this page at
// the root of New and at the endpoint. The page also has the server's title, its address, and how
// clients connect. Anyone can read it, so it lists nothing that the server offers.
func Landing(text string) Option {
	return optionFunc(func(c *config) { c.Landing.Text = text })
}

// NoLanding removes the landing page; a browser gets the same error as other clients.
func NoLanding() Option {
	return optionFunc(func(c *config) { c.Landing.Off = true })
}

// OnEndpoint sets a function that is called with the URL of the endpoint of New, before the first
// connection is accepted. The URL is for clients on this machine, such as
// "http://127.0.0.1:8080/mcp". Several functions are called in order.
func OnEndpoint(fn func(endpoint string)) Option {
	return optionFunc(func(c *config) { c.OnEndpoint = httpserver.Both(c.OnEndpoint, fn) })
}

// OnListen sets a function that is called with the address of New before the first connection is
// accepted. Several functions are called in order.
func OnListen(fn func(net.Addr)) Option {
	return optionFunc(func(c *config) { c.OnListen = httpserver.Both(c.OnListen, fn) })
}

// WithoutHTTPSSE does not serve HTTP+SSE, the transport of 2024-11-05.
func WithoutHTTPSSE() Option {
	return optionFunc(func(c *config) { c.NoSSE = true })
}

// Context sets a function that adds values to the handlers' context, such as
// transport.WithPrincipal, from the program's own Fiber middleware. fn runs before a request is
// checked. On a server of New the body is not read yet, so c.Body is empty, and fasthttp's times and
// request numbers are not set. fn must copy what it takes from c, because Fiber reuses that memory. A
// context that derives from c.Context() has, after the request, only the values that were looked
// up during the request.
func Context(fn func(ctx context.Context, c *fiber.Ctx) context.Context) Option {
	return optionFunc(func(c *config) { c.context = fn })
}
