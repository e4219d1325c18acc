package authserver_test

import (
	"context"
	"crypto/ecdsa"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/kagami-mcp/kagami/middleware/authserver"
)

// keyHost is a Fetcher of one JWK Set.
type keyHost struct {
	mu      sync.Mutex // guards all below
	set     []byte     // nil: the host is away
	fetched int
	fresh   time.Duration
}

func (h *keyHost) Fetch(ctx context.Context, _ string) ([]byte, time.Duration, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.fetched++
	if err := ctx.Err(); err != nil {
		return nil, 0, err
	}
	if h.set == nil {
		return nil, 0, errors.New("away")
	}
	return h.set, h.fresh, nil
}

func (h *keyHost) serves(set []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.set = set
}

func (h *keyHost) fetches() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.fetched
}

var assertions atomic.Int64

// asserting is a token request of a client that signs with a key.
func asserting(t *testing.T, issuer, id string, key *ecdsa.PrivateKey) string {
	t.Helper()
	now := time.Now()
	assertion := signed(t, jwt.SigningMethodES256, key, jwt.MapClaims{
		"iss": id, "sub": id, "aud": issuer, "exp": now.Add(time.Minute).Unix(), "jti": fmt.Sprint(assertions.Add(1)),
	}, nil)
	return encoded([]string{
		"grant_type", "client_credentials",
		"client_assertion", assertion, "client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
	})
}

// The keys at a client's URL are kept. An assertion that they do not verify makes them be fetched
// again, at most once in 30 seconds; and a host that is away is forgiven for a day. An empty list withdraws all.
func TestClientKeys_Rotate(t *testing.T) {
	t.Parallel()
	old, next, evil := newKey(t), newKey(t), newKey(t)
	synctest.Test(t, func(t *testing.T) {
		const issuer = "https://as.example"
		host := &keyHost{set: keySet(t, &old.PublicKey), fresh: 24 * time.Hour}
		as, err := authserver.New(issuer, authserver.Own(noUsers{}), authserver.Documents(host), authserver.ClientCredentialsGrant(), authserver.Resource(issuer+"/mcp"),
			authserver.Clients(authserver.Client{ID: "robot", JWKSURI: "https://robot.example/jwks", Grants: []string{"client_credentials"}}))
		if err != nil {
			t.Fatal(err)
		}
		h := as.Handler()
		ask := func(name string, key *ecdsa.PrivateKey, want string, fetched int) {
			t.Helper()
			if got := served(t, h, "/token", asserting(t, issuer, "robot", key)); !strings.Contains(got, want) || host.fetches() != fetched {
				t.Errorf("%s: %s, after %d fetches", name, got, host.fetches())
			}
		}
		ask("first", old, "access_token", 1)
		ask("kept", old, "access_token", 1)
		for range 5 {
			ask("a wrong key at once", evil, "invalid_client", 1)
		}
		host.serves(keySet(t, &next.PublicKey))
		time.Sleep(31 * time.Second)
		ask("rotated", next, "access_token", 2)
		ask("the old key", old, "invalid_client", 2)
		host.serves(nil)
		time.Sleep(31 * time.Second)
		for range 5 {
			ask("a wrong key, and the host is away", evil, "invalid_client", 3)
		}
		ask("away", next, "access_token", 3)
		time.Sleep(25 * time.Hour)
		ask("away for a day", next, "temporarily_unavailable", 4)
		host.serves(keySet(t, &next.PublicKey))
		ask("a moment later", next, "temporarily_unavailable", 4)
		time.Sleep(31 * time.Second)
		ask("back", next, "access_token", 5)
		host.serves([]byte(`{"keys":[{}]}`))
		time.Sleep(31 * time.Second)
		ask("a wrong key, and a list of what is no key", evil, "invalid_client", 6)
		ask("no usable key", next, "access_token", 6)
		host.serves([]byte(`{"keys":[]}`))
		time.Sleep(31 * time.Second)
		ask("a wrong key, and all keys withdrawn", evil, "invalid_client", 7)
		ask("withdrawn", next, "invalid_client", 7)
	})
}

// A request that ends early does not use up the fetch that the next ones need.
func TestClientKeys_RequesterLeaves(t *testing.T) {
	t.Parallel()
	key, host := newKey(t), &keyHost{}
	host.serves(keySet(t, &key.PublicKey))
	s := open(t, nil, authserver.Documents(host), authserver.ClientCredentialsGrant(),
		authserver.Clients(authserver.Client{ID: "robot", JWKSURI: "https://robot.example/jwks", Grants: []string{"client_credentials"}}))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "/token", strings.NewReader(asserting(t, s.issuer, "robot", newKey(t))))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	s.server.Handler().ServeHTTP(nopWriter{http.Header{}}, r)
	if host.fetches() != 1 {
		t.Fatalf("%d fetches: the test means a request that fetches", host.fetches())
	}
	if a := s.post("/token", asserting(t, s.issuer, "robot", key)); a.status != http.StatusOK {
		t.Errorf("%d %s", a.status, a.body)
	}
}

type nopWriter struct{ header http.Header }

func (w nopWriter) Header() http.Header          { return w.header }
func (nopWriter) Write(text []byte) (int, error) { return len(text), nil }
func (nopWriter) WriteHeader(int)                {}

// Clients that register themselves, by a request or a document, may name a URL for their keys.
func TestClientKeys_Registration(t *testing.T) {
	t.Parallel()
	key := newKey(t)
	const document = "https://client.example/meta.json"
	metadata := func(more string) string {
		return `{"redirect_uris":["` + callback + `"],"token_endpoint_auth_method":"private_key_jwt"` + more + `}`
	}
	pages := &web{pages: map[string]string{
		document:                      metadata(`,"client_id":"` + document + `","jwks_uri":"https://client.example/keys"`),
		"https://client.example/keys": string(keySet(t, &key.PublicKey)),
		"https://client.example/big":  strings.Repeat(" ", 33<<10) + string(keySet(t, &key.PublicKey)),
		"https://client.example/text": "hello",
	}}
	s := open(t, nil, authserver.Documents(pages), authserver.Admission(authserver.Policy{Domains: []string{"client.example"}}))
	redeem := func(id string, key *ecdsa.PrivateKey) *answer {
		t.Helper()
		form := strings.Replace(asserting(t, s.issuer, id, key), "client_credentials", "authorization_code", 1)
		return s.post("/token", form+"&"+encoded([]string{"code", s.browser().code(s.ask(id), "ann"), "code_verifier", verifier, "redirect_uri", callback}))
	}
	for id, want := range map[string]string{
		document: "", s.register(metadata(`,"jwks_uri":"https://client.example/keys"`)): "",
		s.register(metadata(`,"jwks_uri":"https://client.example/big"`)):    "temporarily_unavailable",
		s.register(metadata(`,"jwks_uri":"https://client.example/text"`)):   "temporarily_unavailable",
		s.register(metadata(`,"jwks_uri":"https://client.example/absent"`)): "temporarily_unavailable",
	} {
		a := redeem(id, key)
		if a.text(t, "error") != want {
			t.Errorf("%s: %d %s", id, a.status, a.body)
		}
	}
	if a := redeem(document, newKey(t)); a.text(t, "error") != "invalid_client" {
		t.Errorf("another key: %s", a.body)
	}
	answered := s.post("/register", metadata(`,"jwks_uri":"https://client.example/keys"`))
	if answered.text(t, "jwks_uri") != "https://client.example/keys" {
		t.Errorf("%s", answered.body)
	}
	for _, more := range []string{
		``, `,"jwks_uri":"https://client.example/keys","jwks":` + string(keySet(t, &key.PublicKey)), `,"jwks_uri":"http://client.example/keys"`,
		`,"jwks_uri":"http://127.0.0.1/keys"`, `,"jwks_uri":"https://u@client.example/keys"`, `,"jwks_uri":"https://evil.example/keys"`, `,"jwks_uri":"/keys"`,
		`,"jwks_uri":"https://client.example/keys#x"`, `,"jwks_uri":"https://client.example/` + strings.Repeat("x", 3000) + `"`,
	} {
		if a := s.post("/register", metadata(more)); a.status != http.StatusBadRequest {
			t.Errorf("%.80s: %d %s", more, a.status, a.body)
		}
	}
}

// A client that registered itself cannot make this server read a private address; an operator can.
func TestClientKeys_Addresses(t *testing.T) {
	t.Parallel()
	key := newKey(t)
	at := (&scripted{documents: map[string][]byte{"/jwks": keySet(t, &key.PublicKey)}}).start(t)
	s := open(t, nil, authserver.ClientCredentialsGrant(),
		authserver.Clients(authserver.Client{ID: "robot", JWKSURI: at + "/jwks", Grants: []string{"client_credentials"}}))
	if a := s.post("/token", asserting(t, s.issuer, "robot", key)); a.status != http.StatusOK {
		t.Errorf("by hand: %d %s", a.status, a.body)
	}
	id := s.register(`{"redirect_uris":["` + callback + `"],"token_endpoint_auth_method":"private_key_jwt","jwks_uri":"` + strings.Replace(at, "http:", "https:", 1) + `/jwks"}`)
	a := s.post("/token", asserting(t, s.issuer, id, key))
	s.mu.Lock()
	events := fmt.Sprint(s.events)
	s.mu.Unlock()
	if a.status != http.StatusServiceUnavailable || !strings.Contains(events, "not public") {
		t.Errorf("registered: %d %s %s", a.status, a.body, events)
	}
	for _, wrong := range []authserver.Client{
		{ID: "x", JWKSURI: "http://robot.example/jwks"}, {ID: "x", JWKSURI: "https://robot.example/jwks", JWKS: keySet(t, &key.PublicKey)}, {ID: "x", JWKSURI: "jwks"},
	} {
		wrong.Grants = []string{"client_credentials"}
		if _, err := authserver.New("https://as.example", authserver.Own(noUsers{}), authserver.Clients(wrong)); err == nil || !strings.Contains(err.Error(), "JWKSURI") {
			t.Errorf("%s: %v", wrong.JWKSURI, err)
		}
	}
}
