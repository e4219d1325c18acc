package authserver

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kagami-mcp/kagami/protocol/session"
	"github.com/kagami-mcp/kagami/transport"
)

// UpstreamToken is a credential. Its String method hides it.
type UpstreamToken struct {
	Value   string
	Scheme  string
	Expires time.Time // zero if the provider does not set it
	Scopes  []string
}

// String hides the token.
func (t *UpstreamToken) String() string { return "upstream token (hidden)" }

// GoString hides the token.
func (t *UpstreamToken) GoString() string { return t.String() }

const (
	upstreamPurpose = "upstream"
	upstreamTime    = 10 * time.Second
	maxUpstream     = 1 << 20
	metadataFresh   = 10 * time.Minute
	renewBefore     = time.Minute      // how long before its expiry the provider's token is renewed
	renewLease      = 30 * time.Second // how long one process may take to renew
	renewPoll       = 50 * time.Millisecond
	awayFor         = 5 * time.Second // pause after which a provider that was away is asked again
)

// errAway means that the provider did not answer, or not correctly.
var errAway = errors.New("authserver: the provider cannot be reached")

// errRefused means that the provider does not accept a code or token any longer.
var errRefused = errors.New("authserver: the provider refuses")

// upstreamSession holds the provider's tokens for a grant. It is stored sealed.
type upstreamSession struct {
	Access    string    `json:"access"`
	Scheme    string    `json:"scheme"`
	Refresh   string    `json:"refresh,omitempty"`
	Expires   time.Time `json:"expires"`
	Scopes    []string  `json:"scopes,omitempty"`
	Confirmed time.Time `json:"confirmed"` // when the provider last confirmed it
}

func (u *upstreamSession) token() *UpstreamToken {
	return &UpstreamToken{u.Access, u.Scheme, u.Expires, slices.Clone(u.Scopes)}
}

// upstreamMetadata is the metadata of the provider (RFC 8414 and OpenID Connect Discovery), as far
// as it is used.
type upstreamMetadata struct {
	Issuer    string   `json:"issuer"`
	Authorize string   `json:"authorization_endpoint"`
	Token     string   `json:"token_endpoint"`
	Revoke    string   `json:"revocation_endpoint"`
	UserInfo  string   `json:"userinfo_endpoint"`
	Scopes    []string `json:"scopes_supported"`
	Methods   []string `json:"token_endpoint_auth_methods_supported"`
	Iss       bool     `json:"authorization_response_iss_parameter_supported"`

	read time.Time // when the provider was asked
}

// upstreamAnswer is an answer of the provider's token endpoint. Some providers write optional members
// in other types, and their tokens are still usable.
type upstreamAnswer struct {
	Access  string `json:"access_token"`
	Refresh any    `json:"refresh_token"`
	Expires any    `json:"expires_in"` // a number or a text
	Scope   any    `json:"scope"`      // a text or, as Twitch sends it, a list
	ID      string `json:"id_token"`
	Error   any    `json:"error"`
}

// code returns the error code of an answer, or "".
func (a *upstreamAnswer) code() string {
	code, _ := a.Error.(string)
	return code
}

// session returns the session of an answer. For a renewal, before is the previous session, and its
// refresh token and scopes are kept if the answer has none.
func (a *upstreamAnswer) session(now time.Time, before upstreamSession) *upstreamSession {
	refresh, _ := a.Refresh.(string)
	u := &upstreamSession{Access: a.Access, Scheme: "Bearer", Refresh: cmp.Or(refresh, before.Refresh), Scopes: namedScopes(a.Scope), Confirmed: now}
	if life, err := strconv.ParseFloat(fmt.Sprint(a.Expires), 64); err == nil && life > 0 {
		u.Expires = now.Add(time.Duration(min(life, 1<<31)) * time.Second)
	}
	if len(u.Scopes) == 0 {
		u.Scopes = before.Scopes
	}
	return u
}

// namedScopes returns the scopes that a provider names: a list, or a text, separated by spaces or, as
// GitHub does, by commas.
func namedScopes(scope any) []string {
	text, _ := scope.(string)
	list, _ := scope.([]any)
	for _, name := range list {
		text += fmt.Sprint(" ", name)
	}
	return strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == ',' })
}

// discover returns the provider's metadata. It is at most ten minutes old, unless the provider is
// away.
func (b *broker) discover(ctx context.Context) (*upstreamMetadata, error) {
	p := &b.provider
	if p.Issuer == "" {
		return &upstreamMetadata{Authorize: p.Authorize, Token: p.Token, Revoke: p.RevokeURL}, nil
	}
	meta := b.meta.Load()
	if meta != nil && time.Since(meta.read) < metadataFresh {
		return meta, nil
	}
	found := &upstreamMetadata{}
	status, err := b.get(ctx, strings.TrimSuffix(p.Issuer, "/")+"/.well-known/openid-configuration", "", found)
	if err == nil && (status != http.StatusOK || found.Issuer != p.Issuer || found.Authorize == "" || found.Token == "") {
		err = fmt.Errorf("%w: its metadata has status %d, and is for the issuer %q", errAway, status, shownText(found.Issuer))
	}
	for _, address := range []string{found.Authorize, found.Token, found.Revoke, found.UserInfo} {
		if err == nil && address != "" && !isConfidential(address) {
			err = fmt.Errorf("%w: its metadata names %s: want https, or http on loopback", errAway, shownText(address))
		}
	}
	switch {
	case err != nil && meta == nil:
		return nil, err
	case err != nil:
		*found = *meta
	}
	found.read = time.Now()
	b.meta.Store(found)
	return found, nil
}

// get reads a JSON document.
func (b *broker) get(ctx context.Context, address, token string, into any) (int, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return 0, err
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	return b.do(r, into)
}

func (b *broker) do(r *http.Request, into any) (int, error) {
	r.Header.Set("Accept", "application/json")
	resp, err := b.client.Do(r)
	if err != nil {
		return 0, errors.Join(errAway, err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxUpstream))
	if err != nil {
		return 0, errors.Join(errAway, err)
	}
	if err := json.Unmarshal(text, into); err != nil && resp.StatusCode == http.StatusOK {
		return 0, fmt.Errorf("%w: its answer is not JSON", errAway)
	}
	return resp.StatusCode, nil
}

// post sends a form with the program's credentials at the provider.
func (b *broker) post(ctx context.Context, meta *upstreamMetadata, address string, form url.Values, into any) (int, error) {
	p := &b.provider
	basic := p.ClientSecret != "" && (len(meta.Methods) == 0 || slices.Contains(meta.Methods, methodBasic))
	if !basic {
		form.Set("client_id", p.ClientID)
		if p.ClientSecret != "" {
			form.Set("client_secret", p.ClientSecret)
		}
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(form.Encode()))
	if err != nil {
		return 0, err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if basic {
		r.SetBasicAuth(url.QueryEscape(p.ClientID), url.QueryEscape(p.ClientSecret))
	}
	return b.do(r, into)
}

// refusal returns the error of an answer without a token. Some providers, such as GitHub, Slack and
// Zoho, answer an error with status 200 and with codes of their own. Others, such as Entra ID, use codes
// of OpenID Connect if a refresh token is not enough any longer. If the code or token is not valid any
// longer, the error is errRefused. If the provider is away, it wraps errAway. Atlassian refuses a refresh
// token with unauthorized_client; a client that may not refresh any longer has lost its tokens, too.
//
// Providers such as Twitch and Facebook refuse in a format of their own. text is the answer, or nil if it
// is not JSON, such as a page of a proxy.
func (a *upstreamAnswer) refusal(status int, grantType string, text json.RawMessage) error {
	code := a.code()
	if code == "unauthorized_client" && grantType == grantRefresh {
		return errRefused
	}
	switch code {
	case "invalid_grant", "bad_verification_code", "bad_refresh_token", "interaction_required", "consent_required", "login_required",
		"invalid_refresh_token", "token_expired", "token_revoked", "invalid_code":
		return errRefused
	case "server_error", "temporarily_unavailable":
		return fmt.Errorf("%w: its token endpoint answers %d %s", errAway, status, code)
	case "invalid_client", "invalid_request", "invalid_scope", "invalid_target", "unauthorized_client", "unsupported_grant_type", "incorrect_client_credentials",
		"redirect_uri_mismatch", "deleted_client":
	default:
		if refusesUser(text) && (status == http.StatusBadRequest || status == http.StatusUnauthorized) {
			return errRefused
		}
	}
	if code == "" || status >= http.StatusInternalServerError || status == http.StatusTooManyRequests {
		return fmt.Errorf("%w: its token endpoint answers %d", errAway, status)
	}
	return fmt.Errorf("authserver: the provider's token endpoint refuses this program: %d %s", status, shownText(code))
}

// refusesUser reports whether an answer in a format of the provider's own is about the code or token. It is
// not if it names the client or a limit: the program may then mend its registration, or try again later.
func refusesUser(text json.RawMessage) bool {
	lower := bytes.ToLower(text)
	return len(text) > 0 && !bytes.Contains(lower, []byte("client")) && !bytes.Contains(lower, []byte("limit"))
}

// token sends a request to the provider's token endpoint. Its errors are the errors of do and refusal.
func (b *broker) token(ctx context.Context, form url.Values) (*upstreamAnswer, error) {
	meta, err := b.discover(ctx)
	if err != nil {
		return nil, err
	}
	var text json.RawMessage // nil if it is not JSON
	status, err := b.post(ctx, meta, meta.Token, form, &text)
	if err != nil {
		return nil, err
	}
	a := &upstreamAnswer{}
	if json.Unmarshal(text, a) != nil {
		text = nil
	}
	switch {
	case status == http.StatusOK && text == nil:
		return nil, fmt.Errorf("%w: its answer is not JSON", errAway)
	case status == http.StatusOK && a.Access != "":
		return a, nil
	}
	return nil, a.refusal(status, form.Get("grant_type"), text)
}

// giveBack revokes the provider's tokens, if the provider supports that.
func (b *broker) giveBack(ctx context.Context, sealed string) {
	var held upstreamSession
	meta, err := b.discover(ctx)
	if err != nil || meta.Revoke == "" || b.server.sealer.open(upstreamPurpose, sealed, &held) != nil {
		return
	}
	form := url.Values{"token": {held.Access}}
	if held.Refresh != "" {
		form = url.Values{"token": {held.Refresh}, "token_type_hint": {"refresh_token"}}
	}
	_, _ = b.post(ctx, meta, meta.Revoke, form, new(any)) // the error is ignored, because this server has already ended the grant
}

// vouches returns nil if the provider still confirms the session of a grant. ErrUnknown ends the
// grant. While the provider is asked, or away, its last answer is valid for twice the interval.
func (b *broker) vouches(ctx context.Context, reference string, g *grant) error {
	started := time.Now()
	_, err := b.held(ctx, reference, g, need{
		enough: func(u *upstreamSession) bool { return !u.Confirmed.Before(started.Add(-b.vouch)) },
		meanwhile: func(u *upstreamSession) bool {
			return b.vouch > 0 && !u.Confirmed.Before(time.Now().Add(-2*b.vouch))
		},
	})
	return err
}

// lookup asks the provider, at most at the interval of Vouch, and returns the user who logged in.
func (b *broker) lookup(ctx context.Context, reference string, g *grant) (*User, error) {
	if err := b.vouches(ctx, reference, g); err != nil {
		return nil, err
	}
	return &g.User, nil
}

// need describes the session that a caller needs.
type need struct {
	enough    func(u *upstreamSession) bool // the session need not be renewed
	meanwhile func(u *upstreamSession) bool // the session can be used while it cannot be renewed
}

// held returns the provider's session of a grant, renewed unless n.enough accepts it. Only one
// process renews at a time, because providers rotate refresh tokens. It takes a lease in the
// record, and the others wait.
func (b *broker) held(ctx context.Context, reference string, g *grant, n need) (*upstreamSession, error) {
	s := b.server
	for {
		u := &upstreamSession{}
		if g.Dead || g.Upstream == "" {
			return nil, ErrUnknown
		}
		if err := s.sealer.open(upstreamPurpose, g.Upstream, u); err != nil {
			return nil, err
		}
		now := time.Now()
		switch leased := now.Before(g.Renewing); {
		case n.enough(u), leased && n.meanwhile(u):
			return u, nil
		case leased && g.Away:
			return nil, errAway
		case !leased:
			mine, err := b.lease(ctx, reference, g)
			if err != nil {
				return nil, err
			}
			if mine {
				return b.renew(ctx, reference, u, n)
			}
			continue
		}
		if err := pause(ctx); err != nil {
			return nil, err
		}
		found, err := s.grants.get(ctx, reference)
		if err != nil {
			return nil, err
		}
		g = found
	}
}

// pause waits for renewPoll. If ctx ends first, it returns the cause.
func pause(ctx context.Context) error {
	timer := time.NewTimer(renewPoll)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// lease reserves the renewal for this process. If the record has changed, it returns false and sets
// g to the stored record.
func (b *broker) lease(ctx context.Context, reference string, g *grant) (mine bool, err error) {
	err = b.server.grants.change(ctx, reference, func(kept *grant) (time.Time, error) {
		mine = kept.Upstream == g.Upstream && !kept.Dead && !time.Now().Before(kept.Renewing)
		if !mine {
			*g = *kept
			return time.Time{}, errSame
		}
		kept.Renewing, kept.Away = time.Now().Add(renewLease), false
		return kept.expires(b.server.lives.Refresh), nil
	})
	return mine, err
}

// renew asks the provider, and stores the answer. A client that leaves does not interrupt it,
// because the provider may already have rotated its token.
func (b *broker) renew(ctx context.Context, reference string, u *upstreamSession, n need) (*upstreamSession, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), renewLease/2)
	defer cancel()
	s := b.server
	next, asked := b.confirm(ctx, u)
	if errors.Is(asked, errRefused) {
		_, err := s.end(ctx, reference)
		s.tell(ctx, Event{Kind: UpstreamEnded, Grant: reference})
		return nil, errors.Join(ErrUnknown, err)
	}
	if asked != nil {
		next = u
	}
	sealed, err := s.sealer.seal(upstreamPurpose, next)
	if err != nil {
		return nil, err
	}
	// The provider may have rotated its token, so there must be time to store the new one.
	ctx, written := context.WithTimeout(context.WithoutCancel(ctx), renewLease/2)
	defer written()
	save := func() error {
		return s.grants.change(ctx, reference, func(g *grant) (time.Time, error) {
			if g.Client == "" || g.Dead {
				return time.Time{}, ErrUnknown
			}
			if g.Away = asked != nil; g.Away {
				g.Renewing = time.Now().Add(awayFor)
			} else {
				g.Renewing, g.Upstream = time.Time{}, sealed
			}
			return g.expires(s.lives.Refresh), nil
		})
	}
	// If the new token is lost, the provider takes the old one for a stolen one, and the user has to log in.
	for err = save(); err != nil && asked == nil && !errors.Is(err, ErrUnknown) && pause(ctx) == nil; {
		err = save()
	}
	switch {
	case err != nil:
		return nil, err
	case asked == nil:
		s.tell(ctx, Event{Kind: UpstreamRenewed, Grant: reference})
		return next, nil
	case n.meanwhile(u):
		return u, nil
	}
	return nil, asked
}

// confirm asks the provider to confirm a session.
func (b *broker) confirm(ctx context.Context, u *upstreamSession) (*upstreamSession, error) {
	now := time.Now()
	confirmed := *u
	confirmed.Confirmed = now
	if u.Refresh != "" {
		got, err := b.token(ctx, url.Values{"grant_type": {grantRefresh}, "refresh_token": {u.Refresh}})
		if err != nil {
			return nil, err
		}
		return got.session(now, *u), nil
	}
	if !u.Expires.IsZero() && now.After(u.Expires) {
		return nil, errRefused
	}
	if b.provider.Identity != nil {
		_, err := b.provider.Identity(ctx, u.token())
		if errors.Is(err, ErrUnknown) {
			err = errRefused
		} else if err != nil {
			err = errors.Join(errAway, err)
		}
		return &confirmed, err
	}
	meta, err := b.discover(ctx)
	if err != nil || meta.UserInfo == "" {
		return &confirmed, err
	}
	status, err := b.get(ctx, meta.UserInfo, u.Access, new(any))
	switch {
	case err != nil:
		return nil, err
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return nil, errRefused
	case status != http.StatusOK:
		return nil, fmt.Errorf("%w: its userinfo endpoint answers %d", errAway, status)
	}
	return &confirmed, nil
}

// Upstream returns the provider's token for the caller of a tool, for the provider's APIs. It
// renews the token if necessary. It is never the token that the client sent. In Own, and for
// callers without a provider's session, the error is ErrNoUpstream. If the provider has ended the
// session, the error wraps ErrUnknown. Other errors are errors of the store or of the provider.
func (s *Server) Upstream(ctx context.Context, p *transport.Principal) (*UpstreamToken, error) {
	b, ok := s.mode.(*broker)
	if !ok || p == nil || p.Issuer != s.issuer {
		return nil, ErrNoUpstream
	}
	reference, _ := p.Claims["gid"].(string)
	if reference == "" {
		return nil, ErrNoUpstream
	}
	g, err := s.grants.get(ctx, reference)
	if err != nil && !errors.Is(err, session.ErrNotFound) {
		return nil, err
	}
	if err != nil || g.Upstream == "" && !g.Dead {
		return nil, ErrNoUpstream
	}
	u, err := b.held(ctx, reference, g, need{
		enough: func(u *upstreamSession) bool {
			return u.Expires.IsZero() || time.Now().Add(renewBefore).Before(u.Expires)
		},
		meanwhile: func(u *upstreamSession) bool { return time.Now().Before(u.Expires) },
	})
	if err != nil {
		return nil, err
	}
	return u.token(), nil
}
