package testkit

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// This file is the part of an Issuer that clients use: it logs users in.

// Fault is an incorrect or unusual behavior of an Issuer.
type Fault string

// The faults. The faults of the first group are attacks, or look like attacks.
const (
	OmitIss         Fault = "responses have no iss, although the metadata says so"
	WrongIss        Fault = "responses name another issuer"
	SlashIss        Fault = "responses name the issuer with a slash at the end"
	TwiceCode       Fault = "responses have two codes"
	ForeignState    Fault = "responses have another state"
	WrongNonce      Fault = "ID tokens have another nonce"
	ForeignMetadata Fault = "the metadata is of another issuer"

	NoPKCE         Fault = "the metadata does not have S256"
	NoIss          Fault = "neither the metadata nor the responses know iss"
	NoRegistration Fault = "clients cannot register"
	Denies         Fault = "the user says no"
	TokenDown      Fault = "the token endpoint answers 503"
	RefreshRevoked Fault = "refresh tokens are refused"
	NoRefresh      Fault = "there are no refresh tokens"
	Nonces         Fault = "DPoP proofs need a nonce"
	ClockAhead     Fault = "its clock is an hour ahead"
	Asks           Fault = "the user agrees on a page, and not at once"
)

// IssuerRequest is a request that reached an Issuer.
type IssuerRequest struct {
	Path string
	Form url.Values  // query or body; for a registration: metadata, its JSON
	Head http.Header // of the request
}

// logins holds the clients, users and grants of an Issuer. The mutex of the Issuer guards it.
type logins struct {
	user     string
	life     time.Duration
	faults   map[Fault]bool
	clients  map[string]oauthClient
	codes    map[string]oauthGrant
	grants   map[string]oauthGrant // by refresh token
	named    map[string]oauthGrant // by ID token
	requests []IssuerRequest
	nonce    string
}

type oauthClient struct {
	secret    string
	redirects []string
}

type oauthGrant struct {
	client, subject, resource, redirect, challenge, scope, thumbprint, nonce string
}

func newLogins() logins {
	return logins{
		user: "ann", life: time.Hour, faults: map[Fault]bool{}, clients: map[string]oauthClient{},
		codes: map[string]oauthGrant{}, grants: map[string]oauthGrant{}, named: map[string]oauthGrant{}, nonce: rand.Text(),
	}
}

// Client registers a client by hand. Without a secret, the client is public. Without redirect URIs,
// it can use any.
func (i *Issuer) Client(id, secret string, redirects ...string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.logins.clients[id] = oauthClient{secret, redirects}
}

// Login sets the user who logs in from now on. The default is "ann".
func (i *Issuer) Login(subject string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.logins.user = subject
}

// Lifetime sets how long tokens of later logins are valid. The default is an hour.
func (i *Issuer) Lifetime(life time.Duration) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.logins.life = life
}

// Fault makes the issuer have these faults from now on, and no others.
func (i *Issuer) Fault(faults ...Fault) {
	i.mu.Lock()
	defer i.mu.Unlock()
	clear(i.logins.faults)
	for _, f := range faults {
		i.logins.faults[f] = true
	}
}

func (i *Issuer) has(f Fault) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.logins.faults[f]
}

// Log returns the requests of clients so far, in order of arrival.
func (i *Issuer) Log() []IssuerRequest {
	i.mu.Lock()
	defer i.mu.Unlock()
	return slices.Clone(i.logins.requests)
}

// Requests returns the number of requests with a path, such as "/token". If a grant type is given,
// it counts only token requests with this grant type.
func (i *Issuer) Requests(path string, grantType ...string) (n int) {
	for _, r := range i.Log() {
		if r.Path == path && (len(grantType) == 0 || slices.Contains(grantType, r.Form.Get("grant_type"))) {
			n++
		}
	}
	return n
}

func (i *Issuer) handleLogins(mux *http.ServeMux) {
	mux.HandleFunc("GET /authorize", i.logged(i.authorize))
	mux.HandleFunc("POST /token", i.logged(i.token))
	mux.HandleFunc("POST /revoke", i.logged(i.revoke))
	mux.HandleFunc("POST /register", i.register)
}

// logged records requests, and refuses them while the issuer is down.
func (i *Issuer) logged(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm() // parameters that cannot be parsed count as missing
		i.note(IssuerRequest{r.URL.Path, maps.Clone(r.Form), r.Header.Clone()})
		if i.isDown() {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		next(w, r)
	}
}

func (i *Issuer) note(r IssuerRequest) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.logins.requests = append(i.logins.requests, r)
}

// loginMetadata adds the endpoints for clients to a document.
func (i *Issuer) loginMetadata(document map[string]any) {
	maps.Copy(document, map[string]any{
		"authorization_endpoint": i.url + "/authorize", "token_endpoint": i.url + "/token", "revocation_endpoint": i.url + "/revoke",
		"grant_types_supported":                 []string{"authorization_code", "refresh_token", "client_credentials", "urn:ietf:params:oauth:grant-type:token-exchange"},
		"token_endpoint_auth_methods_supported": []string{"none", "client_secret_basic", "client_secret_post"},
		"dpop_signing_alg_values_supported":     []string{"ES256"},
		"scopes_supported":                      []string{"offline_access"},
	})
	if !i.has(NoRegistration) {
		document["registration_endpoint"] = i.url + "/register"
	}
	if !i.has(NoPKCE) {
		document["code_challenge_methods_supported"] = []string{"S256"}
	}
	if !i.has(NoIss) {
		document["authorization_response_iss_parameter_supported"] = true
	}
	if i.has(ForeignMetadata) {
		document["issuer"] = "https://foreign.example"
	}
}

// register registers a client (RFC 7591).
func (i *Issuer) register(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 64<<10))
	var about struct {
		Redirects []string `json:"redirect_uris"`
		Method    string   `json:"token_endpoint_auth_method"`
	}
	if err == nil {
		err = json.Unmarshal(body, &about)
	}
	i.note(IssuerRequest{r.URL.Path, url.Values{"metadata": {string(body)}}, r.Header.Clone()})
	switch {
	case i.isDown():
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	case err != nil || len(about.Redirects) == 0 || i.has(NoRegistration):
		refuse(w, http.StatusBadRequest, "invalid_client_metadata", "")
		return
	}
	id, secret := "client-"+rand.Text(), ""
	answer := map[string]any{"client_id": id, "redirect_uris": about.Redirects, "token_endpoint_auth_method": about.Method}
	if about.Method != "none" {
		secret = rand.Text()
		answer["client_secret"] = secret
	}
	i.Client(id, secret, about.Redirects...)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	_ = json.NewEncoder(w).Encode(answer) // a client that is gone does not matter
}

func refuse(w http.ResponseWriter, status int, code, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"error": code, "error_description": text}) // as above
}

// authorize answers an authorization request. The user agrees at once, unless a fault prevents it.
func (i *Issuer) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.Form
	i.mu.Lock()
	c, known := i.logins.clients[q.Get("client_id")]
	user := i.logins.user
	i.mu.Unlock()
	redirect := q.Get("redirect_uri")
	if !known || len(c.redirects) > 0 && !slices.Contains(c.redirects, redirect) || q.Get("code_challenge_method") != "S256" {
		http.Error(w, "unknown client, redirect URI or method", http.StatusBadRequest)
		return
	}
	if i.has(Asks) && q.Get("agreed") == "" {
		askPage(w, user, q)
		return
	}
	answer := url.Values{"state": {q.Get("state")}}
	if !i.has(OmitIss) && !i.has(NoIss) {
		answer.Set("iss", i.url)
	}
	if i.has(WrongIss) {
		answer.Set("iss", "https://foreign.example")
	}
	if i.has(SlashIss) {
		answer.Set("iss", i.url+"/")
	}
	if i.has(ForeignState) {
		answer.Set("state", rand.Text())
	}
	if i.has(Denies) {
		answer.Set("error", "access_denied")
		answer.Set("error_description", "The user said no.")
	} else {
		code := rand.Text()
		i.mu.Lock()
		i.logins.codes[code] = oauthGrant{
			client: q.Get("client_id"), subject: user, resource: q.Get("resource"), redirect: redirect,
			challenge: q.Get("code_challenge"), scope: q.Get("scope"), thumbprint: q.Get("dpop_jkt"), nonce: q.Get("nonce"),
		}
		i.mu.Unlock()
		answer.Set("code", code)
		if i.has(TwiceCode) {
			answer.Add("code", rand.Text())
		}
	}
	join := "?"
	if strings.Contains(redirect, "?") { // RFC 6749 §3.1.2: its query must be kept
		join = "&"
	}
	http.Redirect(w, r, redirect+join+answer.Encode(), http.StatusFound)
}

// askPage shows the page of the fault Asks. Its form sends the authorization request again.
func askPage(w http.ResponseWriter, user string, q url.Values) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = io.WriteString(w, `<!doctype html><html lang="en"><head><title>Log in</title><link rel="icon" href="data:,"/></head><body><h1>Company login</h1><form action="/authorize" method="get">`)
	for name := range q {
		_, _ = fmt.Fprintf(w, `<input type="hidden" name="%s" value="%s"/>`, html.EscapeString(name), html.EscapeString(q.Get(name)))
	}
	_, _ = fmt.Fprintf(w, `<button name="agreed" value="yes">Continue as %s</button></form></body></html>`, html.EscapeString(user))
}

// exchange answers with an ID-JAG for an ID token of this issuer (extension
// io.modelcontextprotocol/enterprise-managed-authorization). The client has the same ID at the other
// authorization server.
func (i *Issuer) exchange(w http.ResponseWriter, id string, f url.Values) {
	i.mu.Lock()
	g, known := i.logins.named[f.Get("subject_token")]
	i.mu.Unlock()
	if !known || g.client != id || f.Get("subject_token_type") != "urn:ietf:params:oauth:token-type:id_token" || f.Get("requested_token_type") != typeIDJAG {
		refuse(w, http.StatusBadRequest, "invalid_request", "the ID token is not known, or of another client or type")
		return
	}
	now := time.Now()
	reply(w, map[string]any{
		"access_token": i.sign("oauth-id-jag+jwt", map[string]any{
			"iss": i.url, "sub": g.subject, "aud": f.Get("audience"), "resource": f.Get("resource"), "client_id": id, "scope": f.Get("scope"),
			"iat": now.Unix(), "exp": now.Add(time.Minute).Unix(), "jti": rand.Text(),
		}),
		"issued_token_type": typeIDJAG, "token_type": "N_A", "expires_in": 60, "scope": f.Get("scope"),
	})
}

const typeIDJAG = "urn:ietf:params:oauth:token-type:id-jag"

// token answers requests to the token endpoint: for a code, a refresh token, or client credentials.
// It also exchanges ID tokens.
func (i *Issuer) token(w http.ResponseWriter, r *http.Request) {
	f := r.PostForm
	if i.has(TokenDown) {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	id, ok := i.authenticated(r)
	if !ok {
		refuse(w, http.StatusUnauthorized, "invalid_client", "")
		return
	}
	proof, code, err := i.provenKey(r)
	if err != nil {
		w.Header().Set("DPoP-Nonce", i.currentNonce())
		w.Header().Set("Date", i.clock().UTC().Format(http.TimeFormat))
		refuse(w, http.StatusBadRequest, code, err.Error())
		return
	}
	if f.Get("grant_type") == "urn:ietf:params:oauth:grant-type:token-exchange" {
		i.exchange(w, id, f)
		return
	}
	g, fault := i.redeem(id, f)
	if fault != "" {
		refuse(w, http.StatusBadRequest, "invalid_grant", fault)
		return
	}
	g.thumbprint = proof
	i.grant(w, f.Get("grant_type"), g)
}

// redeem takes a code or a refresh token. Each is valid once.
func (i *Issuer) redeem(id string, f url.Values) (g oauthGrant, fault string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	l := &i.logins
	switch kind := f.Get("grant_type"); kind {
	case "authorization_code":
		g, ok := l.codes[f.Get("code")]
		delete(l.codes, f.Get("code"))
		sum := sha256.Sum256([]byte(f.Get("code_verifier")))
		if !ok || g.client != id || g.redirect != f.Get("redirect_uri") || g.challenge != base64.RawURLEncoding.EncodeToString(sum[:]) || g.resource != f.Get("resource") {
			return g, "the code, its client, redirect URI, resource or verifier is wrong"
		}
		return g, ""
	case "refresh_token":
		g, ok := l.grants[f.Get("refresh_token")]
		if !ok || g.client != id || l.faults[RefreshRevoked] || g.resource != f.Get("resource") {
			return g, "the refresh token is not valid, or for another client or resource"
		}
		delete(l.grants, f.Get("refresh_token"))
		return g, ""
	case "client_credentials":
		return oauthGrant{client: id, subject: id, resource: f.Get("resource"), scope: f.Get("scope")}, ""
	default:
		return g, "unknown grant type " + kind
	}
}

// grant answers with tokens.
func (i *Issuer) grant(w http.ResponseWriter, kind string, g oauthGrant) {
	i.mu.Lock()
	life := i.logins.life
	i.mu.Unlock()
	now := time.Now()
	claims := map[string]any{
		"iss": i.url, "sub": g.subject, "aud": g.resource, "client_id": g.client, "scope": g.scope,
		"iat": now.Unix(), "exp": now.Add(life).Unix(), "jti": rand.Text(),
	}
	answer := map[string]any{"token_type": "Bearer", "expires_in": int(life.Seconds()), "scope": g.scope}
	if g.thumbprint != "" {
		claims["cnf"] = map[string]string{"jkt": g.thumbprint}
		answer["token_type"] = "DPoP"
	}
	answer["access_token"] = i.Sign(claims)
	if kind != "client_credentials" && !i.has(NoRefresh) {
		refresh := rand.Text()
		i.mu.Lock()
		i.logins.grants[refresh] = g
		i.mu.Unlock()
		answer["refresh_token"] = refresh
	}
	if slices.Contains(strings.Fields(g.scope), "openid") {
		answer["id_token"] = i.identify(g, now)
	}
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("DPoP-Nonce", i.currentNonce())
	reply(w, answer)
}

// identify returns an ID token (OpenID Connect Core §2).
func (i *Issuer) identify(g oauthGrant, now time.Time) string {
	if i.has(WrongNonce) {
		g.nonce = rand.Text()
	}
	token := i.sign("JWT", map[string]any{
		"iss": i.url, "sub": g.subject, "aud": g.client, "nonce": g.nonce, "name": g.subject, "iat": now.Unix(), "exp": now.Add(identityLife).Unix(),
	})
	i.mu.Lock()
	defer i.mu.Unlock()
	i.logins.named[token] = g
	return token
}

const identityLife = 5 * time.Minute // of an ID token

// authenticated returns the client of a request, with its secret checked.
func (i *Issuer) authenticated(r *http.Request) (id string, ok bool) {
	id, secret, basic := r.BasicAuth()
	if basic {
		id, _ = url.QueryUnescape(id)
		secret, _ = url.QueryUnescape(secret)
	} else {
		id, secret = r.PostForm.Get("client_id"), r.PostForm.Get("client_secret")
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	c, known := i.logins.clients[id]
	return id, known && c.secret == secret
}

// clock returns the time of the issuer's clock.
func (i *Issuer) clock() time.Time {
	if i.has(ClockAhead) {
		return time.Now().Add(time.Hour)
	}
	return time.Now()
}

// provenKey returns the thumbprint of the key of a DPoP proof, or "" if there is no proof. It
// checks only the nonce and the time; the resource server checks the proof itself. code is the
// OAuth error for a refused proof.
func (i *Issuer) provenKey(r *http.Request) (thumbprint, code string, err error) {
	proof := r.Header.Get("DPoP")
	if proof == "" {
		return "", "", nil
	}
	var header struct {
		Key map[string]string `json:"jwk"`
	}
	var claims struct {
		Nonce string `json:"nonce"`
		Made  int64  `json:"iat"`
	}
	parts := strings.Split(proof, ".")
	if len(parts) != 3 {
		return "", "invalid_dpop_proof", fmt.Errorf("the proof has %d parts", len(parts))
	}
	for n, into := range []any{&header, &claims} {
		text, err := base64.RawURLEncoding.DecodeString(parts[n])
		if err == nil {
			err = json.Unmarshal(text, into)
		}
		if err != nil {
			return "", "invalid_dpop_proof", fmt.Errorf("the proof cannot be read: %w", err)
		}
	}
	if made := time.Unix(claims.Made, 0); i.clock().Sub(made).Abs() > time.Minute {
		return "", "invalid_dpop_proof", errors.New("the proof is too old, or of the future")
	}
	if i.has(Nonces) && claims.Nonce != i.currentNonce() {
		return "", "use_dpop_nonce", fmt.Errorf("the nonce %q is not the current one", claims.Nonce)
	}
	text, err := json.Marshal(header.Key) // RFC 7638: the members are sorted
	if err != nil {
		return "", "invalid_dpop_proof", err
	}
	sum := sha256.Sum256(text)
	return base64.RawURLEncoding.EncodeToString(sum[:]), "", nil
}

func (i *Issuer) currentNonce() string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.logins.nonce
}

// revoke revokes a token (RFC 7009).
func (i *Issuer) revoke(w http.ResponseWriter, r *http.Request) {
	if _, ok := i.authenticated(r); !ok {
		refuse(w, http.StatusUnauthorized, "invalid_client", "")
		return
	}
	token := r.PostForm.Get("token")
	i.mu.Lock()
	delete(i.logins.grants, token)
	i.mu.Unlock()
	i.Revoke(token)
}
