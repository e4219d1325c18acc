package authserver

import (
	"errors"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// maxRedirect is the maximum length of a redirect URI, in bytes.
const maxRedirect = 2 << 10

var errRedirect = errors.New("a redirect URI is https, or http on 127.0.0.1, [::1] or localhost, absolute, at most 2 KiB long, and has no user information, no fragment, and no parameter of the response, such as code or iss")

// responseParameters are the parameters of an authorization response. The query of a redirect URI is kept,
// so a parameter of the same name would be there twice (RFC 6749 §3.1).
var responseParameters = []string{"code", "state", "iss", "error", "error_description", "error_uri"}

// judgeRedirect checks the form of a redirect URI (2025-11-25 basic/authorization "Communication
// Security": localhost or https). schemes are private schemes that are also allowed.
func judgeRedirect(uri string, schemes []string) (*url.URL, error) {
	u, err := url.Parse(uri)
	switch {
	case err != nil || len(uri) > maxRedirect || strings.ContainsFunc(uri, unprintable):
		return nil, errRedirect
	case u.User != nil || u.Opaque != "" || strings.ContainsAny(uri, `#\`), hasResponseParameter(u.RawQuery):
		return nil, errRedirect
	case slices.Contains(schemes, u.Scheme) && u.Scheme != "http" && u.Scheme != "https":
		return u, nil
	case u.Hostname() == "" || u.Port() != "" && !isPort(u.Port()) || disguised(u):
		return nil, errRedirect
	case u.Scheme == "https" || u.Scheme == "http" && loopbackName(u.Hostname()):
		return u, nil
	}
	return nil, errRedirect
}

func isPort(s string) bool {
	n, err := strconv.ParseUint(s, 10, 16)
	return err == nil && n > 0
}

// disguised reports whether a host was written with escapes, which url.Parse decodes. A page would show
// letters that can look like the name of another host.
func disguised(u *url.URL) bool {
	return strings.Contains(u.Host, "%") || strings.ContainsFunc(u.Host, unprintable)
}

// hasResponseParameter reports whether a query has a parameter of a response. It also finds names that
// other parsers would find, although url.ParseQuery refuses the query.
func hasResponseParameter(query string) bool {
	pairs := strings.FieldsFunc(query, func(r rune) bool { return r == '&' || r == ';' })
	return slices.ContainsFunc(pairs, func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		plain, err := url.QueryUnescape(name)
		return err == nil && slices.Contains(responseParameters, plain)
	})
}

func unprintable(r rune) bool { return r <= ' ' || r > '~' }

// loopbackName reports whether the host of a redirect URI is this machine, in one of the three
// spellings that RFC 8252 §7.3 and clients use.
func loopbackName(host string) bool {
	return host == "127.0.0.1" || host == "::1" || host == "localhost"
}

// sameRedirect compares a redirect URI of a request with a registered one, byte by byte. The port
// of http on loopback may differ, because a client cannot know it before (OAuth 2.1 §8.4.2). The
// spelling of the host must be equal.
func sameRedirect(registered, given string) bool {
	if registered == given {
		return true
	}
	r, err := url.Parse(registered)
	g, failed := url.Parse(given)
	if err != nil || failed != nil || r.Scheme != "http" || g.Scheme != "http" {
		return false
	}
	host := r.Hostname()
	return loopbackName(host) && host == g.Hostname() && withoutPort(registered, r) == withoutPort(given, g)
}

// withoutPort returns the URI as written, without the port.
func withoutPort(uri string, u *url.URL) string {
	before, after, _ := strings.Cut(uri, u.Host)
	return before + strings.TrimSuffix(u.Host, ":"+u.Port()) + after
}

// isLoopback reports whether a redirect URI leads to the user's own machine.
func isLoopback(u *url.URL) bool {
	a, err := netip.ParseAddr(u.Hostname())
	return loopbackName(u.Hostname()) || err == nil && a.IsLoopback()
}

// shownHost returns the part of a redirect URI that the consent page shows.
func shownHost(u *url.URL) string {
	if u.Scheme != "https" && u.Scheme != "http" {
		return u.Scheme + ":"
	}
	return u.Host
}
