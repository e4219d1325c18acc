package authserver_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/MicahParks/jwkset"
	"github.com/golang-jwt/jwt/v5"

	"github.com/kagami-mcp/kagami/middleware/authserver"
	"github.com/kagami-mcp/kagami/testkit"
	"github.com/kagami-mcp/kagami/transport"
)

// provider is an identity provider without refresh tokens that a test can change. Its keys are from
// an issuer of the testkit.
type provider struct {
	url  string
	keys *testkit.Issuer
	sign func(claims map[string]any) string // of ID tokens; set before the first request

	mu     sync.Mutex // guards the fields below
	nonce  string
	claims map[string]any // further claims of ID tokens
	meta   map[string]any // further members of its metadata
	tokens map[string]any // further members of its token answers
	life   float64        // lifetime of its tokens, in seconds
	user   int            // status of its answers to requests for the user
	spaces int            // number of spaces in its metadata
}

func newProvider(t *testing.T) *provider {
	t.Helper()
	p := &provider{keys: testkit.IdP(t), life: 3600, user: http.StatusOK}
	p.sign = p.keys.Sign
	mux := http.NewServeMux()
	web := httptest.NewServer(mux)
	t.Cleanup(web.Close)
	p.url = web.URL
	answer := func(pattern string, document func(r *http.Request) (status int, members map[string]any)) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			p.mu.Lock()
			status, members := document(r)
			p.mu.Unlock()
			text, err := json.Marshal(members)
			if err != nil {
				t.Error(err)
			}
			w.WriteHeader(status)
			_, _ = w.Write(text)
		})
	}
	answer("GET /.well-known/openid-configuration", func(*http.Request) (int, map[string]any) {
		meta := map[string]any{
			"issuer": p.url, "authorization_endpoint": p.url + "/authorize", "token_endpoint": p.url + "/token",
			"jwks_uri": p.keys.JWKS(), "userinfo_endpoint": p.url + "/user", "spaces": strings.Repeat(" ", p.spaces),
		}
		maps.Copy(meta, p.meta)
		return http.StatusOK, meta
	})
	answer("POST /token", func(*http.Request) (int, map[string]any) {
		claims := map[string]any{"iss": p.url, "sub": "ann", "aud": "shop", "nonce": p.nonce, "exp": time.Now().Add(time.Minute).Unix()}
		maps.Copy(claims, p.claims)
		tokens := map[string]any{"access_token": "upstream", "token_type": "Bearer", "expires_in": p.life, "id_token": p.sign(claims)}
		maps.Copy(tokens, p.tokens)
		return http.StatusOK, tokens
	})
	answer("GET /user", func(r *http.Request) (int, map[string]any) {
		if r.Header.Get("Authorization") != "Bearer upstream" {
			t.Errorf("asked about the user with %q", r.Header.Get("Authorization"))
		}
		return p.user, map[string]any{"sub": "ann"}
	})
	mux.HandleFunc("GET /authorize", func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		p.change(func() { p.nonce = q.Get("nonce") })
		http.Redirect(w, r, q.Get("redirect_uri")+"?code=c&state="+q.Get("state"), http.StatusFound)
	})
	return p
}

func (p *provider) change(fn func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fn()
}

// site opens a site that uses the provider and asks it before each call.
func (p *provider) site(t *testing.T) *site {
	t.Helper()
	return open(t, authserver.Broker(authserver.Provider{Issuer: p.url, ClientID: "shop", ClientSecret: "secret"}, authserver.Vouch(0)))
}

// status returns the status of the guard's refusal of a token, or 200.
func (s *site) status(token string) int {
	s.t.Helper()
	_, err := s.guard.Authenticate(s.t.Context(), http.Header{"Authorization": {"Bearer " + token}})
	if err == nil {
		return http.StatusOK
	}
	refused, ok := errors.AsType[*transport.AuthError](err)
	if !ok {
		s.t.Fatal(err)
	}
	return refused.Status
}

// An ID token logs a user in if it was issued to this client.
func TestBroker_AuthorizedParty(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	s := p.site(t)
	id := s.register(plainClient)
	for name, tt := range map[string]struct {
		claims map[string]any
		in     bool
	}{
		"no azp":        {nil, true},
		"this client":   {map[string]any{"aud": []string{"shop", "another"}, "azp": "shop"}, true},
		"another":       {map[string]any{"aud": []string{"shop", "another"}, "azp": "another"}, false},
		"another alone": {map[string]any{"azp": "another"}, false},
	} {
		p.change(func() { p.claims = tt.claims })
		b := s.browser()
		if a := b.do(http.MethodGet, b.arrive(id).to.String(), nil); (a.to != nil) != tt.in {
			t.Errorf("%s: %d %v %s", name, a.status, a.to, a.body)
		}
	}
}

// An ID token may have any signature of a published key: a realm of Keycloak has the algorithm that its
// operator has chosen.
func TestBroker_SignatureOfIDTokens(t *testing.T) {
	t.Parallel()
	ec, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	for method, key := range map[jwt.SigningMethod]crypto.Signer{jwt.SigningMethodES384: ec, jwt.SigningMethodRS512: rsaKey, jwt.SigningMethodPS384: rsaKey} {
		jwk, err := jwkset.NewJWKFromKey(key.Public(), jwkset.JWKOptions{Metadata: jwkset.JWKMetadataOptions{KID: "k"}})
		if err != nil {
			t.Fatal(err)
		}
		set := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_ = json.NewEncoder(w).Encode(jwkset.JWKSMarshal{Keys: []jwkset.JWKMarshal{jwk.Marshal()}})
		}))
		p := newProvider(t)
		p.meta = map[string]any{"jwks_uri": set.URL}
		p.sign = func(claims map[string]any) string {
			token := jwt.NewWithClaims(method, jwt.MapClaims(claims))
			token.Header["kid"] = "k"
			text, err := token.SignedString(key)
			if err != nil {
				t.Error(err)
			}
			return text
		}
		s := p.site(t)
		b := s.browser()
		if a := b.do(http.MethodGet, b.arrive(s.register(plainClient)).to.String(), nil); a.to == nil {
			t.Errorf("%s: %d %s %v", method.Alg(), a.status, a.body, s.events)
		}
		set.Close()
	}
}

// A provider may write optional members of its token answers in other types. The token is usable.
func TestBroker_OddTokenAnswers(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	s := p.site(t)
	id := s.register(plainClient)
	for name, tokens := range map[string]map[string]any{
		"no number":    {"expires_in": ""},
		"a duration":   {"expires_in": "1h"},
		"never":        {"expires_in": false},
		"no refresh":   {"refresh_token": false},
		"no error":     {"error": false},
		"scope number": {"scope": 7},
	} {
		p.change(func() { p.tokens = tokens })
		b := s.browser()
		if a := b.do(http.MethodGet, b.arrive(id).to.String(), nil); a.to == nil {
			t.Errorf("%s: %d %s %v", name, a.status, a.body, s.events)
		}
	}
}

// The metadata of a provider must not lead from https to http, where the client secret and the tokens
// could be read.
func TestBroker_MetadataWithoutTLS(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"authorization_endpoint", "token_endpoint", "revocation_endpoint", "userinfo_endpoint"} {
		for _, address := range []string{"http://id.example.com/x", "javascript:alert(1)//x", "/x"} {
			p := newProvider(t)
			p.meta = map[string]any{name: address}
			s := p.site(t)
			a := s.browser().do(http.MethodGet, s.ask(s.register(plainClient)), nil)
			if a.status != http.StatusServiceUnavailable || a.to != nil {
				t.Errorf("%s at %s: %d %v", name, address, a.status, a.to)
			}
		}
	}
}

// Metadata that names another issuer could lead to another provider, which would get the code and the
// client secret.
func TestBroker_MetadataOfAnotherIssuer(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	p.meta = map[string]any{"issuer": "https://id.example.com"}
	s := p.site(t)
	if a := s.browser().do(http.MethodGet, s.ask(s.register(plainClient)), nil); a.status != http.StatusServiceUnavailable || a.to != nil {
		t.Errorf("%d %v", a.status, a.to)
	}
}

// Without refresh tokens, the provider's answer about the user decides until the provider's token
// expires.
func TestBroker_UserInfo(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		life       float64
		user, want int
	}{
		"known":       {3600, http.StatusOK, http.StatusOK},
		"no life set": {0, http.StatusOK, http.StatusOK},
		"removed":     {3600, http.StatusUnauthorized, http.StatusUnauthorized},
		"forbidden":   {3600, http.StatusForbidden, http.StatusUnauthorized},
		"away":        {3600, http.StatusInternalServerError, http.StatusServiceUnavailable},
		"no endpoint": {3600, http.StatusNotFound, http.StatusServiceUnavailable},
		"expired":     {0.1, http.StatusOK, http.StatusUnauthorized},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProvider(t)
			p.life, p.user = tt.life, tt.user
			s := p.site(t)
			access, _ := s.browser().enter(s.register(plainClient))
			if got := s.status(access); got != tt.want {
				t.Errorf("the guard answers %d", got)
			}
		})
	}
}

// A provider may refuse a refresh token or a code in a format of its own. The user then has to log in
// again. Anything that may be of a proxy, or blame this program, ends nothing.
func TestBroker_RefusalsOfTheirOwn(t *testing.T) {
	t.Parallel()
	for refusal, final := range map[string]bool{
		`400 {"error":"Bad Request","status":400,"message":"Invalid refresh token"}`:      true, // Twitch
		`400 {"error":{"message":"expired","type":"OAuthException","code":190}}`:          true, // Facebook
		`401 {"status":"BAD_REFRESH_TOKEN"}`:                                              true,
		`200 {"ok":false,"error":"invalid_refresh_token"}`:                                true,  // Slack
		`200 {"error":"invalid_code"}`:                                                    true,  // Zoho
		`400 {"status":"BAD_CLIENT_SECRET","message":"missing or unknown client secret"}`: false, // HubSpot
		`400 {"error":{"message":"(#4) Application request limit reached","code":4}}`:     false, // Facebook
		`400 {"error":"redirect_uri_mismatch"}`:                                           false,
		`400 <html>`:                                                                      false,
		`403 {"message":"blocked"}`:                                                       false,
		`404 {"message":"no such page"}`:                                                  false,
		`429 {"message":"slow down"}`:                                                     false,
		`200 {"ok":false,"error":"internal_error"}`:                                       false,
		`401 {"error":"invalid_client"}`:                                                  false,
		`400 {"error":"invalid_request"}`:                                                 false,
		`400 {"error":"temporarily_unavailable"}`:                                         false,
	} {
		hub := &gitHub{}
		s := open(t, authserver.Broker(hub.start(t), authserver.Vouch(0)))
		id := s.register(plainClient)
		access, _ := s.browser().enter(id)
		hub.answers(refusal)
		want, ended := http.StatusServiceUnavailable, 0
		if final {
			want, ended = http.StatusUnauthorized, 1
			b := s.browser()
			if a := b.do(http.MethodGet, b.arrive(id).to.String(), nil); a.status != http.StatusForbidden || a.to != nil {
				t.Errorf("%s at the callback: %d %v", refusal, a.status, a.to)
			}
		}
		if got := s.status(access); got != want || s.happened(authserver.UpstreamEnded) != ended {
			t.Errorf("%s: the guard answers %d, want %d", refusal, got, want)
		}
	}
}

// Metadata larger than a megabyte is not read completely.
func TestBroker_LongMetadata(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	p.spaces = 2 << 20
	s := p.site(t)
	if a := s.browser().do(http.MethodGet, s.ask(s.register(plainClient)), nil); a.status != http.StatusServiceUnavailable {
		t.Errorf("%d %s", a.status, a.body)
	}
}
