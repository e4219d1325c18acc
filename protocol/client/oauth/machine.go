package oauth

import (
	"context"
	"errors"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// machine obtains tokens from the server's authorization server without the user.
type machine struct {
	needsClient bool   // it needs a client that was registered there
	extension   string // name of the protocol extension that it implements; empty if none is declared
	// form returns the parameters of a token request in addition to scope, resource and the client.
	// If d is silent, it does not ask the user.
	form func(ctx context.Context, s *site, w *web, f *found, d demand, scopes []string) (url.Values, error)
}

func byMachine(m machine) Option {
	return optionFunc(func(c *config) {
		c.machine = &m
		c.machines++
	})
}

// ClientCredentials authorizes the client itself, without a user (extension
// io.modelcontextprotocol/oauth-client-credentials). It needs [Registered]. A 403 that asks for more
// scopes leads to one more request, if StepUps allows it; an error of the token endpoint is final.
func ClientCredentials() Option {
	form := func(context.Context, *site, *web, *found, demand, []string) (url.Values, error) {
		return url.Values{"grant_type": {grantCredentials}}, nil
	}
	return byMachine(machine{true, "io.modelcontextprotocol/oauth-client-credentials", form})
}

// Assertion authorizes a workload with a token that its platform provides (RFC 7523; extension
// io.modelcontextprotocol/auth/wif). When a token is needed, source returns an assertion with the
// issuer as its audience. A refusal is final: the assertion is not sent again, and no other grant
// is tried.
func Assertion(source func(ctx context.Context, issuer, resource string) (string, error)) Option {
	form := func(ctx context.Context, _ *site, _ *web, f *found, _ demand, _ []string) (url.Values, error) {
		if source == nil {
			return nil, errors.New("oauth: the source of Assertion is nil")
		}
		text, err := source(ctx, f.issuer.Issuer, f.resource)
		if err != nil {
			return nil, because(ErrNoWay, err)
		}
		return url.Values{"grant_type": {grantAssertion}, "assertion": {text}}, nil
	}
	return byMachine(machine{form: form}) // the extension is a draft
}

// AssertionFile returns a source that reads a file each time, such as a projected service account
// token.
func AssertionFile(path string) func(ctx context.Context, issuer, resource string) (string, error) {
	return func(context.Context, string, string) (string, error) {
		text, err := os.ReadFile(path) //nolint:gosec // the caller's file
		return strings.TrimSpace(string(text)), err
	}
}

// Enterprise is an identity provider that decides for its organization (extension
// io.modelcontextprotocol/enterprise-managed-authorization).
type Enterprise struct {
	Issuer      string      // URL of the identity provider
	Token       string      // its token endpoint; discovered if empty
	Credentials Credentials // of this client at the identity provider
	// Identity returns the user's identity assertion and its type
	// (urn:ietf:params:oauth:token-type:id_token or :saml2). If it is nil, the user logs in at the
	// identity provider in a browser (OpenID Connect, scope openid). The ID token is then kept like
	// other tokens.
	Identity func(ctx context.Context) (assertion, tokenType string, err error)
}

// EnterpriseManaged exchanges the user's identity for a grant for the server's authorization server
// (ID-JAG: RFC 8693). It exchanges that grant for a token (RFC 7523). The browser never goes to the
// server's authorization server. EnterpriseManaged needs [Registered] or [Document] for that
// authorization server.
func EnterpriseManaged(e Enterprise) Option {
	return byMachine(machine{true, "io.modelcontextprotocol/enterprise-managed-authorization", e.form})
}

func (m *Enterprise) form(ctx context.Context, s *site, w *web, f *found, d demand, scopes []string) (url.Values, error) {
	w = newWeb(w.flow, w.base, m.Issuer) // the caller has named the issuer, so it may be in a private network although the server is public
	provider, err := m.provider(ctx, w)
	if err != nil {
		return nil, err
	}
	subject, err := m.identity(ctx, s, w, provider, d.silent)
	if err != nil {
		return nil, err
	}
	t, err := m.exchange(ctx, s, w, provider, f, subject, scopes)
	if code := codeOf(err); subject.kept && (code == "invalid_request" || code == "invalid_grant") { // RFC 8693 §2.2.2
		if subject, err = m.loginAtProvider(ctx, s, w, provider, d.silent); err != nil {
			return nil, err
		}
		t, err = m.exchange(ctx, s, w, provider, f, subject, scopes)
	}
	if err != nil {
		return nil, s.refusal(stepToken, m.Issuer, err)
	}
	if t.Issued != "" && t.Issued != typeIDJAG {
		return nil, &Error{Step: stepToken, Server: s.server, Issuer: m.Issuer, Err: ErrDenied, Text: "the identity provider issued a token of the type " + cleaned(t.Issued)}
	}
	return url.Values{"grant_type": {grantAssertion}, "assertion": {t.Access}}, nil
}

// subject is a user's identity assertion.
type subject struct {
	text, kind string
	kept       bool // from an earlier login, so that the identity provider may have ended it
}

// exchange requests an ID-JAG for the server's authorization server (RFC 8693 §2.1).
func (m *Enterprise) exchange(ctx context.Context, s *site, w *web, provider *issuerMetadata, f *found, of subject, scopes []string) (*tokenAnswer, error) {
	form := url.Values{
		"grant_type": {grantExchange}, "requested_token_type": {typeIDJAG},
		"audience": {f.issuer.Issuer}, "subject_token": {of.text}, "subject_token_type": {of.kind},
	}
	s.flow.setResource(form, m.Issuer, f.resource)
	if len(scopes) > 0 {
		form.Set("scope", strings.Join(scopes, " "))
	}
	return w.token(ctx, &endpoint{*provider, m.Credentials, nil, &s.nonces}, form)
}

// provider returns the metadata of the identity provider.
func (m *Enterprise) provider(ctx context.Context, w *web) (*issuerMetadata, error) {
	if m.Token != "" {
		return &issuerMetadata{Issuer: m.Issuer, Token: m.Token}, nil
	}
	return m.discovered(ctx, w)
}

// discovered returns the metadata that the identity provider publishes.
func (m *Enterprise) discovered(ctx context.Context, w *web) (*issuerMetadata, error) {
	meta, err := w.issuerMetadata(ctx, m.Issuer)
	if err != nil {
		return nil, &Error{Step: stepIssuer, Server: w.server, Issuer: m.Issuer, Err: err}
	}
	return &meta, nil
}

// identity returns the user's identity assertion from the caller. Otherwise it returns the ID token
// of a login, which is kept under the identity provider's name.
func (m *Enterprise) identity(ctx context.Context, s *site, w *web, provider *issuerMetadata, silent bool) (subject, error) {
	if m.Identity != nil {
		text, kind, err := m.Identity(ctx)
		if err != nil {
			return subject{}, because(ErrLogin, err)
		}
		return subject{text, kind, false}, nil
	}
	kept, err := s.flow.read(ctx, m.key(s))
	if err != nil {
		return subject{}, err
	}
	if kept != nil && !kept.expired(kept.early) && kept.ID != "" {
		return subject{kept.ID, typeIDToken, true}, nil
	}
	return m.loginAtProvider(ctx, s, w, provider, silent)
}

// key returns the key of the ID token in the store.
func (m *Enterprise) key(s *site) Key {
	return Key{Kind: Tokens, Issuer: m.Issuer, Profile: s.flow.config.profile}
}

// loginAtProvider lets the user log in, and keeps the ID token. If the user must not be asked, it
// returns ErrLogin.
func (m *Enterprise) loginAtProvider(ctx context.Context, s *site, w *web, provider *issuerMetadata, silent bool) (subject, error) {
	if silent {
		return subject{}, &Error{Step: stepGrant, Server: s.server, Issuer: m.Issuer, Err: ErrLogin}
	}
	if provider.Authorization == "" {
		var err error
		if provider, err = m.discovered(ctx, w); err != nil {
			return subject{}, err
		}
	}
	f := &found{issuer: *provider}
	if err := w.provesPKCE(f); err != nil {
		return subject{}, err
	}
	redirect, err := s.openReceiver(ctx, m.Issuer) // visit closes it
	if err != nil {
		return subject{}, err
	}
	v := s.newVisit(f, identity{Credentials: m.Credentials, known: ByHand}, redirect, []string{"openid"}, demand{})
	t, err := s.visit(ctx, w, f, v, nil)
	if err == nil && t.ID == "" {
		err = &Error{Step: stepToken, Server: s.server, Issuer: m.Issuer, Err: ErrDenied, Text: "the identity provider gave no ID token"}
	}
	if err != nil {
		return subject{}, s.refusal(stepToken, m.Issuer, err)
	}
	g := grant{Server: m.Issuer, ClientID: m.Credentials.ID, Known: ByHand, ID: t.ID, Scheme: "Bearer", Issuer: f.issuer}
	g.dated(t)
	if end := expiryOf(t.ID); !end.IsZero() { // expires_in is for the access token, which is not kept
		g.Expires = end
	}
	version, err := s.flow.load(ctx, m.key(s), &grant{})
	if err == nil {
		_, err = s.flow.save(ctx, m.key(s), version, g)
	}
	if err != nil && !isConflict(err) {
		return subject{}, err
	}
	return subject{t.ID, typeIDToken, false}, nil
}

// expiryOf returns the expiry of a JWT, which is not verified. If it has none, expiryOf returns zero.
func expiryOf(token string) time.Time {
	var claims jwt.RegisteredClaims
	if _, _, err := jwt.NewParser().ParseUnverified(token, &claims); err != nil || claims.ExpiresAt == nil {
		return time.Time{}
	}
	return claims.ExpiresAt.UTC()
}

// byMachine obtains a token without an authorization by the user. Errors are final.
func (s *site) byMachine(ctx context.Context, w *web, f *found, m *machine, d demand, scopes []string) (*live, error) {
	var id identity
	var err error
	if m.needsClient || len(s.flow.config.credentials) > 0 {
		if id, err = w.identify(ctx, &f.issuer, "", nil); err != nil {
			return nil, err
		}
	}
	key, err := s.flow.newBinding(&f.issuer)
	if err != nil {
		return nil, err
	}
	form, err := m.form(ctx, s, w, f, d, scopes)
	if err != nil {
		return nil, err
	}
	s.flow.setResource(form, f.issuer.Issuer, f.resource)
	if len(scopes) > 0 {
		form.Set("scope", strings.Join(scopes, " "))
	}
	t, err := w.token(ctx, &endpoint{f.issuer, id.Credentials, key, &s.nonces}, form)
	if err != nil {
		err = s.refusal(stepToken, f.issuer.Issuer, err)
		s.flow.tell(ctx, Event{Kind: Denied, Server: s.server, Issuer: f.issuer.Issuer, ClientID: id.ID, Scopes: scopes, Err: err})
		return nil, err
	}
	t.Refresh = "" // the client can always ask again
	return s.obtained(ctx, f, id, t, slices.Clone(scopes), demand{}, key)
}
