package auth_test

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/kagami-mcp/kagami/middleware/auth"
	"github.com/kagami-mcp/kagami/testkit"
	"github.com/kagami-mcp/kagami/transport"
)

// prover is a client that holds a key.
type prover struct {
	key    crypto.Signer
	method jwt.SigningMethod
}

func newProver(t testing.TB) *prover {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return &prover{key, jwt.SigningMethodES256}
}

// thumbprint returns the thumbprint of RFC 7638. encoding/json sorts the members of a map, and
// writes no spaces.
func (p *prover) thumbprint() string {
	raw, err := json.Marshal(jwk(p.key.Public()))
	if err != nil {
		panic(err)
	}
	sum := sha256.Sum256(raw)
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// claims of a proof for a POST to the resource.
func (p *prover) claims(token string) map[string]any {
	sum := sha256.Sum256([]byte(token))
	return map[string]any{
		"jti": rand.Text(), "htm": "POST", "htu": resource, "iat": time.Now().Unix(), "ath": base64.RawURLEncoding.EncodeToString(sum[:]),
	}
}

func (p *prover) prove(t testing.TB, claims, header map[string]any) string {
	t.Helper()
	all := map[string]any{"typ": "dpop+jwt", "jwk": jwk(p.key.Public())}
	maps.Copy(all, header)
	return sign(t, p.key, p.method, all, claims)
}

// at is the context of a POST to url.
func at(t testing.TB, url string) context.Context {
	t.Helper()
	return transport.WithTarget(t.Context(), transport.Target{Method: http.MethodPost, URL: url})
}

func bound(key string) auth.Verifier {
	return auth.VerifierFunc(func(_ context.Context, token string) (*transport.Principal, error) {
		p := &transport.Principal{Subject: "alice"}
		if token != "unbound" {
			p.Claims = map[string]any{"cnf": map[string]any{"jkt": key}}
		}
		return p, nil
	})
}

const proofChallenge = `DPoP algs="ES256 EdDSA PS256 RS256", error="invalid_dpop_proof", error_description="`

func TestDPoP(t *testing.T) {
	t.Parallel()
	me, thief := newProver(t), newProver(t)
	a := auth.Bearer(bound(me.thumbprint()), auth.Resource(resource), auth.DPoP())
	proof := func(change func(c map[string]any)) []string {
		c := me.claims("token")
		change(c)
		return []string{me.prove(t, c, nil)}
	}
	set := func(name string, value any) []string { return proof(func(c map[string]any) { c[name] = value }) }
	fresh := func() string { return proof(func(map[string]any) {})[0] }
	used := fresh()
	header := func(h map[string]any) []string { return []string{me.prove(t, me.claims("token"), h)} }
	private := jwk(me.key.Public())
	private["d"] = "AAAA"
	small, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	weak := &prover{small, jwt.SigningMethodRS256}
	tests := map[string]struct {
		proofs []string
		reason string // "": it is good
	}{
		"good":              {[]string{fresh()}, ""},
		"once":              {[]string{used}, ""},
		"twice":             {[]string{used}, "the proof was used before"},
		"URL in caps":       {set("htu", "HTTPS://API.example.com:443/mcp?x=y#z"), ""},
		"a little ahead":    {set("iat", time.Now().Add(2*time.Second).Unix()), ""},
		"none":              {nil, "there is no proof"},
		"two":               {[]string{fresh(), fresh()}, "there is more than one proof"},
		"long":              {[]string{strings.Repeat("a", 9<<10)}, "the proof is too long"},
		"malformed":         {[]string{"x"}, "the proof is not signed as it must be"},
		"not a proof":       {header(map[string]any{"typ": "JWT"}), "the proof is not signed as it must be"},
		"crit":              {header(map[string]any{"crit": []string{"b64"}}), "the proof is not signed as it must be"},
		"no key":            {header(map[string]any{"jwk": nil}), "the proof is not signed as it must be"},
		"key is a text":     {header(map[string]any{"jwk": "x"}), "the proof is not signed as it must be"},
		"key is private":    {header(map[string]any{"jwk": private}), "the proof is not signed as it must be"},
		"key is a secret":   {header(map[string]any{"jwk": map[string]any{"kty": "oct", "k": "AAAA"}}), "the proof is not signed as it must be"},
		"key of another":    {header(map[string]any{"jwk": jwk(thief.key.Public())}), "the proof is not signed as it must be"},
		"weak key":          {[]string{weak.prove(t, weak.claims("token"), nil)}, "the proof is not signed as it must be"},
		"alg none":          {[]string{sign(t, jwt.UnsafeAllowNoneSignatureType, jwt.SigningMethodNone, map[string]any{"typ": "dpop+jwt", "jwk": jwk(me.key.Public())}, me.claims("token"))}, "the proof is not signed as it must be"},
		"alg HS256":         {[]string{sign(t, []byte("x"), jwt.SigningMethodHS256, map[string]any{"typ": "dpop+jwt", "jwk": jwk(me.key.Public())}, me.claims("token"))}, "the proof is not signed as it must be"},
		"of a thief":        {[]string{thief.prove(t, thief.claims("token"), nil)}, "the proof is of another key"},
		"another method":    {set("htm", "GET"), "the proof is for another method"},
		"another host":      {set("htu", "https://evil.example.com/mcp"), "the proof is for another URL"},
		"another path":      {set("htu", "https://api.example.com/mcp/x"), "the proof is for another URL"},
		"another scheme":    {set("htu", "http://api.example.com/mcp"), "the proof is for another URL"},
		"another port":      {set("htu", "https://api.example.com:8443/mcp"), "the proof is for another URL"},
		"port of http":      {set("htu", "https://api.example.com:80/mcp"), "the proof is for another URL"},
		"with a user":       {set("htu", "https://u@api.example.com/mcp"), "the proof is for another URL"},
		"no URL":            {set("htu", "/mcp"), "the proof is for another URL"},
		"old":               {set("iat", time.Now().Add(-2*time.Minute).Unix()), "the proof is too old, or ahead of time"},
		"ahead":             {set("iat", time.Now().Add(time.Minute).Unix()), "the proof is too old, or ahead of time"},
		"no date":           {set("iat", nil), "the proof is too old, or ahead of time"},
		"no id":             {set("jti", ""), "the proof has no jti"},
		"long id":           {set("jti", strings.Repeat("x", 257)), "the proof has no jti"},
		"for another token": {[]string{me.prove(t, me.claims("other"), nil)}, "the proof is for another token"},
		"for no token":      {set("ath", nil), "the proof is for another token"},
	}
	ctx := at(t, "/mcp?q=1")
	order := []string{"once"}
	for name := range tests {
		if name != "once" {
			order = append(order, name)
		}
	}
	for _, name := range order {
		tt := tests[name]
		p, err := a.Authenticate(ctx, http.Header{"Authorization": {"DPoP token"}, "Dpop": tt.proofs})
		if tt.reason == "" {
			if err != nil || p.Subject != "alice" {
				t.Errorf("%s: %+v, %v", name, p, errors.Unwrap(err))
			}
			continue
		}
		if told := refused(t, err); told.Status != 401 || told.Challenge != proofChallenge+tt.reason+`"` {
			t.Errorf("%s: %d %s", name, told.Status, told.Challenge)
		}
	}
	if _, err := a.Authenticate(ctx, http.Header{"Authorization": {"DPoP unbound"}, "Dpop": {fresh()}}); !strings.Contains(refused(t, err).Challenge, "not bound") {
		t.Errorf("an unbound token: %v", err)
	}
	if _, err := a.Authenticate(ctx, http.Header{"Authorization": {"Bearer token"}, "Dpop": {fresh()}}); refused(t, err).Challenge != `DPoP algs="ES256 EdDSA PS256 RS256"` {
		t.Errorf("as a bearer token: %v", err)
	}
	if _, err := a.Authenticate(t.Context(), http.Header{"Authorization": {"DPoP token"}, "Dpop": {fresh()}}); refused(t, err).Status != 503 {
		t.Errorf("without a target: %v", err)
	}
	// A path with two slashes names no host: a proof for another server stays one.
	elsewhere := at(t, "//evil.example.com/mcp")
	if _, err := a.Authenticate(elsewhere, http.Header{"Authorization": {"DPoP token"}, "Dpop": set("htu", "https://evil.example.com/mcp")}); refused(t, err).Status != 401 {
		t.Errorf("a path that looks like a host: %v", err)
	}
	whole := at(t, "https://inside.example.com/a")
	if _, err := a.Authenticate(whole, http.Header{"Authorization": {"DPoP token"}, "Dpop": set("htu", "https://inside.example.com/a")}); err != nil {
		t.Errorf("a whole URL: %v", err)
	}
}

// A key that is too large, and would make the check slow, is refused before the check.
func TestDPoP_LargeKey(t *testing.T) {
	t.Parallel()
	me := newProver(t)
	a := auth.Bearer(bound(me.thumbprint()), auth.Resource(resource), auth.DPoP())
	large := map[string]any{"kty": "RSA", "e": "AQAB", "n": base64.RawURLEncoding.EncodeToString(bytes.Repeat([]byte{0xff}, 2048))}
	_, err := a.Authenticate(at(t, "/mcp"), http.Header{"Authorization": {"DPoP token"}, "Dpop": {me.prove(t, me.claims("token"), map[string]any{"jwk": large})}})
	if told := refused(t, err); told.Status != 401 || !strings.Contains(told.Err.Error(), "the size of the key") {
		t.Errorf("%d %v", told.Status, told.Err)
	}
}

// A thumbprint of RSA has other members than one of EC (RFC 7638 §3.2).
func TestThumbprint(t *testing.T) {
	t.Parallel()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	me := &prover{key, jwt.SigningMethodPS256}
	a := auth.Bearer(bound(me.thumbprint()), auth.Resource(resource), auth.DPoP())
	h := http.Header{"Authorization": {"DPoP token"}, "Dpop": {me.prove(t, me.claims("token"), nil)}}
	if _, err := a.Authenticate(at(t, "/mcp"), h); err != nil {
		t.Error(err)
	}
}

// A proof stays used for as long as it could be used.
func TestReplay(t *testing.T) {
	t.Parallel()
	me := newProver(t)
	for _, ahead := range []time.Duration{0, 5 * time.Second, -59 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			a := auth.Bearer(bound(me.thumbprint()), auth.Resource(resource), auth.DPoP())
			ctx := at(t, "/mcp")
			c := me.claims("token")
			c["iat"] = time.Now().Add(ahead).Unix()
			h := http.Header{"Authorization": {"DPoP token"}, "Dpop": {me.prove(t, c, nil)}}
			if _, err := a.Authenticate(ctx, h); err != nil {
				t.Fatal(errors.Unwrap(err))
			}
			for range 150 {
				if _, err := a.Authenticate(ctx, h); err == nil {
					t.Fatal("it was used twice")
				}
				time.Sleep(time.Second)
			}
		})
	}
}

// TestReplayOfAnotherKey: a jti belongs to the key of its proof. Another client that chooses the same one
// is not refused.
func TestReplayOfAnotherKey(t *testing.T) {
	t.Parallel()
	clients := map[string]*prover{"one": newProver(t), "another": newProver(t)}
	a := auth.Bearer(auth.VerifierFunc(func(ctx context.Context, token string) (*transport.Principal, error) {
		return bound(clients[token].thumbprint()).Verify(ctx, token)
	}), auth.Resource(resource), auth.DPoP())
	for token, who := range clients {
		c := who.claims(token)
		c["jti"] = "1"
		h := http.Header{"Authorization": {"DPoP " + token}, "Dpop": {who.prove(t, c, nil)}}
		if _, err := a.Authenticate(at(t, "/mcp"), h); err != nil {
			t.Errorf("the client %s: %v", token, err)
		}
		if _, err := a.Authenticate(at(t, "/mcp"), h); err == nil {
			t.Errorf("the client %s has used a proof twice", token)
		}
	}
}

// Over HTTP the option is all: carriers say what a request is for.
func TestDPoPOverHTTP(t *testing.T) {
	t.Parallel()
	idp, me := testkit.IdP(t), newProver(t)
	jwt := &auth.JWT{Issuer: idp.URL()}
	a := auth.Bearer(jwt, auth.Resource(resource), auth.DPoP())
	token := boundToken(idp, me, resource)
	overHTTP(t, a, func(t *testing.T, s *site) {
		proof := me.prove(t, me.claims(token), nil)
		if got := s.whoami(t, "Authorization", "DPoP "+token, "DPoP", proof); got.status != 200 || !strings.Contains(got.body, "alice of") {
			t.Errorf("%d %s %s", got.status, got.challenge(), got.body)
		}
		elsewhere := me.claims(token)
		elsewhere["htu"] = "https://evil.example.com/mcp"
		for name, fields := range map[string][]string{
			"used before": {"Authorization", "DPoP " + token, "DPoP", proof},
			"no proof":    {"Authorization", "DPoP " + token},
			"forged": {
				"Authorization", "DPoP " + token, "DPoP", me.prove(t, elsewhere, nil), "X-Forwarded-Host", "evil.example.com",
				"X-Forwarded-Proto", "https", "Forwarded", "host=evil.example.com;proto=https", "X-Original-Url", "https://evil.example.com/mcp",
			},
		} {
			want := `DPoP algs="ES256 EdDSA PS256 RS256", resource_metadata="` + metadataURL + `", error="invalid_dpop_proof"`
			if got := s.whoami(t, fields...); got.status != 401 || !strings.HasPrefix(got.challenge(), want) || got.body != unauthorized {
				t.Errorf("%s: %d %s %s", name, got.status, got.challenge(), got.body)
			}
		}
		got := s.send(t, http.MethodGet, wellKnown, "")
		want := fmt.Sprintf(`{"resource":%q,"authorization_servers":[%q],"bearer_methods_supported":["header"],`+
			`"dpop_signing_alg_values_supported":["ES256","EdDSA","PS256","RS256"],"dpop_bound_access_tokens_required":true}`, resource, idp.URL())
		if got.body != want {
			t.Errorf("metadata %s", got.body)
		}
	})
}

// Both carriers send the nonce, with refusals and with successful answers.
func TestDPoPNoncesOverHTTP(t *testing.T) {
	t.Parallel()
	idp, me := testkit.IdP(t), newProver(t)
	token := boundToken(idp, me, resource)
	a := auth.Bearer(&auth.JWT{Issuer: idp.URL()}, auth.Resource(resource), auth.DPoP(), auth.DPoPNonces(nil))
	overHTTP(t, a, func(t *testing.T, s *site) {
		c := me.claims(token)
		got := s.whoami(t, "Authorization", "DPoP "+token, "DPoP", me.prove(t, c, nil))
		nonce := got.header.Get("DPoP-Nonce")
		if got.status != 401 || nonce == "" || !strings.Contains(got.challenge(), `error="use_dpop_nonce"`) {
			t.Fatalf("%d %v", got.status, got.header)
		}
		c["nonce"], c["jti"] = nonce, rand.Text()
		got = s.whoami(t, "Authorization", "DPoP "+token, "DPoP", me.prove(t, c, nil))
		if got.status != 200 || !strings.Contains(got.body, "alice of") || len(got.header.Values("DPoP-Nonce")) != 1 {
			t.Errorf("%d %s %s %v", got.status, got.challenge(), got.body, got.header)
		}
		nonce = got.header.Get("DPoP-Nonce") // a successful answer has the next one (RFC 9449 §8.2)
		c["nonce"], c["jti"] = nonce, rand.Text()
		if got = s.whoami(t, "Authorization", "DPoP "+token, "DPoP", me.prove(t, c, nil)); got.status != 200 {
			t.Errorf("with the nonce of an answer: %d %s", got.status, got.challenge())
		}
	})
	plain := auth.Bearer(&auth.JWT{Issuer: idp.URL()}, auth.Resource(resource), auth.DPoP())
	overHTTP(t, plain, func(t *testing.T, s *site) {
		got := s.whoami(t, "Authorization", "DPoP "+token, "DPoP", me.prove(t, me.claims(token), nil))
		if got.status != 200 || got.header.Get("DPoP-Nonce") != "" {
			t.Errorf("without the option: %d %v", got.status, got.header)
		}
	})
}

func boundToken(idp *testkit.Issuer, to *prover, audience string) string {
	return idp.Sign(map[string]any{
		"iss": idp.URL(), "sub": "alice", "aud": audience, "exp": time.Now().Add(time.Hour).Unix(), "cnf": map[string]any{"jkt": to.thumbprint()},
	})
}

// A proof is for one method and one URL of the public ones, whatever a proxy in front
// makes of paths: the status tells whether it came in.
func TestDPoPBehindProxy(t *testing.T) {
	t.Parallel()
	idp, me := testkit.IdP(t), newProver(t)
	const public = "https://shop.example.com/shop/mcp"
	a := auth.Bearer(&auth.JWT{Issuer: idp.URL()}, auth.Resource(public), auth.DPoP())
	token := boundToken(idp, me, public)
	overHTTP(t, a, func(t *testing.T, s *site) {
		for name, tt := range map[string]struct {
			method, path, htm, htu string
			status                 int
		}{
			"the public URL":    {"DELETE", "/mcp", "DELETE", public, 400},
			"the path as it is": {"DELETE", "/mcp", "DELETE", "https://shop.example.com/mcp", 400},
			"a neighbor":        {"POST", "/messages?sessionId=x", "POST", "https://shop.example.com/messages", 415},
			"another method":    {"DELETE", "/mcp", "POST", public, 401},
			"another path":      {"DELETE", "/mcp", "DELETE", "https://shop.example.com/sse", 401},
			"where it listens":  {"DELETE", "/mcp", "DELETE", s.url + "/mcp", 401},
		} {
			c := me.claims(token)
			c["htm"], c["htu"] = tt.htm, tt.htu
			got := s.send(t, tt.method, tt.path, "", "Authorization", "DPoP "+token, "DPoP", me.prove(t, c, nil))
			if got.status != tt.status {
				t.Errorf("%s: %d %s %s", name, got.status, got.challenge(), got.body)
			}
		}
	})
}

// FuzzProof: no proof of a stranger is taken, whatever it looks like.
func FuzzProof(f *testing.F) {
	me, stranger := newProver(f), newProver(f)
	f.Add(stranger.prove(f, stranger.claims("token"), nil))
	f.Add(stranger.prove(f, stranger.claims("token"), map[string]any{"jwk": jwk(me.key.Public())}))
	f.Add("a.b.c")
	f.Add("..")
	a := auth.Bearer(bound(me.thumbprint()), auth.Resource(resource), auth.DPoP())
	f.Fuzz(func(t *testing.T, proof string) {
		ctx := at(t, "/mcp")
		_, err := a.Authenticate(ctx, http.Header{"Authorization": {"DPoP token"}, "Dpop": {proof}})
		if refused(t, err).Status != 401 {
			t.Errorf("%q: %v", proof, err)
		}
	})
}

// Each proof needs a nonce of the server, which changes each minute and is good for five. The answer to
// a proof without one has the nonce to use.
func TestDPoPNonces(t *testing.T) {
	t.Parallel()
	me, key := newProver(t), make([]byte, 32)
	synctest.Test(t, func(t *testing.T) {
		ctx := at(t, resource)
		a := auth.Bearer(bound(me.thumbprint()), auth.Resource(resource), auth.DPoP(), auth.DPoPNonces(key))
		twin := auth.Bearer(bound(me.thumbprint()), auth.Resource(resource), auth.DPoP(), auth.DPoPNonces(bytes.Clone(key)))
		key[0]++ // the program may use its memory again
		other := auth.Bearer(bound(me.thumbprint()), auth.Resource(resource), auth.DPoP(), auth.DPoPNonces(nil))
		ask := func(a transport.Authenticator, nonce any) (next, challenge string) {
			t.Helper()
			c := me.claims("token")
			c["nonce"] = nonce
			_, err := a.Authenticate(ctx, http.Header{"Authorization": {"DPoP token"}, "Dpop": {me.prove(t, c, nil)}})
			if err == nil {
				return "", ""
			}
			refused, ok := errors.AsType[*transport.AuthError](err)
			if !ok || refused.Status != http.StatusUnauthorized || refused.Nonce == "" {
				t.Fatalf("%+v", err)
			}
			return refused.Nonce, refused.Challenge
		}
		first, challenge := ask(a, nil)
		if !strings.Contains(challenge, `error="use_dpop_nonce"`) {
			t.Errorf("%s", challenge)
		}
		for name, who := range map[string]transport.Authenticator{"itself": a, "another process": twin} {
			if next, challenge := ask(who, first); next != "" {
				t.Errorf("%s: %s", name, challenge)
			}
		}
		raw, err := base64.RawURLEncoding.DecodeString(first)
		if err != nil {
			t.Fatal(err)
		}
		changed := func(n int) string {
			b := append([]byte(nil), raw...)
			b[n] ^= 1
			return base64.RawURLEncoding.EncodeToString(b)
		}
		for name, nonce := range map[string]any{
			"none": nil, "empty": "", "no text": 1, "garbage": "!", "short": first[:20], "later": changed(7), "forged": changed(20), "longer": first + "AAAA",
		} {
			if next, challenge := ask(a, nonce); next != first || !strings.Contains(challenge, "use_dpop_nonce") {
				t.Errorf("%s: %s %s", name, next, challenge)
			}
		}
		if next, _ := ask(other, first); next == "" || next == first {
			t.Errorf("another key: %q", next)
		}
		_, err = a.Authenticate(ctx, http.Header{})
		if refused, ok := errors.AsType[*transport.AuthError](err); !ok || refused.Nonce != first || strings.Contains(refused.Challenge, "error") {
			t.Errorf("without a token: %+v", err)
		}
		time.Sleep(5 * time.Minute)
		if next, challenge := ask(a, first); next != "" {
			t.Errorf("after five minutes: %s", challenge)
		}
		time.Sleep(time.Minute)
		next, _ := ask(a, first)
		if next == "" || next == first {
			t.Fatalf("after six minutes: %q", next)
		}
		if again, challenge := ask(a, next); again != "" {
			t.Errorf("the next nonce: %s", challenge)
		}
	})
	for name, opts := range map[string][]auth.Option{
		"a short key": {auth.DPoP(), auth.DPoPNonces([]byte("short"))}, "no DPoP": {auth.DPoPNonces(nil)},
	} {
		a := auth.Bearer(bound(""), append(opts, auth.Resource(resource))...)
		if ready, ok := a.(interface{ Ready() error }); !ok || ready.Ready() == nil || !strings.Contains(ready.Ready().Error(), "DPoPNonces") {
			t.Errorf("%s: no fault", name)
		}
	}
}
