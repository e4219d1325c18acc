package authserver

import (
	"context"
	"crypto/subtle"
	"errors"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/kagami-mcp/kagami/protocol/session"
)

// Client is a client that may request authorization.
type Client struct {
	ID              string
	Name            string
	URI, LogoURI    string // shown only as text: images of unknown clients are not loaded
	RedirectURIs    []string
	ApplicationType string   // "native" or "web"
	Method          string   // at the token endpoint: none, client_secret_basic, client_secret_post or private_key_jwt; by default the methods that fit SecretDigest, JWKS and JWKSURI, for clients registered by hand
	SecretDigest    []byte   // SHA-256; secrets are random, so nothing slower is needed
	JWKS            []byte   // a JWK Set, for private_key_jwt
	JWKSURI         string   // instead of JWKS: the URL of the JWK Set, for clients that change their keys
	Grants          []string // by default authorization_code and refresh_token
	Scopes          []string // all scopes that it may request; nil means every scope
	Introspects     bool     // it may introspect tokens of all clients, as a resource server in another process; only for clients registered by hand
	Known           Known    // set by the server
	Created         time.Time
}

// Known is how a client was registered, which determines how far its name can be trusted.
type Known string

// The ways of registration.
const (
	ByHand         Known = "by hand"
	ByDocument     Known = "by document"     // its domain is proven
	ByRegistration Known = "by registration" // nothing is proven
)

// Clients adds clients that were registered by hand.
func Clients(clients ...Client) Option {
	return optionFunc(func(c *config) { c.clients = append(c.clients, clients...) })
}

// Policy decides which clients may register themselves. The zero value accepts documents and
// registrations with redirect URIs that are https or loopback.
type Policy struct {
	NoRegistration bool
	NoDocuments    bool
	InitialToken   string   // registration needs it as a bearer token
	Domains        []string // of documents, of https redirect URIs and of JWK Sets; "example.com", "*.example.com"; if empty, all domains
	Schemes        []string // private-use schemes that redirect URIs may have, such as "cursor" and "vscode"; the specification lists none
	MaxClients     int      // maximum number of clients that registered themselves; default 10,000. The client that was unused longest is dropped, but never one with a grant
	// Admit makes the last decision; if it is nil, all clients are admitted. The client does not
	// receive the text of its error.
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

	methodSecret = methodBasic + " or " + methodPost // of clients by hand that do not set it
)

var (
	errUnknownClient = errors.New("authserver: unknown client")
	errNotAdmitted   = errors.New("authserver: the policy does not admit this client")
)

// may reports whether a client may use a grant type.
func (c *Client) may(grantType string) bool {
	if len(c.Grants) == 0 {
		return grantType == grantCode || grantType == grantRefresh
	}
	return slices.Contains(c.Grants, grantType)
}

// redirects reports whether the client has the redirect URI.
func (c *Client) redirects(uri string) bool {
	return slices.ContainsFunc(c.RedirectURIs, func(own string) bool { return sameRedirect(own, uri) })
}

// hasSecret reports whether the secret is the client's. It compares in constant time.
func (c *Client) hasSecret(secret string) bool {
	return len(c.SecretDigest) > 0 && subtle.ConstantTimeCompare(c.SecretDigest, secretDigest(secret)) == 1
}

// methodByHand returns the authentication method of a client that was registered by hand. If the
// client sets none, it depends on the client's key and secret. A secret may then come in the header
// or in the body, because each of them is the only way of some clients.
func (c *Client) methodByHand() string {
	switch {
	case c.Method != "":
		return c.Method
	case len(c.JWKS) > 0 || c.JWKSURI != "":
		return methodKey
	case len(c.SecretDigest) > 0:
		return methodSecret
	}
	return methodNone
}

// provesBy reports whether the client may authenticate with the method.
func (c *Client) provesBy(method string) bool {
	return c.Method == method || c.Method == methodSecret && (method == methodBasic || method == methodPost)
}

// client returns a client by its ID. The error is errUnknownClient, errNotAdmitted, or the reason
// why the client cannot be read now.
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

// admits applies the policy to a client that registered itself.
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
	if at, err := url.Parse(c.JWKSURI); err != nil || c.JWKSURI != "" && !inDomains(at.Hostname(), p.Domains) {
		return errNotAdmitted
	}
	if p.Admit != nil {
		if err := p.Admit(ctx, c); err != nil {
			return errors.Join(errNotAdmitted, err)
		}
	}
	return nil
}

// inDomains reports whether a host is in a list of domains. An empty list contains all hosts.
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

// shownText makes a text of an unknown client safe for a page. It removes control and format
// characters, which can reorder it, and cuts it to 100 characters.
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

// maxName is the maximum length of a client's name, in characters.
const maxName = 100
