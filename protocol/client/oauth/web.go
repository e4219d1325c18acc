package oauth

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
	"unicode"
)

const (
	webTime   = 15 * time.Second
	maxAnswer = 1 << 20
)

// web makes the requests of one flow to URLs from untrusted parties. Requests are bounded in time
// and size, and redirects are not followed. An address that is less public than the server is
// refused. Only one goroutine uses a web.
type web struct {
	flow   *Flow
	base   *http.Client
	server string
	steps  *[]Step // steps so far; nil if they are not recorded

	lowest    reach        // the least public class of addresses that may be dialed; see least
	elsewhere atomic.Bool  // the server is on another machine
	client    *http.Client // nil before the first request
}

// newWeb returns a web with the client of the connection, unless an option sets another client.
func newWeb(f *Flow, base *http.Client, server string) *web {
	if f.config.http != nil {
		base = f.config.http
	}
	return &web{flow: f, base: base, server: server}
}

// note adds a step.
func (w *web) note(s Step) {
	if w.steps != nil {
		*w.steps = append(*w.steps, s)
	}
}

// reach is the class of networks that can reach an address.
type reach int

const (
	atNowhere reach = iota // link-local, multicast, unspecified
	atHome                 // loopback
	atSite                 // private networks
	atLarge                // the Internet
)

// nonPublic lists the networks that are not public and unknown to package netip (RFC 6890).
var nonPublic = []netip.Prefix{
	netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("192.0.0.0/24"), netip.MustParsePrefix("198.18.0.0/15"),
	netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("198.51.100.0/24"), netip.MustParsePrefix("203.0.113.0/24"),
	netip.MustParsePrefix("240.0.0.0/4"), netip.MustParsePrefix("64:ff9b:1::/48"),
	netip.MustParsePrefix("2001:db8::/32"), netip.MustParsePrefix("100::/64"), netip.MustParsePrefix("2001::/32"), netip.MustParsePrefix("fec0::/10"),
}

// withIPv4 lists networks with an IPv4 address in each address (RFC 6052, RFC 3056, RFC 4291
// §2.5.5.1).
var withIPv4 = []netip.Prefix{
	netip.MustParsePrefix("64:ff9b::/96"), netip.MustParsePrefix("2002::/16"), netip.MustParsePrefix("::/96"),
}

func reachOf(a netip.Addr) reach {
	a = a.Unmap().WithZone("")
	switch {
	case !a.IsValid(), a.IsUnspecified(), a.IsMulticast(), a.IsLinkLocalUnicast():
		return atNowhere
	case a.IsLoopback():
		return atHome
	case slices.ContainsFunc(withIPv4, func(p netip.Prefix) bool { return p.Contains(a) }):
		return min(atSite, reachOf(embeddedIPv4(a)))
	case a.IsPrivate(), slices.ContainsFunc(nonPublic, func(p netip.Prefix) bool { return p.Contains(a) }),
		a.Is4() && a.As4()[0] == 0:
		return atSite
	}
	return atLarge
}

// embeddedIPv4 returns the IPv4 address in an address of a network in withIPv4.
func embeddedIPv4(a netip.Addr) netip.Addr {
	raw := a.As16()
	if raw[0] == 0x20 { // 2002::/16
		return netip.AddrFrom4([4]byte(raw[2:6]))
	}
	return netip.AddrFrom4([4]byte(raw[12:]))
}

// reachOfHost returns the reach of the least public address of a host. A name that cannot be resolved
// here, such as behind a proxy, counts as public.
func reachOfHost(ctx context.Context, host string) reach {
	if a, err := netip.ParseAddr(host); err == nil {
		return reachOf(a)
	}
	if isLocalhost(host) {
		return atHome
	}
	ctx, cancel := context.WithTimeout(ctx, webTime)
	defer cancel()
	addresses, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil || len(addresses) == 0 {
		return atLarge
	}
	least := atLarge
	for _, a := range addresses {
		least = min(least, reachOf(a))
	}
	return least
}

func isLocalhost(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// isLoopback reports whether a host is this machine, judged only by its name.
func isLoopback(host string) bool {
	a, err := netip.ParseAddr(host)
	return isLocalhost(host) || err == nil && a.Unmap().IsLoopback() // not an IPv4 address in IPv6, which may leave the machine
}

// watch returns the context for a request to the server. It notes whether the server is on another
// machine. The address of the connection shows this, because a name can resolve to this machine when
// reachOfHost asks, and to the server when the request is sent.
func (w *web) watch(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(got httptrace.GotConnInfo) {
		if tcp, ok := got.Conn.RemoteAddr().(*net.TCPAddr); ok && reachOf(tcp.AddrPort().Addr()) != atHome {
			w.elsewhere.Store(true)
		}
	}})
}

// least returns the least public class of addresses that may be dialed. A server on another machine
// cannot send the client to this one.
func (w *web) least() reach {
	if w.elsewhere.Load() {
		return max(w.lowest, atSite)
	}
	return w.lowest
}

// open creates the client. Its connections are not kept, because a flow makes few requests.
func (w *web) open(ctx context.Context) {
	w.lowest = atLarge
	if u, err := url.Parse(w.server); err == nil && !w.flow.config.publicOnly {
		w.lowest = max(reachOfHost(ctx, u.Hostname()), atHome)
	}
	c := *w.base
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c.Jar = nil
	if c.Transport == nil {
		c.Transport = http.DefaultTransport
	}
	if t, ok := c.Transport.(*http.Transport); ok {
		c.Transport = w.guarded(t)
	}
	w.client = &c
}

// guarded returns a transport that checks addresses when it dials. A proxy resolves names itself,
// so only names can be checked for it: see check.
func (w *web) guarded(t *http.Transport) *http.Transport {
	guarded := t.Clone()
	guarded.DisableKeepAlives = true
	standard := t == http.DefaultTransport || t.DialContext == nil
	dial := guarded.DialContext
	guarded.DialTLSContext = nil
	guarded.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		lowest := w.least()
		if proxied, _ := ctx.Value(proxiedKey{}).(bool); proxied {
			lowest = atNowhere
		}
		if standard {
			d := net.Dialer{Timeout: webTime, Control: func(_, address string, _ syscall.RawConn) error { return allowed(address, lowest) }}
			return d.DialContext(ctx, network, address)
		}
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		if refused := allowed(conn.RemoteAddr().String(), lowest); refused != nil {
			_ = conn.Close()
			return nil, refused
		}
		return conn, nil
	}
	return guarded
}

type proxiedKey struct{}

// allowed returns an error if a resolved address is less public than lowest.
func allowed(address string, lowest reach) error {
	if lowest == atNowhere {
		return nil
	}
	at, err := netip.ParseAddrPort(address)
	if err != nil || reachOf(at.Addr()) < lowest {
		return fmt.Errorf("%w: the address %s is not as public as the server", ErrUnsafeURL, address)
	}
	return nil
}

// check parses a URL and returns an error unless it may be used: https, or http on loopback and for
// hosts of Plain.
func (w *web) check(address string) (*url.URL, error) {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "" || u.Hostname() == "":
		return nil, fmt.Errorf("%w: %q is not an absolute URL", ErrUnsafeURL, cleaned(address))
	case u.User != nil:
		return nil, fmt.Errorf("%w: %s has user information", ErrUnsafeURL, cleaned(u.Redacted()))
	case isOddAddress(u.Hostname()):
		return nil, fmt.Errorf("%w: the host of %s is an address in an unusual spelling", ErrUnsafeURL, cleaned(address))
	case u.Scheme == "https":
	case u.Scheme == "http" && (isLoopback(u.Hostname()) || slices.Contains(w.flow.config.plain, u.Hostname()) || slices.Contains(w.flow.config.plain, u.Host)):
	default:
		return nil, fmt.Errorf("%w: %s is not https", ErrUnsafeURL, cleaned(address))
	}
	return u, nil
}

// isOddAddress reports whether a host is neither a name nor an address of package netip, because its last
// part is a number. Browsers and proxies take it for an IPv4 address, such as 127.1 or 0x7f000001. It also
// reports whether a host is localhost only in the spelling that net/http gives it.
func isOddAddress(host string) bool {
	if _, err := netip.ParseAddr(host); err == nil {
		return false
	}
	plain := strings.ToLower(strings.TrimSuffix(strings.Map(inASCII, host), "."))
	if isLocalhost(plain) {
		return !isLocalhost(host)
	}
	last := plain[strings.LastIndexByte(plain, '.')+1:]
	digits := "0123456789"
	if hex, ok := strings.CutPrefix(last, "0x"); ok {
		last, digits = hex, digits+"abcdef"
	}
	return strings.Trim(last, digits) == ""
}

// inASCII returns the ASCII character that net/http and browsers use in place of a character of an
// address, such as a full-width digit. It returns 0 for each number, -1 for characters that cannot be
// seen, such as a soft hyphen, and other characters as they are.
func inASCII(r rune) rune {
	switch {
	case unicode.In(r, unicode.Cf, unicode.Mn): // IDNA drops most of them
		return -1
	case unicode.IsNumber(r):
		return '0'
	case r == '。' || r == '｡':
		return '.'
	case r >= '！' && r <= '～': // the full-width forms of ASCII
		return r - '！' + '!'
	}
	return r
}

// answer is the answer to a request.
type answer struct {
	status int
	header http.Header
	body   []byte
	took   time.Duration

	secrets []string // of the request
}

// shown returns a text of the answer in the form of cleaned. It hides the secrets of the request, which
// some authorization servers repeat when they refuse it.
func (a *answer) shown(text string) string {
	for _, secret := range a.secrets {
		text = strings.ReplaceAll(text, secret, "(hidden)")
	}
	return cleaned(text)
}

// object decodes a JSON object.
func (a *answer) object(into any) error {
	if !bytes.HasPrefix(bytes.TrimLeft(a.body, " \t\r\n"), []byte("{")) {
		return errors.New("the answer is not a JSON object")
	}
	return json.Unmarshal(a.body, into)
}

// isJSON reports whether the answer may contain metadata. Many servers return a page with status
// 200 for any path, and some set a wrong content type for JSON.
func (a *answer) isJSON() bool {
	kind, _, _ := mime.ParseMediaType(a.header.Get("Content-Type"))
	return kind == "application/json" || strings.HasSuffix(kind, "+json") ||
		kind != "text/html" && bytes.HasPrefix(bytes.TrimLeft(a.body, " \t\r\n"), []byte("{"))
}

// do makes one request. An error status is not an error.
func (w *web) do(ctx context.Context, method, address string, header http.Header, body []byte) (*answer, error) {
	u, err := w.check(address)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, webTime)
	defer cancel()
	if w.client == nil {
		w.open(ctx)
	}
	traced := ctx
	if server, _ := originAndPath(w.server); server == u.Scheme+"://"+u.Host {
		traced = w.watch(ctx)
	}
	r, err := http.NewRequestWithContext(traced, method, u.String(), bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnsafeURL, err)
	}
	maps.Copy(r.Header, header)
	r.Header.Set("Accept", "application/json")
	if method == http.MethodGet {
		r.Header.Set("Mcp-Protocol-Version", "2025-03-26") // that revision requires it, and the others ignore it
	}
	if t, ok := w.base.Transport.(*http.Transport); ok || w.base.Transport == nil {
		r, err = w.byProxy(r, t)
		if err != nil {
			return nil, err
		}
	} else if reachOfHost(ctx, u.Hostname()) < w.least() { // a RoundTripper of the program dials by itself
		return nil, fmt.Errorf("%w: the address of %s is not as public as the server", ErrUnsafeURL, u.Hostname())
	}
	start := time.Now()
	resp, err := w.client.Do(r)
	if err != nil {
		return nil, unreachable(ctx, err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil {
		return nil, unreachable(ctx, err)
	}
	if len(text) > maxAnswer {
		return nil, fmt.Errorf("%w: %s answers with more than 1 MiB", ErrUnavailable, u.Redacted())
	}
	return &answer{resp.StatusCode, resp.Header, text, time.Since(start), secretsOf(header, body)}, nil
}

// byProxy determines whether a request uses a proxy. If it does, the dialed address is the proxy's,
// so only the name in the URL can be checked.
func (w *web) byProxy(r *http.Request, t *http.Transport) (*http.Request, error) {
	if t == nil {
		t, _ = http.DefaultTransport.(*http.Transport)
	}
	if t == nil || t.Proxy == nil {
		return r, nil
	}
	proxy, err := t.Proxy(r)
	if err != nil || proxy == nil {
		return r, nil //nolint:nilerr // the request itself will fail with it
	}
	if a, err := netip.ParseAddr(r.URL.Hostname()); err == nil && reachOf(a) < w.least() || isLocalhost(r.URL.Hostname()) && w.least() > atHome {
		return nil, fmt.Errorf("%w: the address %s is not as public as the server", ErrUnsafeURL, r.URL.Hostname())
	}
	return r.WithContext(context.WithValue(r.Context(), proxiedKey{}, true)), nil
}

// unreachable returns err if it is our own refusal, the cause if the context was canceled, and
// otherwise ErrUnavailable.
func unreachable(ctx context.Context, err error) error {
	if errors.Is(err, ErrUnsafeURL) {
		return err
	}
	if cause := context.Cause(ctx); errors.Is(cause, context.Canceled) {
		return cause
	}
	return because(ErrUnavailable, err)
}
