package oauth

import (
	"cmp"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/kagami-mcp/kagami/protocol/client/internal/challenge"
)

// scopeOffline requests a refresh token (OpenID Connect Core §11).
const scopeOffline = "offline_access"

// demand is the content of a challenge, with the conditions for the answer.
type demand struct {
	scopes   []string // nil if the challenge does not name scopes
	metadata string   // URL of the server's metadata; empty if the challenge does not name it
	more     []string // scopes to request in addition
	former   []string // scopes of all authorizations so far, which a step-up keeps
	stepUp   bool
	silent   bool // the user must not be asked
	renewed  bool // the refused token is new
	scoped   bool // a registration names the scopes
}

func demandOf(c challenge.Challenge) demand {
	return demand{scopes: scopesOf(c), metadata: c.Params["resource_metadata"]}
}

// login obtains a grant from the authorization server that the server names. The caller holds the
// site's turn.
func (s *site) login(ctx context.Context, w *web, d demand) (*live, error) {
	f, err := w.discover(ctx, d)
	if err != nil {
		return nil, err
	}
	s.flow.tell(ctx, Event{Kind: Discovered, Server: s.server, Issuer: f.issuer.Issuer})
	scopes := s.flow.scopesFor(s.server, f, d)
	if m := s.flow.config.machine; m != nil {
		return s.byMachine(ctx, w, f, m, d, scopes)
	}
	return s.inTurn(ctx, f, scopes, func() (*live, error) { return s.byUser(ctx, w, f, d, scopes) })
}

// visits is the kind of the key that a login locks. Renewals lock another key, so they do not wait
// for a user.
const visits Kind = "login"

// inTurn runs visit while no other process does so for the same server. If another process has
// stored a grant with all scopes in the meantime, inTurn returns that grant instead.
func (s *site) inTurn(ctx context.Context, f *found, scopes []string, visit func() (*live, error)) (*live, error) {
	began := time.Now()
	key := s.key(visits, f.issuer.Issuer)
	unlock, err := s.flow.config.store.Lock(ctx, key)
	if err != nil {
		return nil, storeError(err)
	}
	defer unlock()
	key.Kind = Tokens
	g, err := s.flow.read(ctx, key)
	if err != nil {
		return nil, err
	}
	if g != nil && g.Obtained.After(began) && len(without(scopes, append(slices.Clone(g.Asked), scopeOffline))) == 0 { // some clients may not have it
		s.current.Store(g)
		s.loaded.Store(true)
		return g, nil
	}
	return visit()
}

// scopesFor returns the scopes to request: the scopes of the challenge, or all that the server lists
// (2025-11-25 basic/authorization "Scope Selection Strategy"). It adds offline_access only if the
// authorization server lists it.
func (f *Flow) scopesFor(server string, found *found, d demand) []string {
	scopes := d.scopes
	if scopes == nil {
		scopes = found.scopes
	}
	scopes = union(d.former, scopes, d.more, f.config.scopes)
	scopes = without(scopes, []string{scopeOffline})
	if f.config.narrow != nil {
		scopes = slices.Clone(f.config.narrow(server, scopes))
	}
	if f.config.offline && f.config.machine == nil && slices.Contains(found.issuer.Scopes, scopeOffline) {
		scopes = append(scopes, scopeOffline)
	}
	return scopes
}

// union returns the scopes of all lists, in order and without duplicates. It drops invalid scopes
// (RFC 6749 §3.3).
func union(lists ...[]string) []string {
	var all []string
	for _, scope := range slices.Concat(lists...) {
		if scope != "" && !strings.ContainsFunc(scope, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\\' }) && !slices.Contains(all, scope) {
			all = append(all, scope)
		}
	}
	return all
}

// without returns the scopes that are not in the other list.
func without(scopes, other []string) []string {
	return slices.DeleteFunc(slices.Clone(scopes), func(s string) bool { return slices.Contains(other, s) })
}

// newBinding returns the key that tokens will be bound to, or nil.
func (f *Flow) newBinding(m *issuerMetadata) (crypto.Signer, error) {
	c := &f.config
	if !c.dpop {
		return nil, nil
	}
	key := c.dpopKey
	if key == nil {
		var err error
		if key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
			return nil, err
		}
	}
	method, err := algorithmOf(key, "")
	if err != nil {
		return nil, err
	}
	if !slices.Contains(m.DPoPKinds, method.Alg()) {
		if c.dpopMust {
			return nil, &Error{Step: stepToken, Issuer: m.Issuer, Err: ErrNoWay, Text: "it does not bind tokens to a key of the kind " + method.Alg()}
		}
		return nil, nil
	}
	return key, nil
}

// byUser sends the user to the authorization server's page, and exchanges the returned code for a
// grant.
func (s *site) byUser(ctx context.Context, w *web, f *found, d demand, scopes []string) (*live, error) {
	if err := w.provesPKCE(f); err != nil {
		return nil, err
	}
	key, err := s.flow.newBinding(&f.issuer)
	if err != nil {
		return nil, err
	}
	redirect, err := s.openReceiver(ctx, f.issuer.Issuer)
	if err != nil {
		return nil, err
	}
	var named []string // usually none, because with named scopes Keycloak does not add its default scopes
	if d.scoped {
		named = scopes
	}
	id, err := w.identify(ctx, &f.issuer, redirect, named)
	if err != nil {
		_ = s.flow.config.receiver.Close() // visit does not run, so it cannot close the receiver
		return nil, err
	}
	v := s.newVisit(f, id, redirect, scopes, d)
	t, err := s.visit(ctx, w, f, v, key)
	if err != nil {
		s.failed(ctx, v, err)
		narrow := !d.scoped && v.mayLackScopes(err)
		var failed error
		if narrow || v.mayBeUnregistered(err) {
			failed = v.forget(ctx, w)
		}
		if narrow && failed == nil {
			d.scoped = true
			return s.byUser(ctx, w, f, d, scopes)
		}
		if v.mayNotStayLoggedIn(err) {
			return s.byUser(ctx, w, f, d, without(scopes, []string{scopeOffline}))
		}
		return nil, errors.Join(s.refusal(stepToken, f.issuer.Issuer, err), failed)
	}
	return s.obtained(ctx, f, id, t, scopes, d, key)
}

func (s *site) newVisit(f *found, id identity, redirect string, scopes []string, d demand) *visit {
	v := &visit{flow: s.flow, issuer: f.issuer, client: id, state: secretText(), verifier: secretText(), opened: make(chan error, 1)}
	_, local := s.flow.config.receiver.(*listener)
	v.Visit = Visit{Server: s.server, Issuer: f.issuer.Issuer, Scopes: scopes, Callback: redirect, Local: local}
	if d.stepUp {
		v.More = without(scopes, d.former)
	}
	return v
}

// visit runs an authorization request and returns a token. It closes the receiver when the browser
// has shown the result. After that, the receiver may belong to a login at another server.
func (s *site) visit(ctx context.Context, w *web, f *found, v *visit, key crypto.Signer) (t *tokenAnswer, err error) {
	recv, ui := s.flow.config.receiver, s.flow.config.ui
	leave := func() {}
	defer func() {
		recv.Answer(err)
		_ = recv.Close() // an error of closing does not change the result
		leave()
		ui.Done(ctx, &v.Visit, err)
	}()
	if _, err := w.check(f.issuer.Authorization); err != nil {
		return nil, &Error{Step: stepVisit, Server: s.server, Issuer: f.issuer.Issuer, Err: err}
	}
	bound := ""
	if key != nil {
		if bound, err = thumbprint(key); err != nil {
			return nil, err
		}
	}
	if v.URL, err = v.address(f.resource, bound); err != nil {
		return nil, err
	}
	leave = v.browse(ctx)
	query, err := v.response(ctx)
	if err != nil {
		return nil, err
	}
	code, err := v.code(query)
	if err != nil {
		return nil, err
	}
	form := url.Values{"grant_type": {grantCode}, "code": {code}, "redirect_uri": {v.Callback}, "code_verifier": {v.verifier}}
	s.flow.setResource(form, f.issuer.Issuer, f.resource)
	return w.token(ctx, &endpoint{f.issuer, v.client.Credentials, key, &s.nonces}, form)
}

// failed sends the event of a failed visit.
func (s *site) failed(ctx context.Context, v *visit, err error) {
	kind := Denied
	if errors.Is(err, ErrMixUp) {
		kind = Rejected
	}
	s.flow.tell(ctx, Event{Kind: kind, Server: s.server, Issuer: v.Issuer, ClientID: v.client.ID, Scopes: v.Scopes, Err: err})
}

// refusal returns an error of a token endpoint as an *Error. Other errors may be returned
// unchanged.
func (s *site) refusal(step, issuer string, err error) error {
	refused, ok := errors.AsType[*refusedError](err)
	_, done := errors.AsType[*Error](err)
	switch {
	case done:
		return err
	case ok: // the refusal comes first, even if the store has failed as well
	case errors.Is(err, ErrUnavailable), errors.Is(err, ErrDenied), errors.Is(err, ErrNoWay), errors.Is(err, ErrUnsafeURL):
		return &Error{Step: step, Server: s.server, Issuer: issuer, Err: err}
	default:
		return err
	}
	e := &Error{Step: step, Server: s.server, Issuer: issuer, Code: refused.code, Text: refused.text, Err: ErrDenied}
	e.Hint = s.flow.resourceHint(refused.code, issuer)
	if refused.code == "" {
		e.Text = fmt.Sprintf("its token endpoint answers %d", refused.status)
	}
	switch {
	case codeOf(refused) == "invalid_client":
		e.Hint = "It does not know the client, or not by these credentials. Check them, or log in again."
	case e.Code == "invalid_dpop_proof" && !s.flow.config.dpop:
		e.Hint = "It binds tokens to a key of the client: DPoP, or --dpop."
	}
	return e
}

// obtained stores the grant of a token endpoint's answer.
func (s *site) obtained(ctx context.Context, f *found, id identity, t *tokenAnswer, scopes []string, d demand, key crypto.Signer) (*live, error) {
	scheme, err := t.scheme(key != nil, s.flow.config.dpopMust)
	if err != nil {
		return nil, &Error{Step: stepToken, Server: s.server, Issuer: f.issuer.Issuer, Err: err}
	}
	g := &grant{
		Server: s.server, Resource: f.resource, ClientID: id.ID, Known: id.known, Issuer: f.issuer,
		Access: t.Access, Scheme: scheme, Refresh: t.Refresh, ID: t.ID, Scopes: t.granted(scopes), Asked: union(d.former, scopes),
	}
	g.dated(t)
	if id.known == ByRegistration {
		g.Secret, g.Method = id.Secret, id.Method
	}
	if scheme == "DPoP" && s.flow.config.dpopKey == nil {
		if g.Key, err = marshalKey(key); err != nil {
			return nil, err
		}
	}
	kept, err := s.keep(ctx, g, key)
	if err == nil {
		kind := Granted
		if d.stepUp {
			kind = SteppedUp
		}
		s.flow.tell(ctx, Event{Kind: kind, Server: s.server, Issuer: f.issuer.Issuer, ClientID: id.ID, Scopes: g.Scopes})
	}
	return kept, err
}

// dated sets when the token was obtained and when it expires.
func (g *grant) dated(t *tokenAnswer) {
	g.Obtained, g.Expires = time.Now().UTC(), time.Time{}
	if life := t.lifetime(); life > 0 {
		g.Expires = g.Obtained.Add(life)
	}
}

// parting is how long a renewal continues after its caller has left.
const parting = 2 * time.Second

// outlasting returns a context that ends a short time after ctx. The authorization server may already
// have replaced the refresh token when the caller of a renewal leaves, so its answer must be stored.
func outlasting(ctx context.Context) (context.Context, context.CancelFunc) {
	lasting, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(parting, cancel) })
	return lasting, func() {
		stop()
		cancel()
	}
}

// renew uses the refresh token. Only one process that shares the store does so at a time. After
// ErrLogin only a login helps. The caller holds the site's turn.
func (s *site) renew(ctx context.Context, w *web, old *live) (*live, error) {
	unlock, err := s.flow.config.store.Lock(ctx, old.key)
	if err != nil {
		return nil, storeError(err)
	}
	defer unlock()
	stored, err := s.flow.read(ctx, old.key)
	if err != nil {
		return nil, err
	}
	stored = s.unsaved(old.key, stored)
	switch {
	case stored != nil && stored.Access != old.Access && !stored.expired(stored.early):
		s.current.Store(stored) // another process has renewed
		return stored, nil
	case stored == nil || stored.Refresh == "": // logged out or refused in another process
		s.current.Store(stored)
		return nil, &Error{Step: stepRenewal, Server: s.server, Issuer: old.Issuer.Issuer, Err: ErrLogin}
	}
	ctx, done := outlasting(ctx)
	defer done()
	id, err := s.identityOf(ctx, w, stored)
	if err != nil {
		return nil, err
	}
	t, err := s.refresh(ctx, w, stored, id)
	if err != nil {
		return nil, s.notRenewed(ctx, w, stored, id, err)
	}
	g, err := s.renewed(stored, t)
	if err != nil {
		return nil, err
	}
	l, err := s.replaceGrant(ctx, stored, &g)
	switch {
	case isConflict(err): // another process has logged in, and its grant is newer
		return s.reread(ctx, stored)
	case err != nil:
		return nil, err
	}
	s.flow.tell(ctx, Event{Kind: Renewed, Server: s.server, Issuer: g.Issuer.Issuer, ClientID: g.ClientID, Scopes: g.Scopes})
	return l, nil
}

// replaceGrant stores g in place of old. If g cannot be saved, the site uses g anyway, because the
// refresh token in the store is used up or refused. After a conflict it does not use g.
func (s *site) replaceGrant(ctx context.Context, old *live, g *grant) (*live, error) {
	version, err := s.flow.save(ctx, old.key, old.version, g)
	if isConflict(err) {
		return nil, err
	}
	if err != nil {
		version = old.version
	}
	l := g.life(old.key, version, old.bound)
	l.unsaved = err != nil
	s.current.Store(l)
	return l, err
}

// refresh sends the refresh token. It names the scopes of the grant, because some authorization
// servers, such as Entra ID, otherwise issue a token with other scopes. Other servers refuse the
// scopes, and refresh then repeats the request without them (RFC 6749 §6). Salesforce refuses them with invalid_request.
func (s *site) refresh(ctx context.Context, w *web, l *live, id identity) (*tokenAnswer, error) {
	form := url.Values{"grant_type": {grantRefresh}, "refresh_token": {l.Refresh}}
	s.flow.setResource(form, l.Issuer.Issuer, l.Resource)
	scopes := l.Scopes
	if len(scopes) > 0 && slices.Contains(l.Asked, scopeOffline) { // Entra ID does not list offline_access in its answers
		scopes = union(scopes, []string{scopeOffline})
	}
	if len(scopes) > 0 {
		form.Set("scope", strings.Join(scopes, " "))
	}
	e := &endpoint{l.Issuer, id.Credentials, l.bound, &s.nonces}
	t, err := w.token(ctx, e, form)
	if code := codeOf(err); form.Has("scope") && (code == "invalid_scope" || code == "invalid_request") {
		form.Del("scope")
		t, err = w.token(ctx, e, form)
	}
	return t, err
}

// renewed returns the grant of old with the tokens of t.
func (s *site) renewed(old *live, t *tokenAnswer) (g grant, err error) {
	g = old.grant
	if g.Scheme, err = t.scheme(old.bound != nil, s.flow.config.dpopMust); err != nil {
		return g, err
	}
	g.Access, g.Scopes, g.Refresh = t.Access, t.granted(g.Scopes), cmp.Or(t.Refresh, g.Refresh)
	g.dated(t)
	return g, nil
}

func (s *site) reread(ctx context.Context, old *live) (*live, error) {
	l, err := s.flow.read(ctx, old.key)
	if err == nil && l == nil {
		err = &Error{Step: stepRenewal, Server: s.server, Issuer: old.Issuer.Issuer, Err: ErrLogin}
	}
	s.current.Store(l)
	return l, err
}

// identityOf returns the client that a grant was made for. It never registers.
func (s *site) identityOf(ctx context.Context, w *web, l *live) (identity, error) {
	id := identity{Credentials: Credentials{Issuer: l.Issuer.Issuer, ID: l.ClientID}, known: l.Known}
	switch l.Known {
	case ByDocument:
		id.Key = s.flow.config.documentKey
	case ByHand:
		creds, found, err := w.byHand(ctx, l.Issuer.Issuer)
		if err != nil {
			return id, err
		}
		if found && creds.ID == l.ClientID {
			id.Credentials = creds
		}
	case ByRegistration:
		kept, _, err := s.flow.registered(ctx, l.Issuer.Issuer)
		if err != nil {
			return id, err
		}
		id.Secret, id.Method = l.Secret, l.Method
		if kept.ClientID == l.ClientID { // its secret may be newer, or the grant may be of a version that did not keep it
			id.Secret, id.Method = kept.Secret, kept.Method
		}
	}
	return id, nil
}

// notRenewed handles a failed renewal. After a final refusal only a login helps. A login also helps
// if the token endpoint has moved, because a login reads the metadata again. notRenewed drops the
// refresh token only if the authorization server has refused the token itself, and no other process
// has stored a new one since.
func (s *site) notRenewed(ctx context.Context, w *web, stored *live, id identity, err error) error {
	code := codeOf(err)
	if refused, ok := errors.AsType[*refusedError](err); ok && refused.absent() && w.tokenMoved(ctx, &stored.Issuer) {
		return s.onlyLogin(stored, err)
	}
	switch {
	case !isFinal(err):
		return s.refusal(stepRenewal, stored.Issuer.Issuer, err)
	case code != "invalid_grant" && code != "invalid_client" && code != "unauthorized_client":
		return s.onlyLogin(stored, err) // the refresh token stays, because the server may have refused the request and not the token
	}
	g := stored.grant
	g.Refresh = ""
	_, saved := s.replaceGrant(ctx, stored, &g) // if it is not saved, the next request asks the user
	if isConflict(saved) {
		saved = nil
	}
	if code == "invalid_client" && id.known == ByRegistration {
		if err := w.forget(ctx, stored.Issuer.Issuer, id.ID); err != nil && !isConflict(err) {
			return errors.Join(saved, err)
		}
	}
	s.flow.tell(ctx, Event{Kind: Ended, Server: s.server, Issuer: stored.Issuer.Issuer, ClientID: stored.ClientID, Err: err})
	if saved != nil {
		return saved
	}
	return s.onlyLogin(stored, err)
}

// isFinal reports whether a token endpoint would refuse the same request again. A refused proof of
// a key is not final, because the client has already repeated it. A missing endpoint is not final,
// because a login would fail as well.
func isFinal(err error) bool {
	refused, ok := errors.AsType[*refusedError](err)
	switch {
	case !ok:
		return errors.Is(err, ErrDenied) // an answer with neither a token nor an error
	case refused.absent(), refused.code == "use_dpop_nonce", refused.code == "invalid_dpop_proof":
		return false
	}
	return refused.code != "" || refused.status/100 == 4
}

// onlyLogin returns the refusal of a renewal as an ErrLogin.
func (s *site) onlyLogin(stored *live, err error) error {
	refused := s.refusal(stepRenewal, stored.Issuer.Issuer, err)
	if ended, ok := errors.AsType[*Error](refused); ok {
		ended.Err = ErrLogin
	}
	return refused
}

func isConflict(err error) bool { return errors.Is(err, ErrConflict) }

// stepUp obtains a grant with the scopes of a challenge and all scopes requested so far (2026-07-28
// basic/authorization "Step-Up Authorization Flow"). It does not renew, because a renewal cannot
// widen a grant.
func (s *site) stepUp(ctx context.Context, w *web, old *live, d demand) (*live, error) {
	if err := s.take(ctx); err != nil {
		return nil, err
	}
	defer s.leave()
	missing := func(have []string) []string { return without(d.scopes, have) }
	if g := s.current.Load(); g != nil && g.Access != old.Access && len(missing(g.Scopes)) == 0 {
		return g, nil
	}
	stored, err := s.fromStore(ctx)
	switch {
	case err != nil:
		return nil, err
	case stored == nil: // logged out in another process
	case stored.Access != old.Access && !stored.expired(0) && len(missing(stored.Scopes)) == 0: // another process was faster
		s.current.Store(stored)
		return stored, nil
	default:
		d.former = stored.Asked
	}
	now := time.Now()
	maps.DeleteFunc(s.refused, func(_ string, until time.Time) bool { return now.After(until) })
	refused := func(cause error) error {
		return &Error{
			Step: stepScopes, Server: s.server, Issuer: old.Issuer.Issuer, Err: caused(ErrScope, cause),
			Hint: "It wants: " + cleaned(strings.Join(d.scopes, " ")),
		}
	}
	for _, scope := range d.scopes {
		if _, remembered := s.refused[scope]; remembered {
			return nil, refused(fmt.Errorf("%s was refused a short time ago", cleaned(scope)))
		}
	}
	d.former, d.stepUp = union(old.Asked, d.former), true
	g, err := s.login(ctx, w, d)
	switch {
	case errors.Is(err, ErrDenied):
		s.refuse(missing(old.Scopes), now)
		return nil, refused(err)
	case err != nil:
		return nil, err
	case len(missing(g.Scopes)) > 0:
		s.refuse(missing(g.Scopes), now)
	}
	return g, nil
}

// refuse remembers refused scopes, at most 100. The caller holds the site's turn.
func (s *site) refuse(scopes []string, now time.Time) {
	if s.refused == nil {
		s.refused = map[string]time.Time{}
	}
	for _, scope := range scopes {
		if len(s.refused) < 100 {
			s.refused[scope] = now.Add(s.flow.config.remember)
		}
	}
}
