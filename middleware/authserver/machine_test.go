package authserver_test

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/MicahParks/jwkset"
	"github.com/golang-jwt/jwt/v5"

	"github.com/kagami-mcp/kagami/framework/store/memory"
	"github.com/kagami-mcp/kagami/middleware/authserver"
	"github.com/kagami-mcp/kagami/protocol/session"
	"github.com/kagami-mcp/kagami/testkit"
)

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// keySet is a JWK Set with one public key.
func keySet(t *testing.T, key crypto.PublicKey) []byte {
	t.Helper()
	jwk, err := jwkset.NewJWKFromKey(key, jwkset.JWKOptions{})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(jwkset.JWKSMarshal{Keys: []jwkset.JWKMarshal{jwk.Marshal()}})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// signed is a JWT; header has further members.
func signed(t *testing.T, method jwt.SigningMethod, key any, claims jwt.MapClaims, header map[string]any) string {
	t.Helper()
	token := jwt.NewWithClaims(method, claims)
	maps.Copy(token.Header, header)
	text, err := token.SignedString(key)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// changed is a copy of claims with changes; nil takes one out.
func changed(claims, changes jwt.MapClaims) jwt.MapClaims {
	c := maps.Clone(claims)
	for name, value := range changes {
		if c[name] = value; value == nil {
			delete(c, name)
		}
	}
	return c
}

// robots are clients that act for themselves.
func robots(t *testing.T) (key *ecdsa.PrivateKey, opts []authserver.Option) {
	t.Helper()
	key = newKey(t)
	secret := secretClient("client_secret_post")
	secret.Grants = []string{"client_credentials"}
	human := secretClient("client_secret_post")
	human.ID = "human"
	return key, []authserver.Option{authserver.ClientCredentialsGrant(), authserver.Clients(secret, human, authserver.Client{
		ID: "robot", JWKS: keySet(t, &key.PublicKey), Grants: []string{"client_credentials", "urn:ietf:params:oauth:grant-type:jwt-bearer"}, Scopes: []string{"notes:read"},
	})}
}

func TestClientCredentials(t *testing.T) {
	t.Parallel()
	_, opts := robots(t)
	s := open(t, nil, opts...)
	ask := func(changes ...string) *answer {
		return s.token(append([]string{"grant_type", "client_credentials", "client_id", "conf:1", "client_secret", "s3cret:& ", "resource", s.resource}, changes...)...)
	}
	a := ask("scope", "notes:write")
	p, ok := s.admits(a.text(t, "access_token"))
	if !ok || p.Subject != "conf:1" || p.Claims["client_id"] != "conf:1" || a.text(t, "scope") != "notes:write" || a.text(t, "refresh_token") != "" {
		t.Errorf("%s", a.body)
	}
	revoke := func(client, token string) *answer {
		return s.post("/revoke", encoded([]string{"client_id", client, "client_secret", "s3cret:& ", "token", token}))
	}
	token := a.text(t, "access_token") // it cannot be revoked, and stays valid
	if a := revoke("conf:1", token); a.status != http.StatusBadRequest || a.text(t, "error") != "unsupported_token_type" {
		t.Errorf("a revocation: %d %s", a.status, a.body)
	}
	for name, a := range map[string]*answer{"of another client": revoke("human", token), "of no token": revoke("conf:1", token+"x")} {
		if a.status != http.StatusOK || a.body != "" {
			t.Errorf("a revocation %s: %d %s", name, a.status, a.body)
		}
	}
	if _, ok := s.admits(token); !ok {
		t.Error("the token is not taken after the revocation")
	}
	if a := ask("client_id", "human"); a.text(t, "error") != "unauthorized_client" {
		t.Errorf("%s", a.body)
	}
	if a := ask("resource", "https://other.example"); a.text(t, "error") != "invalid_target" {
		t.Errorf("%s", a.body)
	}
	id := s.register(`{"redirect_uris":["` + callback + `"],"grant_types":["authorization_code","client_credentials"]}`)
	if a := ask("client_id", id, "client_secret", "-"); a.text(t, "error") != "unauthorized_client" {
		t.Errorf("%s", a.body)
	}
	if a := s.browser().do(http.MethodGet, s.ask("conf:1"), nil); a.status != http.StatusBadRequest || a.to != nil {
		t.Errorf("a login for a client that acts only for itself: %d %v", a.status, a.to)
	}
}

// A client with a key signs assertions: of its own, for this server, once, and for a short time.
func TestAssertion_Headers(t *testing.T) {
	t.Parallel()
	key, opts := robots(t)
	s := open(t, nil, opts...)
	now := time.Now()
	good := jwt.MapClaims{"iss": "robot", "sub": "robot", "aud": s.issuer, "iat": now.Unix(), "exp": now.Add(time.Minute).Unix(), "jti": "1"}
	ask := func(assertion string) *answer {
		return s.token("grant_type", "client_credentials", "client_assertion", assertion, "client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
	}
	es := jwt.SigningMethodES256
	first := signed(t, es, key, good, nil)
	if a := ask(first); a.status != http.StatusOK || a.text(t, "scope") != "notes:read" {
		t.Fatalf("%d %s", a.status, a.body)
	}
	wide := s.token("grant_type", "client_credentials", "scope", "notes:read notes:write", "client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
		"client_assertion", signed(t, es, key, changed(good, jwt.MapClaims{"jti": "wide"}), nil))
	if wide.text(t, "scope") != "notes:read" {
		t.Errorf("more than the client may ask for: %s", wide.body)
	}
	_, other, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	foreign := newKey(t)
	public := keySet(t, &key.PublicKey)
	n := 1
	fresh := func(changes jwt.MapClaims) jwt.MapClaims {
		n++
		return changed(changed(good, jwt.MapClaims{"jti": strings.Repeat("x", n)}), changes)
	}
	for name, assertion := range map[string]string{
		"used before":       first,
		"foreign key":       signed(t, es, foreign, fresh(nil), nil),
		"key in its header": signed(t, es, foreign, fresh(nil), map[string]any{"jwk": json.RawMessage(keySet(t, &foreign.PublicKey))}),
		"jku":               signed(t, es, foreign, fresh(nil), map[string]any{"jku": "https://evil.example/jwks", "x5u": "https://evil.example/x5u"}),
		"other algorithm":   signed(t, jwt.SigningMethodEdDSA, other, fresh(nil), nil),
		"none":              signed(t, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, fresh(nil), nil),
		"HS256 of the key":  signed(t, jwt.SigningMethodHS256, public, fresh(nil), nil),
		"critical":          signed(t, es, key, fresh(nil), map[string]any{"crit": []string{"b64"}}),
		"other issuer":      signed(t, es, key, fresh(jwt.MapClaims{"iss": "conf:1"}), nil),
		"other subject":     signed(t, es, key, fresh(jwt.MapClaims{"sub": "conf:1"}), nil),
		"other audience":    signed(t, es, key, fresh(jwt.MapClaims{"aud": "https://other.example"}), nil),
		"no audience":       signed(t, es, key, fresh(jwt.MapClaims{"aud": nil}), nil),
		"expired":           signed(t, es, key, fresh(jwt.MapClaims{"exp": now.Add(-time.Hour).Unix()}), nil),
		"no expiry":         signed(t, es, key, fresh(jwt.MapClaims{"exp": nil}), nil),
		"lives too long":    signed(t, es, key, fresh(jwt.MapClaims{"exp": now.Add(time.Hour).Unix()}), nil),
		"not yet":           signed(t, es, key, fresh(jwt.MapClaims{"nbf": now.Add(time.Hour).Unix()}), nil),
		"no id":             signed(t, es, key, fresh(jwt.MapClaims{"jti": nil}), nil),
		"garbage":           "a.b.c",
		"empty":             "",
	} {
		if a := ask(assertion); a.status != http.StatusUnauthorized || a.text(t, "error") != "invalid_client" {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
	}
	for _, audience := range []any{s.issuer + "/", s.issuer + "/token", []string{"https://other.example", s.issuer}} {
		if a := ask(signed(t, es, key, fresh(jwt.MapClaims{"aud": audience}), nil)); a.status != http.StatusOK {
			t.Errorf("%v: %d %s", audience, a.status, a.body)
		}
	}
}

// An ID-JAG is taken in Broker, too, where its grants have no provider's session.
func TestX2_InBroker(t *testing.T) {
	t.Parallel()
	key := newKey(t)
	issuer := (&scripted{documents: map[string][]byte{"/jwks": keySet(t, &key.PublicKey)}}).start(t)
	agent := secretClient("client_secret_post")
	agent.Grants = []string{"urn:ietf:params:oauth:grant-type:jwt-bearer"}
	idp := testkit.IdP(t)
	s := open(t, authserver.Broker(authserver.Provider{Issuer: idp.URL(), ClientID: "shop"}), authserver.Clients(agent),
		authserver.Assertions(authserver.AssertionIssuer{Issuer: issuer, JWKS: issuer + "/jwks"}))
	now := time.Now()
	assertion := signed(t, jwt.SigningMethodES256, key, jwt.MapClaims{
		"iss": issuer, "sub": "U1", "aud": s.issuer, "client_id": agent.ID, "resource": s.resource, "iat": now.Unix(), "exp": now.Add(time.Minute).Unix(), "jti": "1",
	}, map[string]any{"typ": "oauth-id-jag+jwt"})
	a := s.token("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer", "assertion", assertion, "client_id", agent.ID, "client_secret", "s3cret:& ")
	p, ok := s.admits(a.text(t, "access_token"))
	if !ok || p.Subject != "U1" {
		t.Fatalf("%d %s", a.status, a.body)
	}
	if _, err := s.server.Upstream(t.Context(), p); !errors.Is(err, authserver.ErrNoUpstream) {
		t.Errorf("%v", err)
	}
}

// An ID-JAG of a trusted provider is taken once, for its client and its resource.
func TestX2_IDJAG(t *testing.T) {
	t.Parallel()
	idp, evil := testkit.IdP(t), newKey(t)
	key := newKey(t)
	web := &scripted{documents: map[string][]byte{"/jwks": keySet(t, &key.PublicKey)}}
	issuer := web.start(t)
	_, opts := robots(t)
	secret := secretClient("client_secret_post")
	secret.ID, secret.Grants = "agent", []string{"urn:ietf:params:oauth:grant-type:jwt-bearer"}
	s := open(t, nil, append(opts, authserver.Clients(secret), authserver.Assertions(authserver.AssertionIssuer{Issuer: issuer, JWKS: issuer + "/jwks"}))...)
	now := time.Now()
	good := jwt.MapClaims{
		"iss": issuer, "sub": "U1", "aud": s.issuer, "client_id": "agent", "resource": s.resource, "scope": "notes:read notes:write",
		"iat": now.Unix(), "exp": now.Add(5 * time.Minute).Unix(), "jti": "1",
	}
	ask := func(assertion string, changes ...string) *answer {
		return s.token(append([]string{
			"grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer", "assertion", assertion, "client_id", "agent", "client_secret", "s3cret:& ",
		}, changes...)...)
	}
	typ := map[string]any{"typ": "oauth-id-jag+jwt"}
	es := jwt.SigningMethodES256
	first := signed(t, es, key, good, typ)
	a := ask(first, "scope", "notes:read")
	p, ok := s.admits(a.text(t, "access_token"))
	if !ok || p.Subject != "U1" || p.Claims["client_id"] != "agent" || len(p.Scopes) != 1 || a.text(t, "refresh_token") != "" {
		t.Fatalf("%d %s", a.status, a.body)
	}
	n := 1
	fresh := func(changes jwt.MapClaims) jwt.MapClaims {
		n++
		return changed(changed(good, jwt.MapClaims{"jti": strings.Repeat("x", n)}), changes)
	}
	for name, tt := range map[string]struct {
		assertion, want string
		changes         []string
	}{
		"used before":     {first, "invalid_grant", nil},
		"no typ":          {signed(t, es, key, fresh(nil), nil), "invalid_grant", nil},
		"access token":    {signed(t, es, key, fresh(nil), map[string]any{"typ": "at+jwt"}), "invalid_grant", nil},
		"foreign key":     {signed(t, es, evil, fresh(nil), typ), "invalid_grant", nil},
		"other issuer":    {signed(t, es, key, fresh(jwt.MapClaims{"iss": idp.URL()}), typ), "invalid_grant", nil},
		"other audience":  {signed(t, es, key, fresh(jwt.MapClaims{"aud": "https://other.example"}), typ), "invalid_grant", nil},
		"other client":    {signed(t, es, key, fresh(jwt.MapClaims{"client_id": "robot"}), typ), "invalid_grant", nil},
		"no client":       {signed(t, es, key, fresh(jwt.MapClaims{"client_id": nil}), typ), "invalid_grant", nil},
		"other resource":  {signed(t, es, key, fresh(jwt.MapClaims{"resource": "https://other.example"}), typ), "invalid_target", nil},
		"no resource":     {signed(t, es, key, fresh(jwt.MapClaims{"resource": nil}), typ), "invalid_target", nil},
		"resource asked":  {signed(t, es, key, fresh(nil), typ), "invalid_target", []string{"resource", "https://other.example"}},
		"expired":         {signed(t, es, key, fresh(jwt.MapClaims{"exp": now.Add(-time.Hour).Unix()}), typ), "invalid_grant", nil},
		"too old":         {signed(t, es, key, fresh(jwt.MapClaims{"iat": now.Add(-time.Hour).Unix()}), typ), "invalid_grant", nil},
		"of the future":   {signed(t, es, key, fresh(jwt.MapClaims{"iat": now.Add(time.Hour).Unix()}), typ), "invalid_grant", nil},
		"no id":           {signed(t, es, key, fresh(jwt.MapClaims{"jti": nil}), typ), "invalid_grant", nil},
		"no subject":      {signed(t, es, key, fresh(jwt.MapClaims{"sub": nil, "client_id": "agent"}), typ), "invalid_grant", nil},
		"scope":           {signed(t, es, key, fresh(jwt.MapClaims{"scope": "admin"}), typ), "invalid_scope", nil},
		"wrong secret":    {signed(t, es, key, fresh(nil), typ), "invalid_client", []string{"client_secret", "wrong"}},
		"not this client": {signed(t, es, key, fresh(jwt.MapClaims{"client_id": "human"}), typ), "unauthorized_client", []string{"client_id", "human"}},
		"garbage":         {"a.b.c", "invalid_grant", nil},
	} {
		if a := ask(tt.assertion, tt.changes...); a.status == http.StatusOK || a.text(t, "error") != tt.want {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
	}
	if n, err := s.server.Revoke(t.Context(), "U1", "agent"); n != 1 || err != nil {
		t.Errorf("%d %v", n, err)
	}
	if _, ok := s.admits(a.text(t, "access_token")); ok {
		t.Error("the token is taken after Revoke")
	}
}

// A user has at most 200 grants. One more ends the grant that ends first, so that Revoke finds all that
// live.
func TestGrants_OldestEnds(t *testing.T) {
	t.Parallel()
	key, web := newKey(t), &scripted{}
	web.documents = map[string][]byte{"/jwks": keySet(t, &key.PublicKey)}
	issuer := web.start(t)
	agent := secretClient("client_secret_post")
	agent.ID, agent.Grants = "agent", []string{"urn:ietf:params:oauth:grant-type:jwt-bearer"}
	s := open(t, nil, authserver.Clients(agent), authserver.Assertions(authserver.AssertionIssuer{Issuer: issuer, JWKS: issuer + "/jwks"}))
	grant := func(n int) string {
		assertion := signed(t, jwt.SigningMethodES256, key, jwt.MapClaims{
			"iss": issuer, "sub": "U1", "aud": s.issuer, "client_id": "agent", "resource": s.resource, "scope": "notes:read",
			"iat": time.Now().Unix(), "exp": time.Now().Add(time.Minute).Unix(), "jti": strconv.Itoa(n),
		}, map[string]any{"typ": "oauth-id-jag+jwt"})
		return s.token("grant_type", agent.Grants[0], "assertion", assertion, "client_id", "agent", "client_secret", "s3cret:& ").text(t, "access_token")
	}
	first, second := grant(0), grant(1)
	for n := range 198 {
		grant(2 + n)
	}
	if _, ok := s.admits(first); !ok {
		t.Error("the first of 200 grants has ended")
	}
	last := grant(200)
	for token, want := range map[string]bool{first: false, second: true, last: true} {
		if _, ok := s.admits(token); ok != want {
			t.Errorf("of 201 grants: taken %v, want %v", ok, want)
		}
	}
	if n, err := s.server.Revoke(t.Context(), "U1", ""); n != 200 || err != nil {
		t.Errorf("Revoke ended %d grants: %v", n, err)
	}
}

// forgetful is a store without room for used assertions.
type forgetful struct{ session.Store }

func (f forgetful) Create(ctx context.Context, r session.Record) error {
	if strings.HasPrefix(r.ID, "as:once:") {
		return session.ErrFull
	}
	return f.Store.Create(ctx, r)
}

// A full store says nothing about an assertion: the client can try again.
func TestAssertion_StoreIsFull(t *testing.T) {
	t.Parallel()
	key, opts := robots(t)
	issuer := (&scripted{documents: map[string][]byte{"/jwks": keySet(t, &key.PublicKey)}}).start(t)
	agent := secretClient("client_secret_post")
	agent.ID, agent.Grants = "agent", []string{"urn:ietf:params:oauth:grant-type:jwt-bearer"}
	s := open(t, nil, append(opts, authserver.Store(forgetful{memory.New().Sessions()}), authserver.Seal(make([]byte, 32)), authserver.Clients(agent),
		authserver.Assertions(authserver.AssertionIssuer{Issuer: issuer, JWKS: issuer + "/jwks"}))...)
	now := time.Now()
	assertion := signed(t, jwt.SigningMethodES256, key, jwt.MapClaims{
		"iss": issuer, "sub": "U1", "aud": s.issuer, "client_id": "agent", "resource": s.resource, "iat": now.Unix(), "exp": now.Add(time.Minute).Unix(), "jti": "1",
	}, map[string]any{"typ": "oauth-id-jag+jwt"})
	for name, a := range map[string]*answer{
		"of a client": s.post("/token", asserting(t, s.issuer, "robot", key)),
		"of a user":   s.token("grant_type", agent.Grants[0], "assertion", assertion, "client_id", "agent", "client_secret", "s3cret:& "),
	} {
		if a.status != http.StatusServiceUnavailable || a.text(t, "error") != "temporarily_unavailable" {
			t.Errorf("an assertion %s: %d %s", name, a.status, a.body)
		}
	}
}
