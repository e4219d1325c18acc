package auth

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"github.com/kagami-mcp/kagami/middleware/internal/proof"
	"github.com/kagami-mcp/kagami/transport"
)

// Option configures Bearer. If an option is given twice, scopes and servers add up;
// otherwise the last one counts. Sealed.
type Option interface{ option(c *config) }

type optionFunc func(*config)

func (f optionFunc) option(c *config) { f(c) }

type config struct {
	resource  string
	servers   []string
	required  []string
	supported []string
	implied   map[string][]string
	proofs    *proof.Checker // nil: no proofs are demanded
	refused   func(ctx context.Context, err error)
	wrong     error // the first option that is wrong
}

// fault is what is wrong with the options, given what the verifier names itself.
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
	}
	for _, server := range c.servers {
		if httpURL(server) == nil {
			return missetf("an authorization server must be an absolute URL, not %q", server)
		}
	}
	return nil
}

// add appends the scopes of an option to a list. An invalid scope is an error and not ignored:
// otherwise less would be demanded than was meant.
func (c *config) add(option string, list, scopes []string) []string {
	for _, scope := range scopes {
		if !scopeToken(scope) && c.wrong == nil {
			c.wrong = missetf("%s: %q is no scope: it must be printable, without spaces, quotes and backslashes", option, scope)
		}
	}
	return appendNew(list, scopes)
}

// Resource sets this server's identifier (RFC 8707): the absolute URL of its endpoint as
// clients know it, "https://shop.example.com/mcp". It is the metadata's "resource", and the
// audience that tokens must have if the verifier names none. Default: the verifier's
// audience, if that is a URL.
func Resource(url string) Option {
	return optionFunc(func(c *config) { c.resource = url })
}

// AuthorizationServers names the servers for the metadata; default: the verifier's issuer,
// if that is a URL. Without any there is no metadata (2025-11-25 basic/authorization: at
// least one).
func AuthorizationServers(urls ...string) Option {
	return optionFunc(func(c *config) { c.servers = append(c.servers, urls...) })
}

// Require demands scopes of every call, all of them. A client that lacks one is told all of
// them.
func Require(scopes ...string) Option {
	return optionFunc(func(c *config) { c.required = c.add("Require", c.required, scopes) })
}

// Supported names scopes for the metadata besides those of Require: those that components
// need, so that a client can ask for them at once. "offline_access" is left out: it is
// between the client and the authorization server (2026-07-28 basic/authorization).
func Supported(scopes ...string) Option {
	return optionFunc(func(c *config) { c.supported = c.add("Supported", c.supported, scopes) })
}

// Implies says that a principal with scope has the covered scopes, too; those may cover
// more in turn.
func Implies(scope string, covered ...string) Option {
	return optionFunc(func(c *config) {
		if c.implied == nil {
			c.implied = make(map[string][]string)
		}
		c.add("Implies", nil, []string{scope})
		c.implied[scope] = c.add("Implies", c.implied[scope], covered)
	})
}

// OnRefuse has fn called with the reason of each refusal, for logs and metrics. The reason
// contains no token, but may contain what a client made up. fn is called concurrently,
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
	if known, ok := v.(intended); ok && c.resource == "" && httpURL(known.audience()) != nil {
		c.resource = known.audience()
	}
	if known, ok := v.(issuing); ok && len(c.servers) == 0 && httpURL(known.issuer()) != nil {
		c.servers = []string{known.issuer()}
	}
	return c
}

// appendNew appends valid scopes that are not in the list yet.
func appendNew(list, scopes []string) []string {
	for _, scope := range scopes {
		if scopeToken(scope) && !slices.Contains(list, scope) {
			list = append(list, scope)
		}
	}
	return list
}

// scopeToken checks RFC 6749 §3.3. Other characters could end the quotes of a challenge.
func scopeToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return r <= ' ' || r > '~' || r == '"' || r == '\\'
	})
}

// expand is p with the scopes that its scopes imply.
func (c *config) expand(p *transport.Principal) *transport.Principal {
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

// httpURL is s as a URL if that is absolute and http or https, else nil.
func httpURL(s string) *url.URL {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.User != nil || !strings.EqualFold(u.Scheme, "http") && !strings.EqualFold(u.Scheme, "https") {
		return nil
	}
	return u
}

// sameResource compares identifiers. Case does not count in scheme and host, nor does one slash
// at the end (2025-06-18 basic/authorization "Canonical Server URI"). A URL with a fragment
// identifies nothing (RFC 8707 §2).
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
