package authserver

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/kagami-mcp/kagami/protocol/session"
)

// visit is the record of one authorization, from the request of a client to the decision. It
// belongs to the browser with its cookie.
type visit struct {
	ID        string    `json:"id"`
	Client    string    `json:"client"`
	Redirect  string    `json:"redirect"`
	State     string    `json:"state,omitempty"`
	Scopes    []string  `json:"scopes"`
	Resource  string    `json:"resource"`
	Challenge string    `json:"challenge"`
	Key       string    `json:"key,omitempty"` // dpop_jkt
	Cookie    []byte    `json:"cookie"`        // digest
	Until     time.Time `json:"until"`
	Foreign   bool      `json:"foreign,omitempty"` // another site may have sent the browser here
	Answer    string    `json:"answer,omitempty"`  // sealed URL that the browser was redirected to; a second answer leads to the same URL

	Upstream *upstreamVisit `json:"upstream,omitempty"` // at the provider, in Broker

	silent bool // the user was not asked, so there is no new consent
}

// maxState is the maximum length of a client's state.
const maxState = 2 << 10

// handleAuthorize serves the authorization endpoint (OAuth 2.1 §4.1.1).
func (s *Server) handleAuthorize(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	q := withValues(r.URL.Query())
	c, v, err := s.knownClient(ctx, q)
	if err != nil {
		return err
	}
	if err := s.judge(c, v, q); err != nil {
		return s.sendBack(w, r, c, v, refusalOf(err))
	}
	cookie := rand.Text()
	v.ID, v.Cookie, v.Until = rand.Text(), digest(cookie), time.Now().Add(s.lives.Visit)
	v.Foreign = !sameOrTyped(r)
	if err := s.used(ctx, c, time.Time{}); err != nil {
		return err
	}
	if dropped := s.open.add(s.remote(r), v.ID, v.Until, time.Now()); dropped != "" {
		if err := s.visits.delete(ctx, dropped); err != nil {
			return err
		}
	}
	if err := s.visits.create(ctx, v.ID, v, v.Until); err != nil {
		return err
	}
	s.setCookie(w, r, visitCookie+v.ID, cookie, s.lives.Visit)
	r.AddCookie(&http.Cookie{Name: s.cookieName(visitCookie + v.ID), Value: cookie})
	s.emit(r, Event{Kind: VisitBegun, ClientID: v.Client, Resource: v.Resource, Scopes: v.Scopes})
	return s.mode.ask(w, r, v)
}

// sendBack answers a wrong request of a known client. The user has seen no page yet, so only a
// trusted client gets the error by a redirect. For any other, a link alone would lead the browser to
// a site of its choice (RFC 9700 §4.11.2); the user sees a page with the host.
func (s *Server) sendBack(w http.ResponseWriter, r *http.Request, c *Client, v *visit, e *refusal) error {
	to := s.response(v, url.Values{"error": {e.code}, "error_description": {e.text}})
	at, _ := url.Parse(v.Redirect) // judgeRedirect has parsed it
	if !s.trusts(c, at) {
		return &pageError{status: http.StatusBadRequest, message: msgWrongRequest, err: fmt.Errorf("client %s: %w", c.ID, e), back: to, backHost: at.Host}
	}
	s.emit(r, Event{Kind: VisitRefused, ClientID: c.ID, Reason: e.Error()})
	http.Redirect(w, r, to, http.StatusSeeOther)
	return nil
}

// trusts reports whether a browser may be redirected to a client before the user has agreed. Clients
// by hand are trusted, and so are sites in the domains of the policy. A program on the user's
// machine may always receive an error.
func (s *Server) trusts(c *Client, at *url.URL) bool {
	return c.Known == ByHand || at.Scheme != "https" || len(s.policy.Domains) > 0 && inDomains(at.Hostname(), s.policy.Domains)
}

// knownClient finds the client of a request, and begins its visit with the redirect URI. While either is unknown, the browser
// must not be redirected (RFC 6749 §4.1.2.1).
func (s *Server) knownClient(ctx context.Context, q url.Values) (*Client, *visit, error) {
	if len(q["client_id"]) != 1 || len(q["redirect_uri"]) > 1 {
		return nil, nil, pageFault(http.StatusBadRequest, msgNoClient, nil)
	}
	c, err := s.client(ctx, q.Get("client_id"))
	switch {
	case errors.Is(err, errUnknownClient), errors.Is(err, errNotAdmitted), errors.Is(err, errDocument), errors.Is(err, errRedirect):
		return nil, nil, pageFault(http.StatusBadRequest, msgUnknownClient, err)
	case err != nil:
		return nil, nil, err
	case !c.may(grantCode):
		return nil, nil, pageFault(http.StatusBadRequest, msgUnknownClient, errNotAdmitted)
	}
	given := q.Get("redirect_uri")
	if given == "" && len(c.RedirectURIs) == 1 {
		given = c.RedirectURIs[0]
	}
	if !c.redirects(given) {
		return nil, nil, pageFault(http.StatusBadRequest, msgRedirect, nil)
	}
	if _, err := judgeRedirect(given, s.policy.Schemes); err != nil {
		return nil, nil, pageFault(http.StatusBadRequest, msgRedirect, err)
	}
	return c, &visit{Client: c.ID, Redirect: given, State: q.Get("state")}, nil
}

// judge checks the rest of the request. Its errors are returned to the client.
func (s *Server) judge(c *Client, v *visit, q url.Values) error {
	if err := single(q, "resource"); err != nil {
		return err
	}
	challenge := q.Get("code_challenge")
	switch {
	case q.Get("response_type") != "code":
		return refuse("unsupported_response_type", "The response_type is code.")
	case q.Get("response_mode") != "" && q.Get("response_mode") != "query":
		return refuse("invalid_request", "The response_mode is query.")
	case q.Get("request") != "" || q.Get("request_uri") != "":
		return refuse("request_not_supported", "Request objects are not supported.")
	case q.Get("code_challenge_method") != "S256" || !isChallenge(challenge):
		return refuse("invalid_request", "A code_challenge of method S256 is required.")
	case len(q.Get("state")) > maxState:
		v.State = ""
		return refuse("invalid_request", "The state is too long.")
	case s.dpop && q.Get("dpop_jkt") != "" && !isChallenge(q.Get("dpop_jkt")):
		return refuse("invalid_request", "The dpop_jkt is not a SHA-256 thumbprint.")
	case q.Get("prompt") == "none":
		return refuse("consent_required", "The user is asked, always.")
	}
	var err error
	if v.Resource, err = s.resourceFor(q["resource"]); err != nil {
		return err
	}
	if s.dpop {
		v.Key = q.Get("dpop_jkt")
	}
	v.Challenge = challenge
	v.Scopes, err = s.choose(q.Get("scope"), v.Resource, c)
	return err
}

// isChallenge reports whether s is the digest of a verifier: 43 characters of base64url (RFC 7636
// §4.2).
func isChallenge(s string) bool {
	return len(s) == 43 && isVerifier(s) && !strings.ContainsAny(s, ".~")
}

// response returns the URL of an authorization response, which contains the issuer (RFC 9207).
func (s *Server) response(v *visit, q url.Values) string {
	if v.State != "" {
		q.Set("state", v.State)
	}
	q.Set("iss", s.issuer)
	separator := "?"
	if strings.Contains(v.Redirect, "?") {
		separator = "&"
	}
	return v.Redirect + separator + q.Encode()
}

// visitCookie is the prefix of a visit's cookie. Each visit has its own cookie, so that two tabs do
// not affect each other.
const (
	visitCookie = "as-visit-"
	maxCookies  = 8 // maximum number of visits in one browser; older cookies are removed
)

// cookieName returns the name of a cookie. Over https it has a prefix that prevents other hosts and
// http from setting the cookie. Over http, which is loopback, browsers would not accept the prefix.
func (s *Server) cookieName(name string) string {
	if s.secure() {
		return "__Host-" + name
	}
	return name
}

// setCookie sets a cookie for a while. If life is 0, the cookie lasts until the browser is closed.
func (s *Server) setCookie(w http.ResponseWriter, r *http.Request, name, value string, life time.Duration) {
	set := func(full, value string, seconds int) {
		http.SetCookie(w, &http.Cookie{
			Name: full, Value: value, Path: "/", MaxAge: seconds, Secure: s.secure(), HttpOnly: true, SameSite: http.SameSiteLaxMode,
		})
	}
	if strings.HasPrefix(name, visitCookie) {
		var old []string
		for _, c := range r.Cookies() {
			if strings.HasPrefix(c.Name, s.cookieName(visitCookie)) {
				old = append(old, c.Name)
			}
		}
		for _, stale := range old[:max(len(old)-maxCookies+1, 0)] {
			set(stale, "", -1)
		}
	}
	set(s.cookieName(name), value, int(life/time.Second))
}

// cookie returns the value of a cookie, or "" if there is none.
func (s *Server) cookie(r *http.Request, name string) string {
	c, err := r.Cookie(s.cookieName(name))
	if err != nil {
		return ""
	}
	return c.Value
}

// findVisit returns the visit of this browser.
func (s *Server) findVisit(r *http.Request, id string) (*visit, error) {
	v, err := s.visits.get(r.Context(), id)
	switch {
	case errors.Is(err, session.ErrNotFound):
		return nil, pageFault(http.StatusBadRequest, msgExpired, err)
	case err != nil:
		return nil, err
	case s.cookie(r, visitCookie+id) == "":
		return nil, pageFault(http.StatusBadRequest, msgNoCookie, nil)
	case subtle.ConstantTimeCompare(v.Cookie, digest(s.cookie(r, visitCookie+id))) != 1:
		return nil, pageFault(http.StatusForbidden, msgOtherBrowser, nil)
	}
	return v, nil
}

// handleVisit shows a visit again, after a login or when the page is loaded once more.
func (s *Server) handleVisit(w http.ResponseWriter, r *http.Request) error {
	v, err := s.findVisit(r, r.URL.Query().Get("visit"))
	if err != nil {
		return err
	}
	return s.mode.ask(w, r, v)
}

// formToken returns the token that a form of a visit must send. It is derived from the cookie,
// which no other site can read, and from the user.
func (s *Server) formToken(r *http.Request, v *visit, user string) string {
	return tokenOf(s.cookie(r, visitCookie+v.ID), user)
}

func tokenOf(cookie, user string) string { return base64url(digest("form", cookie, user)) }

// sameSite reports whether a form was sent by a page of this server. Browsers send this in one of
// two headers.
func (s *Server) sameSite(r *http.Request) bool {
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" {
		return site == "same-origin"
	}
	origin := r.Header.Get("Origin")
	return origin == "" || origin == s.origin()
}

// showConsent asks the user, unless the user has agreed before and need not be asked. In Broker,
// provider is the provider's host, and upstream has the scopes that are requested there.
func (s *Server) showConsent(w http.ResponseWriter, r *http.Request, v *visit, u *User, provider string, upstream []string) error {
	c, err := s.client(r.Context(), v.Client)
	if err != nil {
		return err
	}
	redirect, _ := url.Parse(v.Redirect) // parsed by judgeRedirect before
	page := &Consent{
		Client: *c, Redirect: shownHost(redirect), Loopback: isLoopback(redirect), User: *u, Resource: v.Resource,
		Provider: provider, ProviderScopes: upstream, Action: s.path("/consent"), Approve: "approve", Deny: "deny",
	}
	who := shortDigest("user", u.Subject)
	page.Form = map[string]string{"visit": v.ID, "user": who, "token": s.formToken(r, v, who)}
	if at, err := url.Parse(c.ID); err == nil && c.Known == ByDocument {
		page.ClientHost = at.Host
	}
	granted, silent := s.agreedBefore(r, v, c, u, page.Loopback)
	if v.silent = silent; silent {
		return s.decide(w, r, v, u)
	}
	names := narrow(v.Scopes, u.Scopes)
	page.Scopes = slices.DeleteFunc(s.scopesOf(v.Resource), func(scope Scope) bool { return !slices.Contains(names, scope.Name) })
	page.Known = granted != nil
	page.More = slices.DeleteFunc(slices.Clone(page.Scopes), func(scope Scope) bool { return slices.Contains(granted, scope.Name) })
	return s.render(w, r, http.StatusOK, func(p Pages, out io.Writer, nonce string) error { return p.Consent(out, nonce, page) })
}

// agreedBefore returns the scopes that the user has granted the client before, or nil. silent
// reports that the user need not be asked again.
func (s *Server) agreedBefore(r *http.Request, v *visit, c *Client, u *User, loopback bool) (granted []string, silent bool) {
	if u.Subject == "" {
		return nil, false
	}
	o, err := s.owners.get(r.Context(), u.Subject)
	if err != nil {
		return nil, false // without a record of consents, the user is asked
	}
	for _, given := range o.Consents {
		if given.Client != v.Client || given.Resource != v.Resource {
			continue
		}
		granted = append(granted, given.Scopes...)
		missing := slices.ContainsFunc(narrow(v.Scopes, u.Scopes), func(name string) bool { return !slices.Contains(given.Scopes, name) })
		if given.Redirect == v.Redirect && !missing && time.Since(given.At) < s.remember {
			silent = true
		}
	}
	return granted, silent && !loopback && c.Known != ByRegistration && !v.Foreign && sameOrTyped(r)
}

// sameOrTyped reports whether the browser states that no other site has sent it here.
func sameOrTyped(r *http.Request) bool {
	site := r.Header.Get("Sec-Fetch-Site")
	return site == "none" || site == "same-origin"
}

// handleConsent handles the user's decision.
func (s *Server) handleConsent(w http.ResponseWriter, r *http.Request) error {
	f, err := form(w, r)
	if err != nil {
		return pageFault(http.StatusBadRequest, msgForm, err)
	}
	if !s.sameSite(r) {
		return pageFault(http.StatusForbidden, msgOtherSite, nil)
	}
	v, err := s.findVisit(r, f.Get("visit"))
	if err != nil {
		return err
	}
	switch {
	case subtle.ConstantTimeCompare([]byte(f.Get("token")), []byte(s.formToken(r, v, f.Get("user")))) != 1:
		return pageFault(http.StatusForbidden, msgOtherSite, nil)
	case v.Answer != "":
		return s.leave(w, r, v, "")
	case f.Get("decision") == "deny":
		s.emit(r, Event{Kind: Denied, ClientID: v.Client, Resource: v.Resource})
		return s.redirectError(w, r, v, "access_denied", "The user said no.")
	case f.Get("decision") != "approve":
		return pageFault(http.StatusBadRequest, msgForm, nil)
	}
	u, err := s.mode.user(r)
	if errors.Is(err, ErrNobody) || err == nil && shortDigest("user", u.Subject) != f.Get("user") {
		return s.mode.ask(w, r, v) // the user has logged out, or another user is logged in, who must be asked
	}
	if err != nil {
		return err
	}
	return s.decide(w, r, v, u)
}

// decide continues after the user agreed.
func (s *Server) decide(w http.ResponseWriter, r *http.Request, v *visit, u *User) error {
	s.emit(r, Event{Kind: Consented, Subject: u.Subject, ClientID: v.Client, Resource: v.Resource, Scopes: v.Scopes})
	return s.mode.agreed(w, r, v, u)
}

// redirectError redirects the browser with an error.
func (s *Server) redirectError(w http.ResponseWriter, r *http.Request, v *visit, code, text string) error {
	return s.leave(w, r, v, s.response(v, url.Values{"error": {code}, "error_description": {text}}))
}

// leave redirects the browser, always to the same URL. A second answer, by the back button or a
// double click, gets the answer to the first one.
func (s *Server) leave(w http.ResponseWriter, r *http.Request, v *visit, to string) error {
	sealed, err := s.sealer.seal("visit "+v.ID, to)
	if err != nil {
		return err
	}
	err = s.visits.change(r.Context(), v.ID, func(kept *visit) (time.Time, error) {
		if kept.ID == "" {
			return time.Time{}, pageFault(http.StatusBadRequest, msgExpired, nil)
		}
		if kept.Answer != "" {
			sealed = kept.Answer
			return time.Time{}, errSame
		}
		kept.Answer = sealed
		return kept.Until, nil
	})
	if err != nil {
		return err
	}
	if err := s.sealer.open("visit "+v.ID, sealed, &to); err != nil {
		return err
	}
	http.Redirect(w, r, to, http.StatusSeeOther)
	return nil
}
