package authserver

import (
	"context"
	"crypto/subtle"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/kagami-mcp/kagami/protocol/session"
)

// Client is one that may ask for authorization.
type Client struct {
	ID              string
	Name            string
	URI, LogoURI    string // shown as text only: no image of a stranger is loaded
	RedirectURIs    []string
	ApplicationType string   // "native" or "web"
	Method          string   // of the token endpoint: none, client_secret_basic, client_secret_post or private_key_jwt; by hand, empty: what fits SecretDigest and JWKS
	SecretDigest    []byte   // SHA-256; secrets are random, so nothing slower is needed
	JWKS            []byte   // a JWK Set, for private_key_jwt
	Grants          []string // empty: authorization_code and refresh_token
	Scopes          []string // all it may ask for; nil: every scope
	Known           Known    // set by the server
	Created         time.Time
}

// Known says how a client came to be known, and so how much its name is worth.
type Known string

// The ways.
const (
	ByHand         Known = "by hand"
	ByDocument     Known = "by document"     // its domain is proven
	ByRegistration Known = "by registration" // nothing is proven
)

// Clients adds clients that were registered by hand.
func Clients(clients ...Client) Option {
	return optionFunc(func(c *config) { c.clients = append(c.clients, clients...) })
}

// Policy says which clients may make themselves known. The zero value takes documents and
// registrations with redirect URIs that are https or loopback.
type Policy struct {
	NoRegistration bool
	NoDocuments    bool
	InitialToken   string   // registration needs it as a bearer token
	Domains        []string // of documents and of https redirect URIs; "example.com", "*.example.com"; empty: all
	Schemes        []string // private-use schemes that redirect URIs may have, "cursor", "vscode"; the specification has none
	MaxClients     int      // that registered themselves; default 10,000: the ones unused longest make room, never one with a grant
	// Admit has the last word; nil: everybody. Its error's text is not told to the client.
	Admit func(ctx context.Context, c *Client) error
}

// Admission sets the policy.
func Admission(p Policy) Option {
	return optionFunc(func(c *config) { c.policy = p })
}

// The grant types.
const (
	grantCode        = "authorization_code"
	grantRefresh     = "refresh_token"
	grantCredentials = "client_credentials"
	grantAssertion   = "urn:ietf:params:oauth:grant-type:jwt-bearer"
)

// How clients prove themselves at the token endpoint.
const (
	methodNone  = "none"
	methodBasic = "client_secret_basic"
	methodPost  = "client_secret_post"
	methodKey   = "private_key_jwt"
)

var (
	errUnknownClient = errors.New("authserver: unknown client")
	errNotAdmitted   = errors.New("authserver: the policy does not admit this client")
)

// may says whether a client may use a grant type.
func (c *Client) may(grantType string) bool {
	if len(c.Grants) == 0 {
		return grantType == grantCode || grantType == grantRefresh
	}
	return slices.Contains(c.Grants, grantType)
}

// redirects says whether a redirect URI is one of the client's.
func (c *Client) redirects(uri string) bool {
	return slices.ContainsFunc(c.RedirectURIs, func(own string) bool { return sameRedirect(own, uri) })
}

// hasSecret compares a secret in constant time.
func (c *Client) hasSecret(secret string) bool {
	return len(c.SecretDigest) > 0 && subtle.ConstantTimeCompare(c.SecretDigest, secretDigest(secret)) == 1
}

// methodByHand is what a client that was registered by hand proves itself with, unless it says so.
func (c *Client) methodByHand() string {
	switch {
	case c.Method != "":
		return c.Method
	case len(c.JWKS) > 0:
		return methodKey
	case len(c.SecretDigest) > 0:
		return methodBasic
	}
	return methodNone
}

// client finds a client by its id. The error is errUnknownClient, errNotAdmitted, or why it cannot be
// known now.
func (s *Server) client(ctx context.Context, id string) (*Client, error) {
	if c, ok := s.byHand[id]; ok {
		return c, nil
	}
	if strings.HasPrefix(id, "https://") {
		return s.byDocument(ctx, id)
	}
	known, err := s.registered.get(ctx, id)
	if errors.Is(err, session.ErrNotFound) {
		return nil, errUnknownClient
	}
	if err != nil {
		return nil, err
	}
	return &known.Client, nil
}

// admits applies the policy to a client that made itself known.
func (s *Server) admits(ctx context.Context, c *Client) error {
	p := &s.policy
	for _, uri := range c.RedirectURIs {
		u, err := judgeRedirect(uri, p.Schemes)
		if err != nil {
			return err
		}
		web := u.Scheme == "https"
		if c.ApplicationType == "web" && !web || web && !inDomains(u.Hostname(), p.Domains) {
			return errRedirect
		}
	}
	if p.Admit != nil {
		if err := p.Admit(ctx, c); err != nil {
			return errors.Join(errNotAdmitted, err)
		}
	}
	return nil
}

// inDomains says whether a host is one of the domains; all are if there are none.
func inDomains(host string, domains []string) bool {
	host = strings.ToLower(host)
	return len(domains) == 0 || slices.ContainsFunc(domains, func(d string) bool {
		d = strings.ToLower(d)
		if parent, ok := strings.CutPrefix(d, "*"); ok {
			return strings.HasSuffix(host, parent) && host != strings.TrimPrefix(parent, ".")
		}
		return host == d
	})
}

// shownText makes text of a stranger fit for a page: no control or format characters, which can
// reorder it, and at most 100 characters.
func shownText(s string) string {
	runes := []rune(strings.Map(func(r rune) rune {
		if isHidden(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "")))
	if len(runes) > maxName {
		runes = append(runes[:maxName-1], '…')
	}
	return strings.TrimSpace(string(runes))
}

// maxName bounds the name of a client, in characters.
const maxName = 100
