package streamable

import (
	"net"
	"net/netip"
	"net/url"
	"strings"

	"github.com/kagami-mcp/kagami/transport/internal/loopback"
)

// origins is the set of allowed origins, in the form that browsers send.
type origins map[string]struct{}

// newOrigins normalizes the origins of a configuration. It ignores empty ones, which come from
// variables that are not set.
func newOrigins(list []string) origins {
	all := make(origins, len(list))
	for _, each := range list {
		if each != "" {
			all[plainOrigin(strings.TrimSuffix(each, "/"))] = struct{}{}
		}
	}
	return all
}

func (o origins) has(origin string) bool {
	_, listed := o[plainOrigin(origin)]
	return listed
}

// plainOrigin normalizes an origin (RFC 6454 section 6.1): lower case, no default port. Text that
// is not an origin is returned unchanged.
func plainOrigin(origin string) string {
	lower := strings.ToLower(origin)
	u, err := url.Parse(lower)
	if err != nil || u.Host == "" || u.Scheme+"://"+u.Host != lower {
		return origin
	}
	return u.Scheme + "://" + plainHost(u.Scheme, u.Host)
}

// defaultPorts has the default ports of the schemes of pages.
var defaultPorts = map[string]string{"http": "80", "https": "443"} //nolint:gochecknoglobals // a table

// plainHost normalizes a host with or without a port: lower case, without the default port of
// the scheme, and IPv6 addresses in canonical form.
func plainHost(scheme, host string) string {
	host = strings.ToLower(host)
	name, port := hostname(host), ""
	if _, p, err := net.SplitHostPort(host); err == nil && p != defaultPorts[scheme] {
		port = ":" + p
	}
	if addr, err := netip.ParseAddr(name); err == nil && addr.Is6() {
		name = "[" + addr.String() + "]"
	}
	return name + port
}

// own reports whether the page of origin is on this machine or on the host that was called. Such a
// call is not cross-origin.
func own(origin, host string) bool {
	u, err := url.Parse(origin)
	if err != nil || defaultPorts[u.Scheme] == "" {
		return false
	}
	return loopback.Is(u.Hostname()) || plainHost(u.Scheme, u.Host) == plainHost(u.Scheme, host)
}

// onThisMachine reports whether a server on this machine has served the page of origin.
func onThisMachine(origin string) bool {
	u, err := url.Parse(origin)
	return err == nil && defaultPorts[u.Scheme] != "" && loopback.Is(u.Hostname())
}

// named reports whether allowed, an entry of AllowedHosts, matches host, whose name is name.
// Clients leave out a default port, and only a proxy knows whether that was 80 or 443. An entry
// with either port therefore matches a host without a port.
func named(allowed, host, name string) bool {
	if strings.EqualFold(allowed, host) || strings.EqualFold(strings.Trim(allowed, "[]"), name) {
		return true
	}
	known, port, err := net.SplitHostPort(allowed)
	return err == nil && (port == "80" || port == "443") && strings.EqualFold(known, name) && !hasPort(host)
}

func hasPort(host string) bool {
	_, _, err := net.SplitHostPort(host)
	return err == nil
}

// hostname returns host without port and brackets, or "" if host is malformed.
func hostname(host string) string {
	if strings.ContainsAny(host, "/\\@?# \t") {
		return ""
	}
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	if inner, ok := strings.CutPrefix(host, "["); ok {
		host, ok = strings.CutSuffix(inner, "]")
		if !ok {
			return ""
		}
	}
	if strings.ContainsAny(host, "[]") {
		return ""
	}
	return host
}
