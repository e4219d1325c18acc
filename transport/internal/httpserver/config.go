package httpserver

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/internal/loopback"
	"github.com/kagami-mcp/kagami/transport/internal/streamable"
)

// Config holds the options of a carrier. In each field the zero value selects the default.
type Config struct {
	streamable.Config
	Fault error // error in the options: a stand-alone server does not start

	Path     string // of the endpoint
	NoSSE    bool   // without HTTP+SSE
	TLS      *tls.Config
	Listener net.Listener
	OnListen func(net.Addr)

	OnEndpoint func(endpoint string) // called with the URL for clients on this machine
	Landing    Landing               // page for browsers
	Routes     []Route               // handlers of the program

	ReadTimeout  time.Duration // to read the header and body; default 30 s
	IdleTimeout  time.Duration // of a connection between two requests; default 120 s
	WriteTimeout time.Duration // for a client that does not read; default 10 s
	Grace        time.Duration // for accepted exchanges at the end; default 30 s, or the host's if it is longer
}

// ErrNilOption is the Fault if an option is nil.
var ErrNilOption = errors.New("an option is nil")

// WithDefaults returns c with defaults for the fields that are not set. The default path is
// endpoint.
func (c Config) WithDefaults(endpoint string) Config {
	if c.Path == "" {
		c.Path = endpoint
	}
	c.Path = "/" + strings.TrimPrefix(c.Path, "/")
	for _, d := range []struct {
		v   *time.Duration
		def time.Duration
	}{
		{&c.ReadTimeout, 30 * time.Second},
		{&c.IdleTimeout, 120 * time.Second},
		{&c.WriteTimeout, 10 * time.Second},
	} {
		if *d.v <= 0 {
			*d.v = d.def
		}
	}
	return c
}

// Paths of the HTTP+SSE pair, relative to the endpoint, and of the health checks.
const (
	SSE      = "sse"
	Messages = "messages"
	Healthz  = "/healthz"
	Readyz   = "/readyz"
)

// Beside returns the path of name in the same directory as the endpoint.
func (c *Config) Beside(name string) string { return path.Join(path.Dir(c.Path), name) }

// misplaced returns an error if the endpoint of a stand-alone server cannot be at its path. There,
// routers would panic, hide one of two handlers, or never match.
func (c *Config) misplaced() error {
	at := c.Path
	if len(at) > 1 {
		at = strings.TrimSuffix(at, "/")
	}
	switch {
	case strings.ContainsAny(at, "{} \t"):
		return fmt.Errorf("path %q: it is taken literally, and cannot have braces or spaces", c.Path)
	case strings.ContainsAny(at, "?#\\") || at != path.Clean(at):
		return fmt.Errorf("path %q: no request has such a path", c.Path)
	}
	if slices.Contains(c.others(), at) {
		return fmt.Errorf("path %q: the server has something else there; take another one,"+
			" or leave the pair of HTTP+SSE out", c.Path)
	}
	return nil
}

// others returns the paths that a stand-alone server serves beside its endpoint and its root.
func (c *Config) others() []string {
	paths := []string{Healthz, Readyz, Metadata}
	if !c.NoSSE {
		paths = append(paths, c.Beside(SSE), c.Beside(Messages))
	}
	return paths
}

// uncertified returns an error for TLS without a certificate, because no client could connect. Only
// one of the two HTTP libraries reports that.
func (c *Config) uncertified() error {
	if t := c.TLS; t == nil || len(t.Certificates) > 0 || t.GetCertificate != nil || t.GetConfigForClient != nil {
		return nil
	}
	return errors.New("TLS: the configuration has no certificate")
}

// mistrusted returns an error for TrustedProxies without a network, or with a field that does not list
// addresses.
func (c *Config) mistrusted() error {
	p := c.Proxies
	switch {
	case p.Header == "" && p.Networks == nil:
		return nil
	case !isFieldName(p.Header):
		return fmt.Errorf("TrustedProxies: %q is not the name of a header field", p.Header)
	case strings.EqualFold(p.Header, "Forwarded"):
		return errors.New("TrustedProxies: Forwarded (RFC 7239) is not a plain list of addresses: let the proxies set X-Forwarded-For, and name it")
	case len(p.Networks) == 0 || slices.ContainsFunc(p.Networks, func(n netip.Prefix) bool { return !n.IsValid() || n.Addr().Is4In6() }):
		return errors.New("TrustedProxies needs the networks of the proxies, each a valid prefix, of IPv4 without ::ffff")
	}
	return nil
}

// isFieldName reports whether name is a token as RFC 9110 defines it.
func isFieldName(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune("\"(),/:;<=>?@[\\]{}", r) })
}

// misnamed returns an error for a host, an origin or a field name that no client can send. Empty
// hosts and origins are ignored, because they come from variables that are not set.
func (c *Config) misnamed() error {
	for _, name := range slices.Concat(c.AllowedHosts, c.AllowedOrigins) {
		if strings.ContainsFunc(name, func(r rune) bool { return r > unicode.MaxASCII }) {
			return fmt.Errorf("AllowedHosts or AllowedOrigins: %q is never sent: clients write such a name in ASCII, as xn--bcher-kva.example", name)
		}
	}
	for _, name := range c.AllowedHosts {
		if name != "*" && strings.ContainsAny(name, "/\\@?#* \t") {
			return fmt.Errorf("AllowedHosts: %q is not a host name: want one such as mcp.example.com, with or without a port", name)
		}
	}
	for _, name := range c.AllowedHeaders {
		if !isFieldName(name) {
			return fmt.Errorf("AllowedHeaders: %q is not the name of a header field", name)
		}
	}
	for _, origin := range c.AllowedOrigins {
		if origin == "" || origin == "null" {
			continue
		}
		u, err := url.Parse(origin)
		if err != nil || u.Scheme == "" || u.Host == "" || !strings.EqualFold(u.Scheme+"://"+u.Host, strings.TrimSuffix(origin, "/")) || strings.Contains(u.Host, "*") {
			return fmt.Errorf("AllowedOrigins: %q is not an origin: want one such as https://app.example.com; list each", origin)
		}
	}
	return nil
}

// Both returns a function that calls both functions, in order. Each may be nil.
func Both[T any](first, second func(T)) func(T) {
	return func(v T) {
		for _, each := range []func(T){first, second} {
			if each != nil {
				each(v)
			}
		}
	}
}

// Mounted logs a warning if an option is wrong, for a carrier that cannot return an error.
func (c *Config) Mounted(host transport.Host) {
	err := cmp.Or(c.Fault, c.misnamed(), c.mistrusted())
	if warn := servicesOf(host).Warn; err != nil && warn != nil {
		warn("an option of the HTTP endpoint has no effect: " + err.Error())
	}
}

// listen opens the address of a stand-alone server, or returns the Listener. A port alone means
// this machine only. An address that others can reach needs AllowedHosts. Otherwise a page in a
// browser on this machine could call the server under a host name of the page's own.
func (c *Config) listen(ctx context.Context, addr string) (net.Listener, error) {
	if c.Listener != nil {
		return c.Listener, nil
	}
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("address %q: %w", addr, err)
	}
	if host == "" {
		host = "127.0.0.1"
	}
	if _, err := netip.ParseAddr(host); err != nil && (strings.Contains(host, ":") || strings.Trim(host, "0123456789.") == "") {
		return nil, fmt.Errorf("address %q: %q is not an IP address", addr, host)
	}
	named := slices.ContainsFunc(c.AllowedHosts, func(name string) bool { return name != "" })
	if !named && !loopback.Is(host) {
		return nil, fmt.Errorf("address %q is reachable by others: add AllowedHosts (--allow-host of package serve) with the names under which clients"+
			" reach it (%q behind a proxy that checks them), or listen on \":%s\", which is this machine only", addr, "*", port)
	}
	var config net.ListenConfig
	return config.Listen(ctx, "tcp", net.JoinHostPort(host, port)) // the error contains the operation and the address
}

// endpoint returns the URL for clients on this machine.
func (c *Config) endpoint(bound net.Addr) string {
	host, port, err := net.SplitHostPort(bound.String())
	if err != nil {
		return ""
	}
	if ip, err := netip.ParseAddr(host); err == nil && ip.IsUnspecified() {
		host = map[bool]string{true: "127.0.0.1", false: "::1"}[ip.Is4()]
	}
	scheme := "http"
	if c.TLS != nil {
		scheme = "https"
	}
	return urlOf(scheme, net.JoinHostPort(host, port), c.Path)
}

// urlOf returns a URL; path may be escaped or not.
func urlOf(scheme, host, path string) string {
	u, err := url.Parse(path)
	if err != nil {
		u = &url.URL{Path: path}
	}
	u.Scheme, u.Host = scheme, host
	return u.String()
}
