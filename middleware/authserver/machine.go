package authserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/kagami-mcp/kagami/middleware/auth"
	"github.com/kagami-mcp/kagami/middleware/internal/proof"
)

// Assertions accepts ID-JAGs of these identity providers (grant
// urn:ietf:params:oauth:grant-type:jwt-bearer, extension
// io.modelcontextprotocol/enterprise-managed-authorization). No refresh token is issued. Clients
// must be registered by hand, with a secret or a key, and have that grant in their Grants.
func Assertions(issuers ...AssertionIssuer) Option {
	return optionFunc(func(c *config) { c.assertions = append(c.assertions, issuers...) })
}

// AssertionIssuer is an identity provider that is trusted to name users.
type AssertionIssuer struct {
	Issuer     string
	JWKS       string        // discovered if empty
	Algorithms []string      // default: ES256, RS256
	MaxAge     time.Duration // since the assertion was issued; default 10 minutes
	// User returns the user for the assertion's claims. If it is nil, the subject is used
	// unchanged. It is required with several issuers, because two issuers may give the same name to
	// different users.
	User func(ctx context.Context, claims map[string]any) (*User, error)

	verifier *auth.JWT
}

const assertionAge = 10 * time.Minute

func (a *AssertionIssuer) prepare(audience string) {
	if len(a.Algorithms) == 0 {
		a.Algorithms = []string{"ES256", "RS256"}
	}
	a.MaxAge = cmp.Or(a.MaxAge, assertionAge)
	a.verifier = &auth.JWT{Issuer: a.Issuer, JWKS: a.JWKS, Algorithms: a.Algorithms, Audience: audience, Type: "oauth-id-jag+jwt"}
}

func (c *config) assertionFaults() (faults []error) {
	for _, a := range c.assertions {
		if !isResource(a.Issuer) || a.JWKS != "" && !isResource(a.JWKS) || a.MaxAge < 0 {
			faults = append(faults, fmt.Errorf("authserver: Assertions: %q: the issuer and the JWKS must be absolute URLs, and MaxAge is not negative", a.Issuer))
		}
		if a.User == nil && len(c.assertions) > 1 {
			faults = append(faults, fmt.Errorf("authserver: Assertions: %s: User is required with several issuers", a.Issuer))
		}
	}
	return faults
}

// byCredentials issues a token to a client that acts for itself. Only clients that are registered
// by hand have that grant. New refuses the grant for clients without a secret or a key; the same
// applies to byAssertion.
func (s *Server) byCredentials(t *tokenRequest) (*tokenAnswer, error) {
	resource, err := s.resourceFor(t.form["resource"])
	if err != nil {
		return nil, err
	}
	scopes, err := s.choose(t.form.Get("scope"), resource, t.client)
	if err != nil {
		return nil, err
	}
	g := &grant{Client: t.client.ID, User: User{Subject: t.client.ID}, Resource: resource, Scopes: scopes, Key: t.key}
	answer, err := s.access(t.http.Context(), "", g, g.Scopes, time.Now())
	if err == nil {
		s.emit(t.http, Event{Kind: TokenIssued, Subject: t.client.ID, ClientID: t.client.ID, Resource: g.Resource, Scopes: scopes})
	}
	return answer, err
}

// byAssertion issues a token for an ID-JAG (draft-ietf-oauth-identity-assertion-authz-grant §4.4).
// The token belongs to a grant, so that Revoke ends it.
func (s *Server) byAssertion(t *tokenRequest) (*tokenAnswer, error) {
	ctx, now := t.http.Context(), time.Now()
	u, claims, err := s.asserted(ctx, t.client, t.form.Get("assertion"))
	if errors.Is(err, auth.ErrUnavailable) {
		return nil, refusedAs(http.StatusServiceUnavailable, "temporarily_unavailable", "Try again later.", err)
	}
	if failed, ok := errors.AsType[*refusal](err); ok {
		return nil, failed
	}
	if err != nil {
		return nil, refusedBy("invalid_grant", "The assertion is not valid here.", err)
	}
	asked := proof.Texts(claims["resource"])
	if named := t.form["resource"]; len(named) > 0 && (len(asked) != 1 || named[0] != asked[0]) {
		return nil, errTarget
	}
	resource, err := s.resourceFor(asked)
	if err != nil || len(asked) != 1 {
		return nil, errTarget
	}
	allowed, _ := claims["scope"].(string)
	scopes, err := s.choose(allowed, resource, t.client)
	if err != nil {
		return nil, err
	}
	if wanted := t.form.Get("scope"); wanted != "" {
		scopes = narrow(scopes, strings.Fields(wanted))
	}
	reference := referenceOf(newHandle())
	g := &grant{Client: t.client.ID, User: *u, Resource: resource, Scopes: narrow(scopes, u.Scopes), Key: t.key, Until: now.Add(s.lives.Access + leeway)}
	if err := s.createGrant(ctx, reference, g, nil); errors.Is(err, errDead) {
		return nil, invalidGrant(err)
	} else if err != nil {
		return nil, err
	}
	answer, err := s.access(ctx, reference, g, g.Scopes, now)
	if err == nil {
		s.emit(t.http, Event{Kind: TokenIssued, Subject: u.Subject, ClientID: g.Client, Grant: reference, Resource: g.Resource, Scopes: g.Scopes})
	}
	return answer, err
}

// asserted verifies an ID-JAG, and returns its user.
func (s *Server) asserted(ctx context.Context, c *Client, assertion string) (*User, map[string]any, error) {
	dates, err := unverified(assertion)
	i := slices.IndexFunc(s.assertions, func(a AssertionIssuer) bool { return a.Issuer == dates.Issuer })
	if err != nil || i < 0 {
		return nil, nil, errors.New("the issuer of the assertion is not trusted")
	}
	from := &s.assertions[i]
	p, err := from.verifier.Verify(ctx, assertion)
	if err != nil {
		return nil, nil, err
	}
	switch {
	case p.Claims["client_id"] != c.ID:
		return nil, nil, errors.New("the assertion is for another client")
	case dates.IssuedAt == nil || time.Since(dates.IssuedAt.Time) > from.MaxAge+leeway || time.Until(dates.IssuedAt.Time) > leeway:
		return nil, nil, errors.New("the assertion is too old, or issued in the future")
	case dates.ID == "" || dates.Subject == "":
		return nil, nil, errors.New("the assertion has no jti, or no subject")
	}
	if err := s.onlyOnce(ctx, "assertion", dates.Issuer, dates.ID, dates.ExpiresAt.Time); err != nil {
		return nil, nil, err
	}
	u := &User{Subject: p.Subject}
	if from.User != nil {
		if u, err = from.User(ctx, p.Claims); err != nil {
			return nil, nil, err
		}
	}
	if u == nil || u.Subject == "" {
		return nil, nil, errors.New("there is no user for the assertion")
	}
	return u, p.Claims, s.judgeUser(u)
}
