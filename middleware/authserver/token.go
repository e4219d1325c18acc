package authserver

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/kagami-mcp/kagami/middleware/internal/proof"
	"github.com/kagami-mcp/kagami/protocol/session"
)

// tokenAnswer is the answer of the token endpoint (RFC 6749 §5.1). Scope is always sent, also if it
// is empty, because an answer without it grants all that was requested (§3.3).
type tokenAnswer struct {
	Access  string `json:"access_token"`
	Type    string `json:"token_type"`
	Expires int64  `json:"expires_in"`
	Refresh string `json:"refresh_token,omitempty"`
	Scope   string `json:"scope"`
}

// tokenRequest is a request to the token endpoint, of an authenticated client.
type tokenRequest struct {
	http   *http.Request
	form   url.Values
	client *Client
	key    string // thumbprint of the proof's key; empty without DPoP

	// Set by find, for a code or refresh token.
	resource  string // the resource in the request, or ""
	handle    []byte // the handle in the code or token
	reference string // the reference of the grant
}

// handleToken serves the token endpoint (OAuth 2.1 §3.2).
func (s *Server) handleToken(w http.ResponseWriter, r *http.Request) error {
	f, c, err := s.asked(w, r, "resource")
	if err != nil {
		return err
	}
	t := &tokenRequest{http: r, form: f, client: c}
	if s.dpop {
		if s.nonces != nil {
			w.Header().Set("DPoP-Nonce", s.nonces.Now())
		}
		if t.key, err = s.proven(r); err != nil {
			return err
		}
	}
	grantType := f.Get("grant_type")
	var answer *tokenAnswer
	switch {
	case !slices.Contains(s.grantTypes(), grantType):
		return refuse("unsupported_grant_type", "This grant_type is not supported.")
	case !c.may(grantType):
		return refuse("unauthorized_client", "The client may not use this grant_type.")
	case grantType == grantCode:
		answer, err = s.byCode(t)
	case grantType == grantRefresh:
		answer, err = s.byRefresh(t)
	case grantType == grantCredentials:
		answer, err = s.byCredentials(t)
	default:
		answer, err = s.byAssertion(t)
	}
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, answer)
}

func (s *Server) grantTypes() []string {
	types := []string{grantCode, grantRefresh}
	if s.credentials {
		types = append(types, grantCredentials)
	}
	if len(s.assertions) > 0 {
		types = append(types, grantAssertion)
	}
	return types
}

// proven checks the proof of possession of a token request (RFC 9449 §5).
func (s *Server) proven(r *http.Request) (thumbprint string, err error) {
	at, _ := url.Parse(s.at("/token")) // New has parsed the issuer
	thumbprint, err = s.proofs.Check(r.Header.Values("DPoP"), proof.Wanted{Method: r.Method, URLs: []*url.URL{at}, Nonces: s.nonces})
	if wrong, ok := errors.AsType[*proof.Error](err); ok {
		return "", refusedBy("invalid_dpop_proof", "DPoP: "+wrong.Reason+".", err)
	}
	if errors.Is(err, proof.ErrNonce) {
		return "", refusedBy("use_dpop_nonce", "The proof needs the nonce of DPoP-Nonce.", err)
	}
	if errors.Is(err, proof.ErrFull) {
		return "", refusedAs(http.StatusServiceUnavailable, "temporarily_unavailable", "Try again later.", err)
	}
	return thumbprint, err
}

// invalidGrant returns the answer to every code or refresh token that is not accepted.
func invalidGrant(err error) error {
	return refusedBy("invalid_grant", "The code or token is not valid, has expired, or was made for another request.", err)
}

// find reads the resource and the grant that a request with a code or refresh token names.
func (s *Server) find(t *tokenRequest, secret string) (err error) {
	if t.form.Has("resource") {
		if t.resource, err = s.resourceFor(t.form["resource"]); err != nil {
			return err
		}
	}
	if t.handle = handleOf(secret); t.handle == nil {
		return invalidGrant(errNoGrant)
	}
	t.reference = referenceOf(t.handle)
	return nil
}

// byCode redeems a code.
func (s *Server) byCode(t *tokenRequest) (*tokenAnswer, error) {
	ctx, f := t.http.Context(), t.form
	if err := s.find(t, f.Get("code")); err != nil {
		return nil, err
	}
	ask := redemption{
		code: f.Get("code"), client: t.client.ID, redirect: f.Get("redirect_uri"), verifier: f.Get("code_verifier"),
		resource: t.resource, key: t.key, oneRedirect: len(t.client.RedirectURIs) == 1,
	}
	if err := s.noteRedeemed(ctx, t, ask); err != nil {
		return nil, err
	}
	var answer *tokenAnswer
	var verdict error
	var kept grant
	err := s.grants.change(ctx, t.reference, func(g *grant) (expires time.Time, err error) {
		now := time.Now()
		verdict = g.redeem(now, ask)
		if verdict == nil {
			answer, err = s.answer(ctx, t, g, g.Scopes, now)
		} else if !errors.Is(verdict, errReplayed) {
			err = errSame
		}
		kept = *g
		return g.expires(s.lives.Refresh), err
	})
	if err != nil {
		return nil, err
	}
	return answer, s.settle(t, &kept, verdict, Event{Kind: TokenIssued}, CodeReplayed)
}

// settle reports a redemption or a refresh as an event, and returns why it was refused. It ends a
// grant with a code or token that was used before.
func (s *Server) settle(t *tokenRequest, g *grant, refusal error, e Event, replayed EventKind) error {
	e.Subject, e.ClientID, e.Grant, e.Resource, e.Scopes = g.User.Subject, t.client.ID, t.reference, g.Resource, g.Scopes
	if refusal == nil {
		s.emit(t.http, e)
		return nil
	}
	if errors.Is(refusal, errReplayed) {
		_, err := s.end(t.http.Context(), t.reference)
		refusal = errors.Join(refusal, err)
		e.Kind, e.Reason = replayed, errReplayed.Error()
		s.emit(t.http, e)
	}
	return invalidGrant(refusal)
}

// noteRedeemed records that the owner and the client of a grant have it for longer than its code
// lives. It runs before the redemption. If the process ends in between, Revoke still finds the
// grant.
func (s *Server) noteRedeemed(ctx context.Context, t *tokenRequest, ask redemption) error {
	g, err := s.grants.get(ctx, t.reference)
	if errors.Is(err, session.ErrNotFound) {
		return nil // redeem reports this
	}
	if err != nil || g.redeem(time.Now(), ask) != nil {
		return err
	}
	if err := s.noteOwned(ctx, g.User.Subject, ownedGrant{t.reference, g.Client, g.Until}, nil); err != nil {
		return err
	}
	return s.used(ctx, t.client, g.Until)
}

// answer signs a token for a grant, with some of its scopes. If the client uses refresh tokens, it
// also puts a new one into the grant.
func (s *Server) answer(ctx context.Context, t *tokenRequest, g *grant, scopes []string, now time.Time) (*tokenAnswer, error) {
	a, err := s.access(ctx, t.reference, g, scopes, now)
	if err != nil || !t.client.may(grantRefresh) {
		return a, err
	}
	a.Refresh = newSecret(t.handle)
	sealed, err := s.sealer.seal("answer "+t.reference, a)
	if err != nil {
		return nil, err
	}
	g.rotate(now, a.Refresh, sealed)
	return a, nil
}

// access returns an answer with an access token for some scopes of a grant.
func (s *Server) access(ctx context.Context, reference string, g *grant, scopes []string, now time.Time) (*tokenAnswer, error) {
	token, err := s.sign(ctx, s.claimsOf(reference, g, scopes, now))
	if err != nil {
		return nil, err
	}
	a := &tokenAnswer{Access: token, Type: "Bearer", Expires: int64(s.lives.Access / time.Second), Scope: strings.Join(scopes, " ")}
	if g.Key != "" {
		a.Type = "DPoP"
	}
	return a, nil
}

// byRefresh rotates a refresh token. If two requests use one token at the same time, both get one
// answer: the second finds the first one's answer in the record.
func (s *Server) byRefresh(t *tokenRequest) (*tokenAnswer, error) {
	ctx, f, now := t.http.Context(), t.form, time.Now()
	token := f.Get("refresh_token")
	if err := s.find(t, token); err != nil {
		return nil, err
	}
	seen, err := s.grants.get(ctx, t.reference)
	if errors.Is(err, session.ErrNotFound) {
		return nil, invalidGrant(errNoGrant)
	}
	if err != nil {
		return nil, err
	}
	judge := func(g *grant) (again bool, err error) {
		key := t.key
		if key != "" && t.client.Method != methodNone {
			key = g.Key // the client's authentication protects the refresh token, so the key may change (RFC 9449 §5)
		}
		return g.refresh(now, token, t.client.ID, t.resource, key, s.grace)
	}
	user := seen.User
	if again, refusal := judge(seen); refusal == nil && !again {
		if user, err = s.stillUser(t, seen); err != nil {
			return nil, err
		}
	}
	var answer *tokenAnswer
	var again bool
	var refusal error
	err = s.grants.change(ctx, t.reference, func(g *grant) (expires time.Time, err error) {
		again, refusal = judge(g)
		switch {
		case errors.Is(refusal, errReplayed):
		case refusal != nil:
			err = errSame
		case again:
			if answer, err = s.sameAnswer(t, g, now); err == nil {
				err = errSame
			}
		default:
			g.Key = t.key
			g.User, g.Scopes = user, narrow(g.Scopes, user.Scopes) // scopes that the user has lost are also removed from the grant
			var scopes []string
			if scopes, err = s.narrower(g, f.Get("scope")); err == nil {
				answer, err = s.answer(ctx, t, g, scopes, now)
			}
		}
		return g.expires(s.lives.Refresh), err
	})
	if err != nil {
		return nil, err
	}
	e := Event{Kind: Refreshed}
	if again {
		e.Reason = "again, within Grace"
	}
	return answer, s.settle(t, seen, refusal, e, RefreshReplayed)
}

// stillUser returns the user of a grant, and records the use of the client. If there is no such user
// any more, it ends the grant.
func (s *Server) stillUser(t *tokenRequest, g *grant) (User, error) {
	ctx := t.http.Context()
	u, err := s.mode.lookup(ctx, t.reference, g)
	if errors.Is(err, ErrUnknown) {
		_, failed := s.end(ctx, t.reference)
		s.emit(t.http, Event{Kind: Revoked, Subject: g.User.Subject, ClientID: g.Client, Grant: t.reference, Reason: "the user is no longer known"})
		return User{}, errors.Join(invalidGrant(err), failed)
	}
	if err != nil {
		return User{}, refusedAs(http.StatusServiceUnavailable, "temporarily_unavailable", "Try again later.", err)
	}
	return *u, s.used(ctx, t.client, time.Time{})
}

// narrower returns the scopes that a refresh asks for, or all scopes of the grant if it asks for
// none. It narrows one token, and does not change the grant (RFC 6749 §6). Scopes that this version
// of the program does not have are left out of the token. They stay in the grant, because processes
// of another version may have them.
func (s *Server) narrower(g *grant, asked string) ([]string, error) {
	names, known := strings.Fields(asked), s.scopesOf(g.Resource)
	if slices.ContainsFunc(names, func(name string) bool { return !slices.Contains(g.Scopes, name) }) {
		return nil, refuse("invalid_scope", "A refresh cannot widen the scopes: authorize again.")
	}
	return slices.DeleteFunc(slices.Clone(g.Scopes), func(name string) bool {
		wanted := len(names) == 0 || slices.Contains(names, name)
		return !wanted || !slices.ContainsFunc(known, func(scope Scope) bool { return scope.Name == name })
	}), nil
}

// sameAnswer returns the answer of the last refresh for the token that it replaced. If this request
// asks for other scopes or has another key, the access token is another one; the refresh token is
// still the same.
func (s *Server) sameAnswer(t *tokenRequest, g *grant, now time.Time) (*tokenAnswer, error) {
	last := &tokenAnswer{}
	scopes, err := s.narrower(g, t.form.Get("scope"))
	if err == nil {
		err = s.sealer.open("answer "+t.reference, g.Last, last)
	}
	if err != nil || last.Scope == strings.Join(scopes, " ") && g.Key == t.key {
		return last, err
	}
	bound := *g
	bound.Key = t.key
	a, err := s.access(t.http.Context(), t.reference, &bound, scopes, now)
	if err == nil {
		a.Refresh = last.Refresh
	}
	return a, err
}

// errClient returns the error for an unknown client and for a wrong secret, which is the same (RFC
// 6749 §5.2).
func errClient(err error) error {
	return refusedAs(http.StatusUnauthorized, "invalid_client", "The client is not known, or has not proven itself.", err)
}

// asked reads a form, and authenticates its client.
func (s *Server) asked(w http.ResponseWriter, r *http.Request, several ...string) (url.Values, *Client, error) {
	f, err := form(w, r, several...)
	if err != nil {
		return nil, nil, err
	}
	c, err := s.authenticate(r, f)
	return f, c, err
}

// credentials are what a request names as its client, with the proof of one method.
type credentials struct{ id, secret, method string }

var errTwoWays = refuse("invalid_request", "The client proves itself in one way.")

// credentialsOf reads the credentials of a request. They must come in one way (RFC 6749 §2.3).
func credentialsOf(r *http.Request, f url.Values) (credentials, error) {
	c := credentials{f.Get("client_id"), f.Get("client_secret"), methodNone}
	name, password, basic := r.BasicAuth()
	switch {
	case basic:
		user, err := url.QueryUnescape(name)
		pass, failed := url.QueryUnescape(password)
		if err != nil || failed != nil || c.id != "" && c.id != user || c.secret != "" || f.Has("client_assertion") {
			return c, errTwoWays
		}
		return credentials{user, pass, methodBasic}, nil
	case f.Has("client_assertion"):
		if c.secret != "" || f.Get("client_assertion_type") != "urn:ietf:params:oauth:client-assertion-type:jwt-bearer" {
			return c, errTwoWays
		}
		c.method = methodKey
		if claims, err := unverified(f.Get("client_assertion")); c.id == "" && err == nil {
			c.id = claims.Issuer
		}
	case c.secret != "":
		c.method = methodPost
	}
	return c, nil
}

// authenticate returns the client of a request. The client must authenticate in a way that it is
// registered with.
func (s *Server) authenticate(r *http.Request, f url.Values) (*Client, error) {
	ctx := r.Context()
	given, err := credentialsOf(r, f)
	if err != nil {
		return nil, err
	}
	c, err := s.client(ctx, given.id)
	if errors.Is(err, errNotFetched) { // a refusal would make the client drop its tokens
		return nil, refusedAs(http.StatusServiceUnavailable, "temporarily_unavailable", "The metadata document of the client cannot be fetched now.", err)
	}
	if errors.Is(err, errUnknownClient) || errors.Is(err, errNotAdmitted) || errors.Is(err, errDocument) || errors.Is(err, errRedirect) {
		(&Client{SecretDigest: secretDigest("")}).hasSecret(given.secret) // takes as long as for a wrong secret
		return nil, errClient(err)
	}
	if err != nil {
		return nil, err
	}
	switch {
	case !c.provesBy(given.method):
		return nil, errClient(errors.New("the client is registered with " + c.Method + " and uses " + given.method))
	case (given.method == methodBasic || given.method == methodPost) && !c.hasSecret(given.secret):
		return nil, errClient(errors.New("wrong secret"))
	case given.method == methodKey:
		err := s.assertedBy(ctx, c, f.Get("client_assertion"))
		if _, told := errors.AsType[*refusal](err); err != nil && !told {
			err = errClient(err)
		}
		return c, err
	}
	return c, nil
}
