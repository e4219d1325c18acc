package streamable

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/internal/loopback"
)

// Request is an HTTP request but for its body, as a carrier read it.
type Request struct {
	Method     string
	Host       string // as sent: what proxies claim does not count
	Path       string // escaped
	Fields     transport.Fields
	RemoteAddr string

	// Whole says that the carrier can write no part of a response before the rest of it: it
	// is served without streams.
	Whole bool

	// Lender, if not nil, has memory for an answer. It is asked at most once, by one of its
	// methods, before the endpoint gives its reply, and perhaps in another goroutine. See
	// Reply.Lent.
	Lender Lender

	// Taker, if not nil, can take the connection over from a goroutine that is in Visit.Serve.
	Taker Taker

	visit Visit // filled by Check, if the request passes
}

// Lender lends memory of a carrier for an answer. Lent memory is the endpoint's until it gives
// its Reply.
type Lender interface {
	// Lend gives room for so many bytes.
	Lend(size int) []byte
}

// Gate decides which requests come in: by Host, Origin and principal. It is the
// part of the rules that Streamable HTTP and HTTP+SSE share.
type Gate struct {
	cfg     Config
	origins origins
	offered transport.Services // of the host; empty if it offers no more than Accept

	places places // of open streams; sessions count their own
	calls  places // of calls in flight, with and without a session

	heartbeats heartbeats // of the streams
	refusals   refusals

	host atomic.Pointer[string] // the Host that was last allowed; a cache, since most requests have the same
}

// NewGate guards host.
func NewGate(host transport.Host, cfg Config) *Gate {
	g := &Gate{cfg: cfg.withDefaults()}
	if server, ok := host.(transport.Server); ok {
		g.offered = server.Services()
	}
	g.origins = newOrigins(g.cfg.AllowedOrigins)
	g.refusals.warn = g.offered.Warn
	g.heartbeats.every, g.heartbeats.closing = g.cfg.Heartbeat, g.Closing()
	return g
}

// Stops says whether the host begins to stop.
func (g *Gate) Stops() bool {
	select {
	case <-g.Closing():
		return true
	default:
		return false
	}
}

// Closing is closed when the host begins to stop; nil for a host that never says so.
func (g *Gate) Closing() <-chan struct{} { return g.offered.Closing }

// Config is the gate's, with defaults where nothing was set.
func (g *Gate) Config() Config { return g.cfg }

// Enter checks what comes before the body: the host's name first, so that a page
// that rebinds its name in the DNS learns nothing (2025-11-25 basic/transports
// "Security Warning"). A Reply refuses, or answers a preflight; without one the
// context of the Entry carries the principal.
func (g *Gate) Enter(ctx context.Context, r *Request, methods string) (Entry, *Reply) {
	r.RemoteAddr = g.cfg.Proxies.client(r.RemoteAddr, r.Fields)
	entry := Entry{ctx: ctx, r: r, key: g.cfg.ClientKey}
	if refused := g.RefusedHost(r.Host); refused != nil {
		return entry, refused
	}
	common, refused := g.origin(r, methods)
	if refused != nil {
		return entry, refused
	}
	entry.common = common
	entry.ctx, refused = g.authenticate(ctx, r)
	if refused != nil {
		return entry, refused.with(common)
	}
	entry.who = principalKey(entry.ctx)
	return entry, nil
}

// RefusedHost is the reply to a request under a name that is not allowed; nil for one that is.
func (g *Gate) RefusedHost(host string) *Reply {
	if g.hostAllowed(host) {
		return nil
	}
	return g.refusals.refuse("host name", host, "AllowedHosts")
}

func (g *Gate) hostAllowed(host string) bool {
	if last := g.host.Load(); last != nil && *last == host {
		return true
	}
	allowed := g.hostListed(host)
	if allowed {
		g.remember(host)
	}
	return allowed
}

func (g *Gate) remember(host string) {
	own := strings.Clone(host) // host may be part of the request's memory, which must not be kept
	g.host.Store(&own)
}

func (g *Gate) hostListed(host string) bool {
	name := hostname(host)
	if name == "" {
		return false
	}
	if loopback.Is(name) || slices.Contains(g.cfg.AllowedHosts, "*") {
		return true
	}
	return slices.ContainsFunc(g.cfg.AllowedHosts, func(allowed string) bool {
		return named(allowed, host, name)
	})
}

// origin checks Origin on every method (2025-11-25 basic/transports): it refuses pages of other
// origins, and answers a preflight. A request without Origin does not come from a page. The
// fields belong into every reply to this request.
func (g *Gate) origin(r *Request, methods string) ([]Field, *Reply) {
	origin, times := r.Fields.Value("Origin")
	if times == 0 {
		return nil, nil
	}
	listed := g.origins.has(origin) || g.cfg.LoopbackOrigins && onThisMachine(origin)
	if times > 1 || !listed && !own(origin, r.Host) {
		return nil, g.refusals.refuse("origin", origin, "AllowedOrigins")
	}
	if !listed {
		return nil, nil
	}
	common := []Field{
		{"Access-Control-Allow-Origin", origin},
		{"Access-Control-Expose-Headers", "Mcp-Session-Id, Mcp-Protocol-Version, WWW-Authenticate, Retry-After"},
		{"Vary", "Origin"},
	}
	if r.Method != http.MethodOptions {
		return common, nil
	}
	return common, (&Reply{Status: http.StatusNoContent, Header: []Field{
		{"Access-Control-Allow-Methods", methods},
		{"Access-Control-Allow-Headers", allowedHeaders(r.Fields, g.cfg.AllowedHeaders)},
		{"Access-Control-Max-Age", "7200"},
	}}).with(common)
}

// allowedHeaders returns the Access-Control-Allow-Headers of a preflight: the fields of the
// protocol, DPoP (RFC 9449) and trace context included, and those fields for mirrored
// arguments (Mcp-Param-*) that the browser asks for; and those of AllowedHeaders.
func allowedHeaders(f transport.Fields, more []string) string {
	list := append([]string{
		"Authorization", "DPoP", "Traceparent", "Tracestate", "Content-Type", "Accept", "Last-Event-ID",
		headerSession, headerVersion, "Mcp-Method", "Mcp-Name",
	}, more...)
	for _, value := range f.Values("Access-Control-Request-Headers") {
		for name := range strings.SplitSeq(value, ",") {
			if name = strings.TrimSpace(name); mirrors(name) {
				list = append(list, name)
			}
		}
	}
	return strings.Join(list, ", ")
}

// mirrors reports whether a header field repeats an argument (Mcp-Param-*). Because the name is
// echoed in a header of the response, it must be a token.
func mirrors(name string) bool {
	prefix := len(dialect.MirrorPrefix)
	return len(name) > prefix && strings.EqualFold(name[:prefix], dialect.MirrorPrefix) && token(name)
}

func token(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(",:;\"()<>@[]{}?=/\\", r) })
}

// authenticate asks the host's authenticator for the principal, if there is an authenticator
// and the program's own middleware has not put a principal into ctx.
func (g *Gate) authenticate(ctx context.Context, r *Request) (context.Context, *Reply) {
	auth := g.offered.Authenticator
	if auth == nil || transport.PrincipalFrom(ctx) != nil {
		return ctx, nil
	}
	about := ctx
	if _, told := transport.TargetFrom(ctx); !told {
		about = transport.WithTarget(ctx, transport.Target{Method: r.Method, URL: r.Path})
	}
	principal, err := auth.Authenticate(about, r.Fields.Header())
	if err == nil && principal != nil {
		return transport.WithPrincipal(ctx, principal), nil
	}
	status, challenge := unauthorized(err)
	if status == http.StatusServiceUnavailable {
		return ctx, refuse(status, http.StatusText(status), retryAfter)
	}
	if challenge == "" {
		return ctx, refuse(status, http.StatusText(status))
	}
	return ctx, refuse(status, http.StatusText(status), Field{"WWW-Authenticate", challenge})
}

// unauthorized returns the status and the challenge by which err, of an authenticator, is
// answered.
func unauthorized(err error) (status int, challenge string) {
	refused, ok := errors.AsType[*transport.AuthError](err)
	if !ok {
		return http.StatusUnauthorized, "Bearer"
	}
	if status = refused.HTTPStatus(); status != refused.Status {
		return status, cmp.Or(refused.Challenge, "Bearer")
	}
	return status, refused.Challenge
}
