package authserver_test

import (
	"bytes"
	"context"
	"crypto"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/kagami-mcp/kagami/framework/store/memory"
	"github.com/kagami-mcp/kagami/middleware/auth"
	"github.com/kagami-mcp/kagami/middleware/authserver"
	"github.com/kagami-mcp/kagami/protocol/client"
	"github.com/kagami-mcp/kagami/protocol/client/oauth"
	"github.com/kagami-mcp/kagami/protocol/session"
	"github.com/kagami-mcp/kagami/testkit"
	"github.com/kagami-mcp/kagami/transport"
)

// scripted serves documents.
type scripted struct{ documents map[string][]byte }

func (s *scripted) start(t *testing.T) string {
	t.Helper()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(s.documents[r.URL.Path])
	}))
	web.Config.SetKeepAlivesEnabled(false)
	t.Cleanup(web.Close)
	return web.URL
}

// The guard takes tokens of this server for its own resource, and nothing else.
func TestGuard_ProviderTokenIsRefused(t *testing.T) {
	t.Parallel()
	s := open(t, nil, authserver.Resource("https://other.example/mcp"))
	id := s.register(plainClient)
	access, refresh := s.grant(id, "ann")
	code := s.browser().code(s.ask(id, "resource", "https://other.example/mcp"), "ann")
	elsewhere := s.redeem(id, code, "resource", "https://other.example/mcp").text(t, "access_token")
	parts := strings.Split(access, ".")
	key := newKey(t)
	claims := jwt.MapClaims{}
	if _, _, err := jwt.NewParser().ParseUnverified(access, claims); err != nil {
		t.Fatal(err)
	}
	for name, token := range map[string]string{
		"other resource": elsewhere, "refresh token": refresh, "code": code, "client id": id,
		"changed":     parts[0] + "." + parts[1][:10] + "A" + parts[1][11:] + "." + parts[2],
		"unsigned":    parts[0] + "." + parts[1] + ".",
		"none":        signed(t, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, claims, map[string]any{"typ": "at+jwt"}),
		"foreign key": signed(t, jwt.SigningMethodES256, key, claims, map[string]any{"typ": "at+jwt"}),
	} {
		if _, ok := s.admits(token); ok {
			t.Errorf("%s is taken", name)
		}
	}
	if p, ok := s.admits(access); !ok || !p.Has("notes:read") {
		t.Error("the token is not taken")
	}
	verified, err := s.server.Verifier("https://other.example/mcp").Verify(t.Context(), elsewhere)
	if err != nil || verified.Subject != "ann" {
		t.Errorf("%v %v", verified, err)
	}
}

// What one process ends, others refuse 5 seconds later; and they agree on the keys.
func TestGuard_TwoProcesses(t *testing.T) {
	t.Parallel()
	store, key := memory.New().Sessions(), bytes.Repeat([]byte{7}, 32)
	opts := []authserver.Option{authserver.Store(store), authserver.Seal(key)}
	s := open(t, nil, opts...)
	twin, err := authserver.New(s.issuer, authserver.Own(authserver.DevLogin(ann())), append(opts, noteScopes())...)
	if err != nil {
		t.Fatal(err)
	}
	guard := twin.Guard(s.resource, auth.Require("notes:read"))
	access, _ := s.grant(s.register(plainClient), "ann")
	header := http.Header{"Authorization": {"Bearer " + access}}
	if _, err := guard.Authenticate(t.Context(), header); err != nil {
		t.Fatal(err)
	}
	if _, err := s.server.Revoke(t.Context(), "ann", ""); err != nil {
		t.Fatal(err)
	}
	for began := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		if _, err := guard.Authenticate(t.Context(), header); err != nil {
			break
		}
		if time.Since(began) > 7*time.Second {
			t.Fatal("the other process takes the token after 7 s")
		}
	}
	if _, err := authserver.New(s.issuer, authserver.Own(authserver.DevLogin(ann())), authserver.Store(store)); err == nil {
		t.Error("a store without Seal")
	}
}

// Keys change while tokens go on: a new key is published a day before it signs, and an old one until its
// last token has expired.
func TestKeys_Rotate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, err := authserver.New("https://as.example", authserver.Own(noUsers{}), authserver.KeysFrom(authserver.Rotating(72*time.Hour)),
			authserver.Clients(robotWithSecret()), authserver.ClientCredentialsGrant(), authserver.Resource("https://r.example"))
		if err != nil {
			t.Fatal(err)
		}
		h, v := s.Handler(), s.Verifier("https://r.example")
		names := map[string]int{}
		published := ""
		for hour := range 24 * 9 {
			before := published
			now := keyNames(t, h)
			published = strings.Join(now, " ")
			token := (&answer{body: served(t, h, "/token", encoded([]string{"grant_type", "client_credentials", "client_id", "conf:1", "client_secret", "s3cret:& "}))}).text(t, "access_token")
			kid := headerOf(t, token)["kid"].(string)
			if _, known := names[kid]; !known && len(names) > 0 && !strings.Contains(before, kid) {
				t.Fatalf("hour %d: the key %s signs and was not published before", hour, kid)
			}
			if _, err := v.Verify(t.Context(), token); err != nil {
				t.Fatalf("hour %d: %v", hour, err)
			}
			if len(now) < 1 || len(now) > 3 {
				t.Fatalf("hour %d: %d keys", hour, len(now))
			}
			names[kid]++
			time.Sleep(time.Hour)
		}
		if len(names) != 3 {
			t.Errorf("%v in nine days", names)
		}
	})
}

// A clock that was far ahead leaves only keys for later. After it was corrected, the server makes a
// key for now.
func TestKeys_ClockAhead(t *testing.T) {
	t.Parallel()
	store := memory.New().Sessions()
	sign := func(t *testing.T) {
		t.Helper()
		s, err := authserver.New("https://as.example", authserver.Own(noUsers{}), authserver.Store(store), authserver.Seal(bytes.Repeat([]byte{1}, 32)),
			authserver.Clients(robotWithSecret()), authserver.ClientCredentialsGrant(), authserver.Resource("https://r.example"))
		if err != nil {
			t.Fatal(err)
		}
		body := served(t, s.Handler(), "/token", encoded([]string{"grant_type", "client_credentials", "client_id", "conf:1", "client_secret", "s3cret:& "}))
		token := (&answer{body: body}).text(t, "access_token")
		if _, err := s.Verifier("https://r.example").Verify(t.Context(), token); err != nil {
			t.Errorf("at %v: %v", time.Now(), err)
		}
	}
	for _, ahead := range []time.Duration{60 * 24 * time.Hour, 0, 15 * 24 * time.Hour} { // each bubble begins at the same time
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(ahead)
			sign(t)
		})
	}
}

// ReplaceKeys ends the tokens of all keys, here at once and in a process that only verifies within a
// minute. Tokens by a refresh are taken at once.
func TestKeys_Replace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := memory.New().Sessions()
		made := func() *authserver.Server {
			s, err := authserver.New("https://as.example", authserver.Own(noUsers{}), authserver.Store(store), authserver.Seal(bytes.Repeat([]byte{1}, 32)),
				authserver.Clients(robotWithSecret()), authserver.ClientCredentialsGrant(), authserver.Resource("https://r.example"))
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		s, twin := made(), made()
		here, there := s.Verifier("https://r.example"), twin.Verifier("https://r.example")
		token := func() string {
			return (&answer{body: served(t, s.Handler(), "/token", encoded([]string{"grant_type", "client_credentials", "client_id", "conf:1", "client_secret", "s3cret:& "}))}).text(t, "access_token")
		}
		taken := func(v auth.Verifier, token string) bool {
			_, err := v.Verify(t.Context(), token)
			return err == nil
		}
		old := token()
		if !taken(here, old) || !taken(there, old) {
			t.Fatal("the first token is not taken")
		}
		time.Sleep(time.Second)
		if err := s.ReplaceKeys(t.Context()); err != nil {
			t.Fatal(err)
		}
		fresh := token()
		if taken(here, old) || !taken(here, fresh) {
			t.Errorf("here: the old token %t, a new one %t", taken(here, old), taken(here, fresh))
		}
		if !taken(there, fresh) {
			t.Error("the other process refuses a new token")
		}
		time.Sleep(65 * time.Second)
		if taken(there, old) || !taken(there, fresh) {
			t.Errorf("in the other process: the old token %t, a new one %t", taken(there, old), taken(there, fresh))
		}
		if names := keyNames(t, twin.Handler()); len(names) != 1 || names[0] != headerOf(t, fresh)["kid"] {
			t.Errorf("published: %v", names)
		}
		time.Sleep(30 * 24 * time.Hour) // Rotating goes on
		if later := token(); !taken(here, later) || headerOf(t, later)["kid"] == headerOf(t, fresh)["kid"] {
			t.Error("no new key after its time")
		}
	})
	fixed, err := authserver.New("https://as.example", authserver.Own(noUsers{}), authserver.KeysFrom(authserver.SigningKeys(newKey(t))))
	if err != nil {
		t.Fatal(err)
	}
	if err := fixed.ReplaceKeys(t.Context()); err == nil || !strings.Contains(err.Error(), "Rotating") {
		t.Errorf("keys of the program: %v", err)
	}
}

func keyNames(t *testing.T, h http.Handler) (names []string) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/jwks", nil))
	var set struct {
		Keys []struct {
			ID      string `json:"kid"`
			Private string `json:"d"`
		} `json:"keys"`
	}
	if err := json.Unmarshal(w.Body.Bytes(), &set); err != nil {
		t.Fatal(err)
	}
	for _, k := range set.Keys {
		if k.Private != "" {
			t.Error("a private key is published")
		}
		names = append(names, k.ID)
	}
	return names
}

func headerOf(t *testing.T, token string) map[string]any {
	t.Helper()
	text, err := base64.RawURLEncoding.DecodeString(strings.Split(token, ".")[0])
	var h map[string]any
	if err == nil {
		err = json.Unmarshal(text, &h)
	}
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func robotWithSecret() authserver.Client {
	c := secretClient("client_secret_post")
	c.Grants = []string{"client_credentials"}
	return c
}

// With RequireDPoP a token is worth nothing without its key.
func TestDPoP(t *testing.T) {
	t.Parallel()
	s := open(t, nil, authserver.RequireDPoP())
	id, key := s.register(plainClient), newKey(t)
	code := s.browser().code(s.ask(id), "ann")
	form := encoded([]string{"grant_type", "authorization_code", "client_id", id, "code", code, "code_verifier", verifier, "redirect_uri", callback})
	if a := s.post("/token", form); a.text(t, "error") != "invalid_dpop_proof" {
		t.Fatalf("without a proof: %s", a.body)
	}
	if a := s.post("/token", form, "DPoP", proof(t, key, "GET", s.issuer+"/token", "")); a.text(t, "error") != "invalid_dpop_proof" {
		t.Errorf("for another method: %s", a.body)
	}
	if a := s.post("/token", form, "DPoP", proof(t, key, "POST", s.issuer+"/authorize", "")); a.text(t, "error") != "invalid_dpop_proof" {
		t.Errorf("for another URL: %s", a.body)
	}
	a := s.post("/token", form, "DPoP", proof(t, key, "POST", s.issuer+"/token", ""))
	access, refresh := a.text(t, "access_token"), a.text(t, "refresh_token")
	if a.text(t, "token_type") != "DPoP" || access == "" {
		t.Fatalf("%s", a.body)
	}
	ctx := transport.WithTarget(t.Context(), transport.Target{Method: "POST", URL: "/mcp"})
	for name, tt := range map[string]struct {
		header http.Header
		taken  bool
	}{
		"right":       {http.Header{"Authorization": {"DPoP " + access}, "Dpop": {proof(t, key, "POST", s.resource, access)}}, true},
		"other key":   {http.Header{"Authorization": {"DPoP " + access}, "Dpop": {proof(t, newKey(t), "POST", s.resource, access)}}, false},
		"other token": {http.Header{"Authorization": {"DPoP " + access}, "Dpop": {proof(t, key, "POST", s.resource, "x")}}, false},
		"bearer":      {http.Header{"Authorization": {"Bearer " + access}}, false},
	} {
		if _, err := s.guard.Authenticate(ctx, tt.header); err == nil != tt.taken {
			t.Errorf("%s: %v", name, err)
		}
	}
	again := encoded([]string{"grant_type", "refresh_token", "client_id", id, "refresh_token", refresh})
	if a := s.post("/token", again, "DPoP", proof(t, newKey(t), "POST", s.issuer+"/token", "")); a.text(t, "error") != "invalid_grant" {
		t.Errorf("a refresh with another key: %s", a.body)
	}
	if a := s.post("/token", again, "DPoP", proof(t, key, "POST", s.issuer+"/token", "")); a.status != http.StatusOK {
		t.Errorf("%s", a.body)
	}
}

// The refresh token of a confidential client is bound to the client and not to a key, so a client
// that has lost its key goes on with another one (RFC 9449 §5).
func TestDPoP_ConfidentialClientChangesItsKey(t *testing.T) {
	t.Parallel()
	s := open(t, nil, authserver.RequireDPoP(), authserver.Clients(secretClient("client_secret_post")))
	ctx := transport.WithTarget(t.Context(), transport.Target{Method: "POST", URL: "/mcp"})
	taken := func(access string, key crypto.Signer) bool {
		_, err := s.guard.Authenticate(ctx, http.Header{"Authorization": {"DPoP " + access}, "Dpop": {proof(t, key, "POST", s.resource, access)}})
		return err == nil
	}
	ask := func(key crypto.Signer, form ...string) *answer {
		form = append(form, "client_id", "conf:1", "client_secret", "s3cret:& ")
		return s.post("/token", encoded(form), "DPoP", proof(t, key, "POST", s.issuer+"/token", ""))
	}
	old, next, third := newKey(t), newKey(t), newKey(t)
	code := s.browser().code(s.ask("conf:1"), "ann")
	first := ask(old, "grant_type", "authorization_code", "code", code, "code_verifier", verifier, "redirect_uri", callback)
	token := first.text(t, "refresh_token")
	second := ask(next, "grant_type", "refresh_token", "refresh_token", token)
	again := ask(third, "grant_type", "refresh_token", "refresh_token", token) // within Grace
	same := ask(next, "grant_type", "refresh_token", "refresh_token", token)
	access := func(a *answer) string { return a.text(t, "access_token") }
	if !taken(access(first), old) || !taken(access(second), next) || taken(access(second), old) || !taken(access(again), third) || same.body != second.body {
		t.Errorf("%s\n%s\n%s\n%s", first.body, second.body, again.body, same.body)
	}
	if again.text(t, "refresh_token") != second.text(t, "refresh_token") {
		t.Errorf("two refresh tokens: %s, %s", second.body, again.body)
	}
	last := ask(old, "grant_type", "refresh_token", "refresh_token", second.text(t, "refresh_token"))
	if last.text(t, "token_type") != "DPoP" || !taken(access(last), old) {
		t.Errorf("%s", last.body)
	}
}

// With DPoPNonces the token endpoint and the guard require a nonce, and name it: in the refusal and in
// successful answers. A proof without one does not use up the code.
func TestDPoPNonces(t *testing.T) {
	t.Parallel()
	s := open(t, nil, authserver.RequireDPoP(), authserver.DPoPNonces(bytes.Repeat([]byte{3}, 32)))
	id, key := s.register(plainClient), newKey(t)
	code := s.browser().code(s.ask(id), "ann")
	form := encoded([]string{"grant_type", "authorization_code", "client_id", id, "code", code, "code_verifier", verifier, "redirect_uri", callback})
	a := s.post("/token", form, "DPoP", proof(t, key, "POST", s.issuer+"/token", ""))
	nonce := a.header.Get("DPoP-Nonce")
	if a.status != http.StatusBadRequest || a.text(t, "error") != "use_dpop_nonce" || nonce == "" {
		t.Fatalf("without a nonce: %d %s %v", a.status, a.body, a.header)
	}
	if !strings.Contains(a.header.Get("Access-Control-Expose-Headers"), "DPoP-Nonce") {
		t.Error("a page of another origin cannot read the nonce")
	}
	for name, wrong := range map[string]string{"forged": nonce[:len(nonce)-4] + "AAAA", "of others": "nonce"} {
		if a := s.post("/token", form, "DPoP", proof(t, key, "POST", s.issuer+"/token", "", "nonce", wrong)); a.text(t, "error") != "use_dpop_nonce" {
			t.Errorf("%s: %s", name, a.body)
		}
	}
	a = s.post("/token", form, "DPoP", proof(t, key, "POST", s.issuer+"/token", "", "nonce", nonce))
	if a.status != http.StatusOK || a.header.Get("DPoP-Nonce") == "" {
		t.Fatalf("with the nonce: %d %s %v", a.status, a.body, a.header)
	}
	access, nonce := a.text(t, "access_token"), a.header.Get("DPoP-Nonce")
	ctx := transport.WithTarget(t.Context(), transport.Target{Method: "POST", URL: "/mcp"})
	for name, tt := range map[string]struct {
		nonce string
		taken bool
	}{"the nonce of the token endpoint": {nonce, true}, "none": {"", false}} {
		_, err := s.guard.Authenticate(ctx, http.Header{"Authorization": {"DPoP " + access}, "Dpop": {proof(t, key, "POST", s.resource, access, "nonce", tt.nonce)}})
		if err == nil != tt.taken {
			t.Errorf("%s at the guard: %v", name, err)
		}
	}
}

// Our client is refused for want of a nonce once, at its first token request. After that it uses the
// nonce of successful answers, at the token endpoint and at the guard.
func TestDPoPNonces_OurClient(t *testing.T) {
	t.Parallel()
	s := open(t, nil, authserver.RequireDPoP(), authserver.DPoPNonces(nil), authserver.Lives(authserver.Lifetimes{Access: time.Second}))
	login := oauth.Client(oauth.Keep(oauth.Memory()), oauth.Browser(testkit.Browse(t, "ann")), oauth.DPoP(nil, true))
	c, err := client.Connect(t.Context(), client.HTTP(s.resource, login))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	for range 3 {
		if who, err := client.Call[string](t.Context(), c, "whoami", nil); err != nil || who != "ann" {
			t.Fatalf("%q, %v", who, err)
		}
		time.Sleep(1100 * time.Millisecond) // the next call renews the token
	}
	if refused, renewed := s.happened(authserver.TokenRefused), s.happened(authserver.Refreshed); refused != 1 || renewed < 2 {
		t.Errorf("%d refusals, %d renewals, want 1 and at least 2: %+v", refused, renewed, s.events)
	}
}

// proof makes a proof for a request. claims are further names and values.
func proof(t *testing.T, key crypto.Signer, method, url, token string, claims ...string) string {
	t.Helper()
	var set struct {
		Keys []map[string]any `json:"keys"`
	}
	if err := json.Unmarshal(keySet(t, key.Public()), &set); err != nil {
		t.Fatal(err)
	}
	all := jwt.MapClaims{"htm": method, "htu": url, "iat": time.Now().Unix(), "jti": rand.Text()}
	if token != "" {
		all["ath"] = authserver.ChallengeOf(token) // the same digest
	}
	for i := 0; i < len(claims); i += 2 {
		all[claims[i]] = claims[i+1]
	}
	return signed(t, jwt.SigningMethodES256, key, all, map[string]any{"typ": "dpop+jwt", "jwk": set.Keys[0]})
}

// spy is a store that keeps all that was ever written.
type spy struct {
	session.Store
	mu   sync.Mutex
	seen bytes.Buffer
}

func (s *spy) note(r session.Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen.WriteString(r.ID + " " + r.Principal + " ")
	s.seen.Write(r.Data)
}

func (s *spy) Create(ctx context.Context, r session.Record) error {
	s.note(r)
	return s.Store.Create(ctx, r)
}

func (s *spy) Update(ctx context.Context, r session.Record) error {
	s.note(r)
	return s.Store.Update(ctx, r)
}

// Neither the store nor an event has a secret: no code, token, cookie, password, key or client secret.
func TestNoSecretIsWritten(t *testing.T) {
	t.Parallel()
	store := &spy{Store: memory.New().Sessions()}
	s := open(t, nil, authserver.Store(store), authserver.Seal(bytes.Repeat([]byte{1}, 32)))
	a := s.post("/register", `{"redirect_uris":["`+callback+`"],"token_endpoint_auth_method":"client_secret_post"}`)
	id, secret := a.text(t, "client_id"), a.text(t, "client_secret")
	b := s.browser()
	code := b.code(s.ask(id), "ann")
	first := s.redeem(id, code, "client_secret", secret)
	second := s.refresh(id, first.text(t, "refresh_token"), "client_secret", secret)
	s.redeem(id, code, "client_secret", secret) // replayed
	s.redeem(id, "wrong", "client_secret", "wrong-"+secret)
	secrets := map[string]string{
		"client secret": secret, "code": code, "access token": first.text(t, "access_token"), "refresh token": first.text(t, "refresh_token"),
		"next refresh token": second.text(t, "refresh_token"), "verifier": verifier,
	}
	root, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.issuer, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range b.c.Jar.Cookies(root.URL) {
		secrets["cookie "+c.Name] = c.Value
	}
	if len(secrets) < 9 {
		t.Fatalf("%d secrets: some step gave none", len(secrets))
	}
	s.mu.Lock()
	events, err := json.Marshal(s.events)
	s.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	written := store.seen.String()
	for name, value := range secrets {
		if len(value) < 16 {
			t.Errorf("%s is %q", name, value)
		}
		if strings.Contains(written, value) {
			t.Errorf("%s is in the store", name)
		}
		if bytes.Contains(events, []byte(value)) {
			t.Errorf("%s is in an event", name)
		}
	}
	if !strings.Contains(written, "as:") || strings.Contains(written, "BEGIN") || strings.Contains(written, `"d":`) {
		t.Error("the store has a private key, or nothing")
	}
}

// New says everything that is wrong at once.
func TestNew_Faults(t *testing.T) {
	t.Parallel()
	own := authserver.Own(authserver.DevLogin(ann()))
	_, err := authserver.New("http://as.example/", own, nil,
		authserver.Grace(time.Hour), authserver.Scopes(authserver.Scope{Name: "two words"}), authserver.Resource("mcp"), authserver.Seal([]byte("short")),
		authserver.Lives(authserver.Lifetimes{Code: time.Hour, Access: time.Millisecond}), authserver.KeysFrom(authserver.Rotating(time.Second)),
		authserver.Admission(authserver.Policy{Schemes: []string{"javascript"}}), authserver.Limit(-1, 0, 0, nil), authserver.DPoPNonces([]byte("short")),
		authserver.Clients(authserver.Client{ID: "a"}, authserver.Client{ID: "a", RedirectURIs: []string{"http://x/"}, Method: "magic"}),
		authserver.Assertions(authserver.AssertionIssuer{Issuer: "x"}),
	)
	if err == nil {
		t.Fatal("no fault")
	}
	for _, want := range []string{
		"option 1 is nil", "DPoPNonces: the key has 5 bytes", "RequireDPoP", "must be https", "slash", "Grace", "two words", "mcp", "bytes instead of 32", "at least a second", "10 minutes", "at least an hour",
		"javascript", "negative", "twice", "no redirect URI", "http://x/", "magic", "Assertions",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in:\n%v", want, err)
		}
	}
	for name, mode := range map[string]authserver.Mode{
		"no mode": nil, "no users": authserver.Own(nil), "DevLogin in public": authserver.Own(authserver.DevLogin(ann())), "no lookup": authserver.Own(authserver.Passwords(nil, nil)),
		"empty broker": authserver.Broker(authserver.Provider{}), "http provider": authserver.Broker(authserver.Provider{Issuer: "http://idp.example", ClientID: "x"}),
		"nil option": authserver.Broker(authserver.Provider{Issuer: "https://idp.example", ClientID: "x"}, nil),
	} {
		if _, err := authserver.New("https://as.example", mode); err == nil {
			t.Errorf("%s: no fault", name)
		}
	}
	for _, name := range []string{"iss", "sub", "aud", "exp", "nbf", "iat", "jti", "client_id", "scope", "gid", "cnf", "act"} {
		reserved := authserver.DevLogin(authserver.User{Subject: "x", Claims: map[string]any{name: "y"}})
		if _, err := authserver.New("http://localhost:1", authserver.Own(reserved)); err == nil || !strings.Contains(err.Error(), `"`+name+`"`) {
			t.Errorf("the claim %s: %v", name, err)
		}
	}
	public := authserver.Client{ID: "public", RedirectURIs: []string{callback}, Grants: []string{"authorization_code", "client_credentials"}}
	if _, err := authserver.New("http://localhost:1", own, authserver.Clients(public)); err == nil {
		t.Error("a public client that acts for itself")
	}
	if _, err := authserver.New("http://localhost:1", own, authserver.Clients(authserver.Client{ID: "rs", Introspects: true})); err == nil || !strings.Contains(err.Error(), "introspects") {
		t.Errorf("a public client that introspects: %v", err)
	}
	if _, err := authserver.New("http://localhost:1", own); err != nil {
		t.Errorf("%v", err)
	}
	if _, err := authserver.New("http://localhost:2", own); err == nil {
		t.Error("a mode of two servers")
	}
}

type noUsers struct{}

func (noUsers) Current(context.Context, *http.Request) (*authserver.User, error) {
	return nil, authserver.ErrNobody
}

func (noUsers) Login(w http.ResponseWriter, _ *http.Request, _ string) {
	w.WriteHeader(http.StatusTeapot)
}

func (noUsers) Lookup(context.Context, string) (*authserver.User, error) {
	return nil, authserver.ErrUnknown
}
