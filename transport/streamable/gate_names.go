package streamable

import (
	"net"
	"net/netip"
	"net/url"
	"strings"

	"github.com/kagami-mcp/kagami/transport/internal/loopback"
)

// origins are pages that may call, as browsers write them.
type origins map[string]struct{}

// newOrigins takes them as people write them. One that is empty, as of a variable that is
// not set, is none.
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
	if len(o) == 0 {
		return false
	}
	if _, listed := o[origin]; listed {
		return true
	}
	_, listed := o[plainOrigin(origin)]
	return listed
}

// plainOrigin is the one way to write an origin (RFC 6454 section 6.1): in lower case, and
// without a default port. What is no origin stays as it is.
func plainOrigin(origin string) string {
	lower := strings.ToLower(origin)
	u, err := url.Parse(lower)
	if err != nil || u.Host == "" || u.Scheme+"://"+u.Host != lower {
		return origin
	}
	return u.Scheme + "://" + plainHost(u.Scheme, u.Host)
}

// defaultPorts of the schemes whose pages may be at home here.
var defaultPorts = map[string]string{"http": "80", "https": "443"} //nolint:gochecknoglobals // a table

// plainHost is host, with or without a port, in lower case, without the port that the
// scheme has anyway, and an IPv6 address in its one form.
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

// own says whether a page is of this machine or of the host that was called: such
// a call crosses no border.
func own(origin, host string) bool {
	u, err := url.Parse(origin)
	if err != nil || defaultPorts[u.Scheme] == "" {
		return false
	}
	return loopback.Is(u.Hostname()) || plainHost(u.Scheme, u.Host) == plainHost(u.Scheme, host)
}

// named says whether allowed is host, whose name is name. Clients leave a default port out,
// and what is between them and us knows which of the two it was.
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

// hostname is host without port and brackets, empty if it is malformed.
func hostname(host string) string {
	if strings.ContainsAny(host, "/\\@?# \t") {
		return ""
	}
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	return strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
}
