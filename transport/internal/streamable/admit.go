package streamable

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/internal/hostcall"
	"github.com/kagami-mcp/kagami/transport/internal/loopback"
)

// Request is an HTTP request without its body, as a carrier read it.
type Request struct {
	Method     string
	Host       string // as the client sent it; fields of proxies do not replace it
	Path       string // escaped
	Fields     transport.Fields
	RemoteAddr string

	// Whole is set if the carrier can only write a response as a whole. The request is then
	// served without streams.
	Whole bool

	// Buffers, if not nil, has memory for an answer. The endpoint calls it at most once, before it
	// returns its reply, and possibly in another goroutine. See Reply.Borrowed.
	Buffers BufferSource

	// Hijacker, if not nil, can hijack the connection of a goroutine that is in
	// PendingRequest.Serve.
	Hijacker Hijacker

	pending PendingRequest // filled by Check, if the request passes
}

// BufferSource has memory of a carrier for an answer. The memory belongs to the endpoint until the
// endpoint returns its Reply.
type BufferSource interface {
	// Buffer returns memory with a capacity of at least size bytes.
	Buffer(size int) []byte
}

// Admitter decides which requests are admitted, by Host, Origin and principal. Streamable HTTP and
// HTTP+SSE share it. It is safe for concurrent use.
//
// cfg, origins, offered, nonces and the logs do not change after NewAdmitter. The other fields have
// their own locks or atomics. None of these locks is held while another lock is taken. host holds a
// copy, because the carrier reuses the memory of the request.
type Admitter struct {
	cfg     Config
	origins origins
	offered transport.Services          // services of the host; empty if it only has Accept
	nonces  interface{ Nonce() string } // the authenticator, if it has nonces for answers; otherwise nil

	quotas     streamQuotas // counts open streams; sessions count their own
	callQuotas streamQuotas // counts running calls, with and without a session

	heartbeats heartbeats // of all streams

	log                        *hostcall.Log
	refusedHosts, refusedPages *hostcall.Log // separate logs, because scanners send many host names

	host atomic.Pointer[string] // the last Host that was allowed; a cache, because most requests have the same
}

// NewAdmitter returns the Admitter of host.
func NewAdmitter(host transport.Host, cfg Config) *Admitter {
	a := &Admitter{
		cfg: cfg.withDefaults(), log: hostcall.NewLog(host, time.Minute),
		refusedHosts: hostcall.NewLog(host, time.Hour), refusedPages: hostcall.NewLog(host, time.Hour),
	}
	if server, ok := host.(transport.Server); ok {
		a.offered = server.Services()
		a.nonces, _ = a.offered.Authenticator.(interface{ Nonce() string })
		if auth, ok := a.offered.Authenticator.(interface{ SetWarn(warn func(text string)) }); ok {
			auth.SetWarn(func(text string) { a.log.Warn("the authenticator warns", text) })
		}
	}
	a.origins = newOrigins(a.cfg.AllowedOrigins)
	a.heartbeats.every, a.heartbeats.closing = a.cfg.Heartbeat, a.Closing()
	return a
}

// Stops reports whether the host has begun to stop.
func (a *Admitter) Stops() bool {
	select {
	case <-a.Closing():
		return true
	default:
		return false
	}
}

// Closing returns a channel that is closed when the host begins to stop. It is nil if the host has none.
func (a *Admitter) Closing() <-chan struct{} { return a.offered.Closing }

// Log returns the log for warnings of the carrier.
func (a *Admitter) Log() *hostcall.Log { return a.log }

// Config returns the configuration, with the defaults of fields that were not set.
func (a *Admitter) Config() Config { return a.cfg }

// Admit checks what comes before the body. It checks the name of the host first, so that a page that
// rebinds its name in the DNS learns nothing (2025-11-25 basic/transports "Security Warning"). If
// Admit returns a Reply, the request is refused, or is a preflight with its answer. Otherwise the
// context of the Admission has the principal.
func (a *Admitter) Admit(ctx context.Context, r *Request, methods string) (Admission, *Reply) {
	r.RemoteAddr = a.cfg.Proxies.client(r.RemoteAddr, r.Fields)
	admission := Admission{ctx: ctx, r: r, key: a.cfg.ClientKey}
	if refused := a.RefusedHost(r.Host); refused != nil {
		return admission, refused
	}
	common, refused := a.origin(r, methods)
	if refused != nil {
		return admission, refused
	}
	admission.ctx, refused = a.authenticate(ctx, r)
	if refused != nil {
		return admission, refused.with(common)
	}
	admission.common = common
	if a.nonces != nil {
		if nonce := a.nonces.Nonce(); nonce != "" { // for the next proofs of the client (RFC 9449 §8.2)
			admission.common = append(common, Field{"DPoP-Nonce", nonce})
		}
	}
	admission.who = principalKey(admission.ctx)
	return admission, nil
}

// RefusedHost returns the reply to a request for a host that is not allowed, or nil if it is allowed.
func (a *Admitter) RefusedHost(host string) *Reply {
	if a.hostAllowed(host) {
		return nil
	}
	return refusedName(a.refusedHosts, "host name", host, "AllowedHosts")
}

// hostAllowed reports whether clients may reach the server under host. Most requests have the same
// Host, which costs one comparison.
func (a *Admitter) hostAllowed(host string) bool {
	if last := a.host.Load(); last != nil && *last == host {
		return true
	}
	allowed := a.hostListed(host)
	if allowed {
		a.remember(host)
	}
	return allowed
}

// remember makes host the cached one. If several goroutines do that at once, any of them wins.
func (a *Admitter) remember(host string) {
	own := strings.Clone(host) // host may be part of the request's memory, which must not be kept
	a.host.Store(&own)
}

// hostListed is hostAllowed without the cache.
func (a *Admitter) hostListed(host string) bool {
	name := hostname(host)
	if name == "" {
		return false
	}
	if loopback.Is(name) || slices.Contains(a.cfg.AllowedHosts, "*") {
		return true
	}
	return slices.ContainsFunc(a.cfg.AllowedHosts, func(allowed string) bool {
		return named(allowed, host, name)
	})
}

// origin checks Origin for every method (2025-11-25 basic/transports). It refuses pages of other
// origins, and answers a preflight. A request without Origin does not come from a page. Every reply
// to the request must have the returned fields.
func (a *Admitter) origin(r *Request, methods string) ([]Field, *Reply) {
	origin, times := r.Fields.Value("Origin")
	if times == 0 {
		return nil, nil
	}
	listed := a.origins.has(origin) || a.cfg.LoopbackOrigins && onThisMachine(origin)
	if times > 1 || !listed && !own(origin, r.Host) {
		return nil, refusedName(a.refusedPages, "origin", origin, "AllowedOrigins")
	}
	if !listed {
		return nil, nil
	}
	common := []Field{
		{"Access-Control-Allow-Origin", origin},
		{"Access-Control-Expose-Headers", "Mcp-Session-Id, Mcp-Protocol-Version, WWW-Authenticate, DPoP-Nonce, Retry-After"},
		{"Vary", "Origin"},
	}
	if r.Method != http.MethodOptions {
		return common, nil
	}
	return common, (&Reply{Status: http.StatusNoContent, Header: []Field{
		{"Access-Control-Allow-Methods", methods},
		{"Access-Control-Allow-Headers", allowedHeaders(r.Fields, a.cfg.AllowedHeaders)},
		{"Access-Control-Max-Age", "7200"},
	}}).with(common)
}

// allowedHeaders returns the Access-Control-Allow-Headers of a preflight: the fields of the
// protocol with DPoP (RFC 9449) and trace context, the fields more, and the fields for mirrored
// arguments (Mcp-Param-*) that the browser asks for.
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

// token reports whether s is a token (RFC 9110 section 5.6.2), or empty.
func token(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(",:;\"()<>@[]{}?=/\\", r) })
}

// authenticate calls the host's authenticator, if there is one and the program's own middleware has
// not put a principal into ctx.
func (a *Admitter) authenticate(ctx context.Context, r *Request) (context.Context, *Reply) {
	auth := a.offered.Authenticator
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
		if !errors.Is(ctx.Err(), context.Canceled) { // otherwise the client has left
			a.log.Warn("clients cannot be authenticated now", err.Error())
		}
		return ctx, refuse(status, http.StatusText(status), retryAfter)
	}
	var fields []Field
	if challenge != "" {
		fields = append(fields, Field{"WWW-Authenticate", challenge})
	}
	if refused, ok := errors.AsType[*transport.AuthError](err); ok && refused.Nonce != "" {
		fields = append(fields, Field{"DPoP-Nonce", refused.Nonce})
	}
	return ctx, refuse(status, http.StatusText(status), fields...)
}

// unauthorized returns the status and the challenge of the reply for err, an error of an
// authenticator.
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
