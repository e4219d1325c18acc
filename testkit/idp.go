package testkit

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Issuer is a local authorization server. An Issuer is safe for concurrent use.
//
// For resource servers, it publishes its metadata (RFC 8414, and as in OpenID Connect) and its
// keys, and introspects its tokens (RFC 7662). Tokens are signed with ES256. For clients, it
// registers them (RFC 7591), logs in a user who agrees to everything, and issues, renews and
// revokes tokens. [Issuer.Fault] makes it do that incorrectly.
type Issuer struct {
	t      testing.TB
	url    string
	secret string

	mu      sync.Mutex                // guards all below
	keys    []signer                  // published; the last one signs
	issued  map[string]map[string]any // claims of tokens that were not revoked
	down    bool
	fetches int
	logins  logins
}

// signer is a key with its kid.
type signer struct {
	id  string
	key *ecdsa.PrivateKey
}

// IdP starts an Issuer on a port of its own. It ends with the test.
func IdP(t testing.TB) *Issuer { //nolint:revive // "identity provider" has one capital
	t.Helper()
	l, err := loopback(t.Context())
	if err != nil {
		t.Fatalf("testkit: starting an issuer: %v", err)
		return nil
	}
	i := &Issuer{t: t, url: "http://" + l.Addr().String(), secret: rand.Text(), issued: make(map[string]map[string]any), logins: newLogins()}
	i.Rotate()
	i.serve(l)
	return i
}

func (i *Issuer) serve(l net.Listener) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/oauth-authorization-server", i.answer(i.metadata))
	mux.HandleFunc("GET /.well-known/openid-configuration", i.answer(i.metadata))
	mux.HandleFunc("GET /jwks", i.answer(i.jwks))
	mux.HandleFunc("POST /introspect", i.introspect)
	i.handleLogins(mux)
	s := &http.Server{Handler: mux, ReadHeaderTimeout: defaultTimeout}
	s.SetKeepAlivesEnabled(false) // so that no client keeps a connection when the test ends
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = s.Serve(l) // ends with Shutdown
	}()
	i.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(i.t.Context()), defaultTimeout)
		defer cancel()
		if err := s.Shutdown(ctx); err != nil {
			i.t.Errorf("testkit: the issuer does not shut down: %v", err)
		}
		<-served
	})
}

// answer returns a handler for a public document.
func (i *Issuer) answer(document func() map[string]any) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if i.isDown() {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		reply(w, document())
	}
}

func reply(w http.ResponseWriter, document map[string]any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(document) // a client that is gone does not matter
}

func (i *Issuer) isDown() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.down
}

func (i *Issuer) metadata() map[string]any {
	document := map[string]any{
		"issuer": i.url, "jwks_uri": i.url + "/jwks", "introspection_endpoint": i.url + "/introspect",
		"response_types_supported": []string{"code"},
	}
	i.loginMetadata(document)
	return document
}

func (i *Issuer) jwks() map[string]any {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.fetches++
	list := []map[string]string{}
	for _, k := range i.keys {
		public, err := k.key.PublicKey.Bytes() // 4, x, y
		if err != nil {
			continue // cannot happen with P-256
		}
		list = append(list, map[string]string{
			"kty": "EC", "crv": "P-256", "use": "sig", "alg": "ES256", "kid": k.id,
			"x": base64.RawURLEncoding.EncodeToString(public[1:33]), "y": base64.RawURLEncoding.EncodeToString(public[33:]),
		})
	}
	return map[string]any{"keys": list}
}

// introspect answers introspection requests that have the client credentials.
func (i *Issuer) introspect(w http.ResponseWriter, r *http.Request) {
	id, secret, _ := r.BasicAuth()
	switch {
	case i.isDown():
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	case id != "resource" || secret != i.secret:
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	i.mu.Lock()
	claims := maps.Clone(i.issued[r.PostFormValue("token")])
	i.mu.Unlock()
	if claims == nil || expired(claims) {
		claims = map[string]any{"active": false}
	} else {
		claims["active"] = true
	}
	reply(w, claims)
}

// expired reports whether the claim "exp" is a number in the past. Sign takes a number of any type.
func expired(claims map[string]any) bool {
	text, err := json.Marshal(claims["exp"])
	if err != nil {
		return false
	}
	seconds, err := strconv.ParseFloat(string(text), 64)
	return err == nil && float64(time.Now().Unix()) >= seconds
}

// URL returns the URL of the issuer. It is the "iss" of its tokens, and its metadata is below it.
func (i *Issuer) URL() string { return i.url }

// JWKS returns the URL of the keys.
func (i *Issuer) JWKS() string { return i.url + "/jwks" }

// Introspection returns the endpoint that introspects tokens (RFC 7662), and the
// credentials for it.
func (i *Issuer) Introspection() (endpoint, clientID, clientSecret string) {
	return i.url + "/introspect", "resource", i.secret
}

// Token signs a token that is valid for ttl from now on, rounded up to whole seconds. If ttl is
// negative, the token has already expired. Use -time.Minute or less for that, because servers may
// accept a token for some time after it has expired, such as the 30 s of auth.JWT. The server must
// refuse a token for an audience other than its own.
func (i *Issuer) Token(subject, audience string, ttl time.Duration, scopes ...string) string {
	now := time.Now()
	expires := now.Add(ttl)
	if ttl > 0 {
		expires = expires.Add(time.Second - 1)
	}
	return i.Sign(map[string]any{
		"iss": i.url, "sub": subject, "aud": audience, "scope": strings.Join(scopes, " "),
		"iat": now.Unix(), "exp": expires.Unix(), "jti": rand.Text(),
	})
}

// Sign signs exactly these claims, for tokens with missing or wrong claims.
func (i *Issuer) Sign(claims map[string]any) string {
	i.t.Helper()
	token := i.sign("at+jwt", claims)
	i.mu.Lock()
	defer i.mu.Unlock()
	i.issued[token] = maps.Clone(claims)
	return token
}

func (i *Issuer) sign(typ string, claims map[string]any) string {
	i.t.Helper()
	i.mu.Lock()
	k := i.keys[len(i.keys)-1]
	i.mu.Unlock()
	token, err := signed(k.key, map[string]any{"alg": "ES256", "typ": typ, "kid": k.id}, claims)
	if err != nil {
		i.t.Fatalf("testkit: signing a token: %v", err)
	}
	return token
}

// signed returns a JWS (RFC 7515) with ES256. The signature is r and s, 32 bytes each.
func signed(key *ecdsa.PrivateKey, header, claims map[string]any) (string, error) {
	parts := make([]string, 2)
	for n, part := range []map[string]any{header, claims} {
		text, err := json.Marshal(part)
		if err != nil {
			return "", err
		}
		parts[n] = base64.RawURLEncoding.EncodeToString(text)
	}
	text := strings.Join(parts, ".")
	sum := sha256.Sum256([]byte(text))
	r, s, err := ecdsa.Sign(rand.Reader, key, sum[:])
	if err != nil {
		return "", err
	}
	raw := make([]byte, 64)
	r.FillBytes(raw[:32])
	s.FillBytes(raw[32:])
	return text + "." + base64.RawURLEncoding.EncodeToString(raw), nil
}

// Rotate makes a new key, which signs from now on. Tokens of the earlier ones stay
// valid until Withdraw.
func (i *Issuer) Rotate() {
	i.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		i.t.Fatalf("testkit: making a key: %v", err)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.keys = append(i.keys, signer{rand.Text(), key})
}

// Withdraw publishes only the newest key. Servers that verify tokens by the keys then refuse the
// tokens of earlier keys. Introspection still accepts them, until [Issuer.Revoke].
func (i *Issuer) Withdraw() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.keys = i.keys[len(i.keys)-1:]
}

// Revoke revokes a token. Only introspection shows that it is revoked.
func (i *Issuer) Revoke(token string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.issued, token)
}

// Down makes the issuer answer 503, or answer again.
func (i *Issuer) Down(down bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.down = down
}

// Fetches returns how often the keys were fetched.
func (i *Issuer) Fetches() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.fetches
}
