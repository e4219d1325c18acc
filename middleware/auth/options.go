package auth

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"github.com/kagami-mcp/kagami/middleware/internal/proof"
	"github.com/kagami-mcp/kagami/transport"
)

// Option configures Bearer. If an option is given twice, scopes and servers add up; of other
// options the last one counts. It is sealed.
type Option interface{ option(c *config) }

type optionFunc func(*config)

func (f optionFunc) option(c *config) { f(c) }

type config struct {
	resource  string
	servers   []string
	required  []string
	supported []string
	implied   map[string][]string
	proofs    *proof.Checker // nil if proofs are not required
	nonces    *proof.Nonces  // nil if proofs need no nonce
	refused   func(ctx context.Context, err error)
	wrong     error // first fault of an option
}

// fault returns the error in the options, or nil. It uses the values that newConfig has taken from
// the verifier.
func (c *config) fault() error {
	u := httpURL(c.resource)
	switch {
	case c.wrong != nil:
		return c.wrong
	case c.resource != "" && u == nil:
		return missetf("Resource must be an absolute URL of http or https, not %q", c.resource)
	case u != nil && u.Fragment != "":
		return missetf("Resource must have no fragment: %q", c.resource)
	case u == nil && c.proofs != nil:
		return missetf("DPoP needs Resource")
	case c.nonces != nil && c.proofs == nil:
		return missetf("DPoPNonces needs DPoP")
	}
	for _, server := range c.servers {
		if httpURL(server) == nil {
			return missetf("an authorization server must be an absolute URL, not %q", server)
		}
	}
	return nil
}

// add appends the scopes of an option to a list. An invalid scope is an error, because without it
// less would be required than intended.
func (c *config) add(option string, list, scopes []string) []string {
	for _, scope := range scopes {
		if !proof.IsScope(scope) && c.wrong == nil {
			c.wrong = missetf("%s: %q is not a scope: want printable characters without spaces, quotes and backslashes", option, scope)
		}
	}
	return appendNew(list, scopes)
}

// Resource sets this server's identifier (RFC 8707): the absolute URL of its endpoint as clients
// know it, such as "https://shop.example.com/mcp". It is the "resource" of the metadata. If the
// verifier does not name an audience, it is also the audience that tokens must have. The default is
// the verifier's audience, if that is a URL.
func Resource(url string) Option {
	return optionFunc(func(c *config) { c.resource = url })
}

// AuthorizationServers adds authorization servers to the metadata. The default is the verifier's
// issuer, if that is a URL. Without an authorization server there is no metadata (2025-11-25
// basic/authorization: at least one).
func AuthorizationServers(urls ...string) Option {
	urls = slices.Clone(urls)
	return optionFunc(func(c *config) { c.servers = append(c.servers, urls...) })
}

// Require makes every request need all of the given scopes. If one is missing, the challenge in the
// 403 response lists all of them.
func Require(scopes ...string) Option {
	scopes = slices.Clone(scopes)
	return optionFunc(func(c *config) { c.required = c.add("Require", c.required, scopes) })
}

// Supported adds scopes to the metadata and to the challenge of 401 responses, in addition to the
// scopes of Require. Use it for scopes of components, so that a client requests them at once.
// "offline_access" is left out, because it concerns only the client and the authorization server
// (2026-07-28 basic/authorization).
func Supported(scopes ...string) Option {
	scopes = slices.Clone(scopes)
	return optionFunc(func(c *config) { c.supported = c.add("Supported", c.supported, scopes) })
}

// Implies declares that a principal with scope also has the covered scopes. Covered scopes may
// cover further scopes. It applies to tokens that Bearer verifies, and to callers on stdio ([Local],
// [FromEnv]) of a server with this Bearer.
func Implies(scope string, covered ...string) Option {
	covered = slices.Clone(covered)
	return optionFunc(func(c *config) {
		if c.implied == nil {
			c.implied = make(map[string][]string)
		}
		c.add("Implies", nil, []string{scope})
		c.implied[scope] = c.add("Implies", c.implied[scope], covered)
	})
}

// OnRefuse calls fn with the reason of each request that Bearer refuses, for logs and metrics. Calls
// that lack scopes of a component are not among them; middleware of the phase trace sees these. The
// reason does not contain a token, but may contain text from the client. fn is called concurrently,
// before the refusal is sent.
func OnRefuse(fn func(ctx context.Context, err error)) Option {
	return optionFunc(func(c *config) { c.refused = fn })
}

func newConfig(v Verifier, opts []Option) config {
	var c config
	for _, o := range opts {
		if o == nil { // ignoring it could mean to demand less than was meant
			c.wrong = missetf("an option of Bearer is nil")
			continue
		}
		o.option(&c)
	}
	if known, ok := v.(audienced); ok {
		issuer, audience := known.names()
		if c.resource == "" && httpURL(audience) != nil {
			c.resource = audience
		}
		if len(c.servers) == 0 && httpURL(issuer) != nil {
			c.servers = []string{issuer}
		}
	}
	return c
}

// appendNew appends the valid scopes that are not in the list yet.
func appendNew(list, scopes []string) []string {
	for _, scope := range scopes {
		if proof.IsScope(scope) && !slices.Contains(list, scope) {
			list = append(list, scope)
		}
	}
	return list
}

// Expand returns p with the scopes that its scopes imply. Carriers that have a principal without a
// request also call it; see [transport.Authenticator]. It does not change p.
func (c *config) Expand(p *transport.Principal) *transport.Principal {
	all := p.Scopes
	for i := 0; i < len(all); i++ {
		all = appendNew(slices.Clip(all), c.implied[all[i]])
	}
	if len(all) == len(p.Scopes) {
		return p
	}
	wider := *p
	wider.Scopes = all
	return &wider
}

// httpURL returns s as a URL, or nil if s is not an absolute http or https URL.
func httpURL(s string) *url.URL {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.User != nil || !strings.EqualFold(u.Scheme, "http") && !strings.EqualFold(u.Scheme, "https") {
		return nil
	}
	return u
}

// sameResource reports whether two identifiers are the same resource. It ignores case in scheme and
// host, and one slash at the end (2025-06-18 basic/authorization "Canonical Server URI"). A URL
// with a fragment is not an identifier (RFC 8707 §2).
func sameResource(a, b string) bool {
	if a == b {
		return a != ""
	}
	ua, ub := httpURL(a), httpURL(b)
	if ua == nil || ub == nil || ua.Fragment != ub.Fragment {
		return false
	}
	return strings.EqualFold(ua.Scheme, ub.Scheme) && strings.EqualFold(ua.Host, ub.Host) &&
		strings.TrimSuffix(ua.EscapedPath(), "/") == strings.TrimSuffix(ub.EscapedPath(), "/") && ua.RawQuery == ub.RawQuery
}
