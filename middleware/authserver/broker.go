package authserver

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/kagami-mcp/kagami/middleware/auth"
	"github.com/kagami-mcp/kagami/middleware/internal/proof"
)

// Provider is an OpenID or OAuth provider that this program is registered at.
type Provider struct {
	Issuer       string // for OpenID Connect; everything else is discovered
	ClientID     string
	ClientSecret string
	Scopes       []string // by default openid, email, and offline_access if it is listed; without an Issuer none

	// The fields below are for providers without discovery. Identity returns the user of a token.
	// If the provider does not accept the token any longer, it returns ErrUnknown.
	Authorize, Token, RevokeURL string
	Identity                    func(ctx context.Context, t *UpstreamToken) (*User, error)

	Audience string            // sent as "audience", which some providers need
	Resource bool              // send "resource" to the provider, for providers that support RFC 8707
	Extra    map[string]string // further parameters of the authorization request
	NoPKCE   bool              // for providers that reject it
}

// BrokerOption configures Broker. A nil option makes New return an error. Sealed.
type BrokerOption interface{ brokerOption(b *broker) }

type brokerOptionFunc func(b *broker)

func (f brokerOptionFunc) brokerOption(b *broker) { f(b) }

// Broker sends users to a provider, and issues tokens for its sessions. The page of this server
// comes first, each time. The state of the provider's request is created after it, and only the
// same browser can continue.
func Broker(p Provider, opts ...BrokerOption) Mode {
	b := &broker{provider: p, vouch: 5 * time.Minute, callback: "/callback/provider"}
	for _, o := range opts {
		if o == nil {
			b.nilOption = true
			continue
		}
		o.brokerOption(b)
	}
	return b
}

// Admit sets a function that decides which users are admitted, and as which user. By default, all
// users of the provider are admitted, with the provider's subject. claims come from the ID token,
// or are "sub", "name" and "email" of the user that Identity returned. An error refuses the user;
// its text is not shown.
func Admit(fn func(ctx context.Context, claims map[string]any) (*User, error)) BrokerOption {
	return brokerOptionFunc(func(b *broker) { b.admit = fn })
}

// MapScopes sets a function that returns the provider's scopes for a client's scopes. By default,
// only Provider.Scopes are requested.
func MapScopes(fn func(scopes []string) []string) BrokerOption {
	return brokerOptionFunc(func(b *broker) { b.mapped = fn })
}

// Vouch sets how long the provider's answer about a user is valid before the provider is asked
// again (by a refresh, or Identity). The default is 5 minutes. With 0, the provider is asked before
// each call. If the provider cannot be reached, its last answer is valid for twice that time.
//
// If a provider issues no refresh token, its userinfo endpoint is asked. Without such an endpoint,
// its answer is valid until its token expires.
func Vouch(every time.Duration) BrokerOption {
	return brokerOptionFunc(func(b *broker) { b.vouch = every })
}

// Callback sets the path of the redirect URI at the provider, below the issuer. The default is
// "/callback/provider".
func Callback(path string) BrokerOption {
	return brokerOptionFunc(func(b *broker) { b.callback = path })
}

// broker is the mode Broker.
type broker struct {
	provider Provider
	admit    func(ctx context.Context, claims map[string]any) (*User, error)
	mapped   func(scopes []string) []string
	vouch    time.Duration
	callback string

	nilOption bool // New returns an error

	server   *Server
	client   *http.Client
	identity *auth.JWT                        // checks ID tokens; nil without Issuer
	meta     atomic.Pointer[upstreamMetadata] // nil until discover has read it
}

// upstreamVisit is the request to the provider. It is created after the user agreed on this
// server's page.
type upstreamVisit struct {
	State  []byte `json:"state"`  // digest
	Sealed string `json:"sealed"` // an upstreamRequest
}

type upstreamRequest struct{ URL, Verifier, Nonce string }

func (b *broker) bind(s *Server) error {
	p := &b.provider
	f := faults{part: "authserver: Broker: "}
	f.fault(b.server != nil, "a Mode is for one Server")
	f.fault(b.nilOption, "an option is nil")
	f.fault(p.ClientID == "", "there is no ClientID: register this program at the provider, with the redirect URI %s", s.at(b.callback))
	f.fault(p.Issuer == "" && (p.Authorize == "" || p.Token == "" || p.Identity == nil), "without an Issuer it needs Authorize, Token and Identity")
	for _, address := range []string{p.Issuer, p.Authorize, p.Token, p.RevokeURL} {
		f.fault(address != "" && !isConfidential(address), "%s must be https, or http on loopback", address)
	}
	f.fault(b.vouch < 0, "Vouch is not negative")
	f.fault(!strings.HasPrefix(b.callback, "/"), "the path of Callback begins with a slash")
	if len(f.all) > 0 {
		return errors.Join(f.all...)
	}
	b.server = s
	b.client = &http.Client{
		Timeout: upstreamTime, Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true, ForceAttemptHTTP2: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	if p.Issuer != "" {
		b.identity = &auth.JWT{Issuer: p.Issuer, Audience: p.ClientID, Client: b.client, Algorithms: identityAlgorithms}
	}
	return nil
}

// identityAlgorithms are the algorithms of ID tokens. The provider's operator chooses one, and a client
// cannot. All are asymmetric, because ID tokens are checked with published keys.
var identityAlgorithms = []string{"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"}

// isConfidential reports whether others cannot read what is sent to an address: it is https, or http on
// loopback.
func isConfidential(address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Host != "" && (u.Scheme == "https" || u.Scheme == "http" && isLoopback(u))
}

func (b *broker) routes(mux *http.ServeMux) {
	mux.HandleFunc("GET "+b.server.path(b.callback), b.server.page(b.handleCallback))
}

// user returns the zero User, because the user is unknown until the provider's answer.
func (b *broker) user(*http.Request) (*User, error) { return &User{}, nil }

func (b *broker) ask(w http.ResponseWriter, r *http.Request, v *visit) error {
	if v.Answer != "" {
		return b.server.leave(w, r, v, "")
	}
	at, _ := url.Parse(cmp.Or(b.provider.Issuer, b.provider.Authorize)) // bind has parsed it
	meta, err := b.discover(r.Context())
	if err != nil {
		return pageFault(http.StatusServiceUnavailable, msgProviderAway, err)
	}
	return b.server.showConsent(w, r, v, &User{}, at.Host, b.scopes(meta, v))
}

// scopes returns the scopes that are requested at the provider, sorted. The consent page shows them.
func (b *broker) scopes(meta *upstreamMetadata, v *visit) []string {
	p := &b.provider
	scopes := slices.Clone(p.Scopes)
	if len(scopes) == 0 && p.Issuer != "" {
		scopes = []string{"openid", "email"}
		if slices.Contains(meta.Scopes, "offline_access") {
			scopes = append(scopes, "offline_access")
		}
	}
	if b.mapped != nil {
		scopes = append(scopes, b.mapped(v.Scopes)...)
	}
	slices.Sort(scopes)
	return slices.Compact(scopes)
}

// agreed redirects the browser to the provider. The second time, it uses the same request.
func (b *broker) agreed(w http.ResponseWriter, r *http.Request, v *visit, _ *User) error {
	ctx, s := r.Context(), b.server
	meta, err := b.discover(ctx)
	if err != nil {
		return pageFault(http.StatusServiceUnavailable, msgProviderAway, err)
	}
	state := v.ID + "." + rand.Text()
	ask := upstreamRequest{Verifier: base64url(randomBytes(32)), Nonce: rand.Text()}
	if ask.URL, err = b.address(meta, v, state, ask); err != nil {
		return err
	}
	sealed, err := s.sealer.seal("provider "+v.ID, ask)
	if err != nil {
		return err
	}
	mine := &upstreamVisit{digest(state), sealed}
	err = s.visits.change(ctx, v.ID, func(kept *visit) (time.Time, error) {
		if kept.ID == "" {
			return time.Time{}, pageFault(http.StatusBadRequest, msgExpired, nil)
		}
		if kept.Upstream != nil {
			mine = kept.Upstream
			return time.Time{}, errSame
		}
		kept.Upstream = mine
		return kept.Until, nil
	})
	if err == nil {
		err = s.sealer.open("provider "+v.ID, mine.Sealed, &ask)
	}
	if err != nil {
		return err
	}
	http.Redirect(w, r, ask.URL, http.StatusSeeOther)
	return nil
}

// address returns the URL of the authorization request to the provider.
func (b *broker) address(meta *upstreamMetadata, v *visit, state string, ask upstreamRequest) (string, error) {
	p := &b.provider
	u, err := url.Parse(meta.Authorize)
	if err != nil {
		return "", err
	}
	q := u.Query()
	for name, value := range p.Extra {
		q.Set(name, value)
	}
	q.Set("response_type", "code")
	q.Set("client_id", p.ClientID)
	q.Set("redirect_uri", b.server.at(b.callback))
	q.Set("state", state)
	if p.Issuer != "" {
		q.Set("nonce", ask.Nonce)
	}
	if scopes := b.scopes(meta, v); len(scopes) > 0 {
		q.Set("scope", strings.Join(scopes, " "))
	}
	if p.Audience != "" {
		q.Set("audience", p.Audience)
	}
	if p.Resource {
		q.Set("resource", v.Resource)
	}
	if !p.NoPKCE {
		q.Set("code_challenge", proof.Digest(ask.Verifier))
		q.Set("code_challenge_method", "S256")
	}
	u.RawQuery = q.Encode()
	return u.String(), nil
}

// handleCallback handles the browser's return from the provider. It must be the browser that
// agreed.
func (b *broker) handleCallback(w http.ResponseWriter, r *http.Request) error {
	ctx, s, q := r.Context(), b.server, r.URL.Query()
	if single(q) != nil {
		return pageFault(http.StatusBadRequest, msgForm, nil)
	}
	id, _, _ := strings.Cut(q.Get("state"), ".")
	v, err := s.findVisit(r, id)
	if err != nil {
		return err
	}
	if v.Upstream == nil || subtle.ConstantTimeCompare(v.Upstream.State, digest(q.Get("state"))) != 1 {
		return pageFault(http.StatusForbidden, msgOtherBrowser, nil)
	}
	if v.Answer != "" {
		return s.leave(w, r, v, "")
	}
	meta, err := b.discover(ctx)
	if err != nil {
		return pageFault(http.StatusServiceUnavailable, msgProviderAway, err)
	}
	if iss := q.Get("iss"); b.provider.Issuer != "" && (iss != "" && iss != b.provider.Issuer || iss == "" && meta.Iss) {
		return pageFault(http.StatusForbidden, msgProviderNo, errors.New("the response is of another issuer"))
	}
	if code := q.Get("error"); code != "" {
		s.emit(r, Event{Kind: LoginFailed, ClientID: v.Client, Reason: "the provider says " + shownText(code)})
		if code == "temporarily_unavailable" || code == "server_error" {
			return s.redirectError(w, r, v, code, "The identity provider failed.")
		}
		return s.redirectError(w, r, v, "access_denied", "The identity provider did not let the user in.")
	}
	u, held, err := b.arrive(ctx, v, q.Get("code"))
	if err != nil {
		return b.notArrived(w, r, v, err)
	}
	sealed, err := s.sealer.seal(upstreamPurpose, held)
	if err != nil {
		return err
	}
	s.emit(r, Event{Kind: LoggedIn, Subject: u.Subject, ClientID: v.Client})
	return s.issueCode(w, r, v, u, sealed)
}

var errNotIn = errors.New("authserver: Admit refused the user")

// notArrived answers a callback without a user. If the provider cannot be reached, the page can be
// loaded again.
func (b *broker) notArrived(w http.ResponseWriter, r *http.Request, v *visit, err error) error {
	s := b.server
	if errors.Is(err, errAway) {
		return pageFault(http.StatusServiceUnavailable, msgProviderAway, err)
	}
	if again, failed := s.visits.get(r.Context(), v.ID); failed == nil && again.Answer != "" {
		return s.leave(w, r, again, "") // the page was loaded twice, and the other one has used the code
	}
	s.emit(r, Event{Kind: LoginFailed, ClientID: v.Client, Reason: err.Error()})
	if errors.Is(err, errNotIn) {
		return s.redirectError(w, r, v, "access_denied", "The user has no access to this server.")
	}
	return pageFault(http.StatusForbidden, msgProviderNo, err)
}

// arrive redeems the provider's code, and returns the user.
func (b *broker) arrive(ctx context.Context, v *visit, code string) (*User, *upstreamSession, error) {
	var ask upstreamRequest
	if err := b.server.sealer.open("provider "+v.ID, v.Upstream.Sealed, &ask); err != nil {
		return nil, nil, err
	}
	form := url.Values{"grant_type": {grantCode}, "code": {code}, "redirect_uri": {b.server.at(b.callback)}}
	if !b.provider.NoPKCE {
		form.Set("code_verifier", ask.Verifier)
	}
	got, err := b.token(ctx, form)
	if err != nil {
		return nil, nil, err
	}
	held := got.session(time.Now(), upstreamSession{})
	claims, err := b.claims(ctx, got, held, ask.Nonce)
	if err != nil {
		return nil, nil, err
	}
	subject, _ := claims["sub"].(string)
	u := &User{Subject: subject}
	u.Name, _ = claims["name"].(string)
	u.Email, _ = claims["email"].(string)
	if b.admit != nil {
		if u, err = b.admit(ctx, claims); err != nil {
			return nil, nil, errors.Join(errNotIn, err)
		}
	}
	if u == nil || u.Subject == "" {
		return nil, nil, fmt.Errorf("%w: there is no subject", errNotIn)
	}
	return u, held, b.server.judgeUser(u)
}

// claims returns the provider's claims about the user.
func (b *broker) claims(ctx context.Context, got *upstreamAnswer, held *upstreamSession, nonce string) (map[string]any, error) {
	if b.provider.Identity != nil {
		u, err := b.provider.Identity(ctx, held.token())
		if err != nil || u == nil {
			return nil, errors.Join(errors.New("authserver: Identity returned no user"), err)
		}
		claims := map[string]any{"sub": u.Subject, "name": u.Name, "email": u.Email}
		maps.Copy(claims, u.Claims)
		return claims, nil
	}
	p, err := b.identity.Verify(ctx, got.ID)
	if errors.Is(err, auth.ErrUnavailable) {
		return nil, errors.Join(errAway, err)
	}
	if err != nil {
		return nil, fmt.Errorf("authserver: the ID token: %w", err)
	}
	said, _ := p.Claims["nonce"].(string)
	if subtle.ConstantTimeCompare([]byte(said), []byte(nonce)) != 1 {
		return nil, errors.New("authserver: the ID token is of another request")
	}
	if azp, ok := p.Claims["azp"].(string); ok && azp != b.provider.ClientID {
		return nil, errors.New("authserver: the ID token is for another client")
	}
	if _, ok := p.Claims["sub"].(string); !ok {
		return nil, errors.New("authserver: the ID token has no subject")
	}
	return p.Claims, nil
}
