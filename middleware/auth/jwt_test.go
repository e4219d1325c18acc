package auth_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/kagami-mcp/kagami/middleware/auth"
)

// Keys of all kinds, beside some that cannot be used.
func TestAlgorithms(t *testing.T) {
	t.Parallel()
	i := newIssuer(t, "ec")
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	_, edKey, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	i.keys["rsa"], i.keys["ed"] = rsaKey, edKey
	forSecrets := jwk(rsaKey.Public())
	forSecrets["kid"], forSecrets["use"] = "e", "enc"
	enc, err := json.Marshal(forSecrets)
	if err != nil {
		t.Fatal(err)
	}
	whole := strings.Replace(i.set(), `[`, `[{"kty":"new","kid":"n"},{"kty":"EC","crv":"secp256k1","x":"AA","y":"AA","kid":"s"},7,`+
		string(enc)+`,{"kty":"oct","k":"c2VjcmV0","kid":"o"},`, 1)
	i.serve = func(*http.Request) (int, string) { return 200, whole }
	v := i.jwt()
	kid := func(id any) map[string]any { return map[string]any{"kid": id} }
	taken := map[string]string{
		"ES256":      sign(t, i.keys["ec"], jwt.SigningMethodES256, kid("ec"), goodClaims()),
		"RS256":      sign(t, rsaKey, jwt.SigningMethodRS256, kid("rsa"), goodClaims()),
		"PS256":      sign(t, rsaKey, jwt.SigningMethodPS256, kid("rsa"), goodClaims()),
		"EdDSA":      sign(t, edKey, jwt.SigningMethodEdDSA, kid("ed"), goodClaims()),
		"no kid":     sign(t, edKey, jwt.SigningMethodEdDSA, kid(nil), goodClaims()),
		"typ at+jwt": sign(t, i.keys["ec"], jwt.SigningMethodES256, map[string]any{"kid": "ec", "typ": "application/AT+JWT"}, goodClaims()),
		"no typ":     sign(t, i.keys["ec"], jwt.SigningMethodES256, map[string]any{"kid": "ec", "typ": nil}, goodClaims()),
	}
	refused := map[string]string{
		"RS384":        sign(t, rsaKey, jwt.SigningMethodRS384, kid("rsa"), goodClaims()),
		"HS256":        sign(t, []byte("secret"), jwt.SigningMethodHS256, kid("o"), goodClaims()),
		"HS256, ec":    sign(t, []byte("secret"), jwt.SigningMethodHS256, kid("ec"), goodClaims()),
		"none":         sign(t, jwt.UnsafeAllowNoneSignatureType, jwt.SigningMethodNone, kid("ec"), goodClaims()),
		"another kid":  sign(t, rsaKey, jwt.SigningMethodRS256, kid("ec"), goodClaims()),
		"kid no text":  sign(t, rsaKey, jwt.SigningMethodRS256, kid(7), goodClaims()),
		"a key of enc": sign(t, rsaKey, jwt.SigningMethodRS256, kid("e"), goodClaims()),
		"crit":         sign(t, rsaKey, jwt.SigningMethodRS256, map[string]any{"kid": "rsa", "crit": []string{"x"}}, goodClaims()),
		"typ logout":   sign(t, rsaKey, jwt.SigningMethodRS256, map[string]any{"kid": "rsa", "typ": "logout+jwt"}, goodClaims()),
		"typ no text":  sign(t, rsaKey, jwt.SigningMethodRS256, map[string]any{"kid": "rsa", "typ": 7}, goodClaims()),
	}
	for name, token := range taken {
		t.Run(name, func(t *testing.T) { t.Parallel(); good(t, v, token) })
	}
	for name, token := range refused {
		t.Run(name, func(t *testing.T) { t.Parallel(); bad(t, v, token, false) })
	}
	for _, typ := range []string{"at+jwt", "AT+JWT", "application/at+jwt"} {
		only := i.jwt()
		only.Type = typ
		t.Run("only "+typ, func(t *testing.T) {
			t.Parallel()
			good(t, only, taken["typ at+jwt"])
			bad(t, only, taken["no typ"], false)
		})
	}
}

// Clocks may differ by the leeway, and a token that was verified is not taken longer.
func TestLeeway(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ set, leeway time.Duration }{{0, 30 * time.Second}, {time.Minute, time.Minute}, {-1, 0}} {
		synctest.Test(t, func(t *testing.T) {
			i := newIssuer(t, "k1")
			v := i.jwt()
			v.Leeway = tt.set
			a := auth.Bearer(v)
			c := goodClaims()
			c["exp"] = time.Now().Add(time.Minute).Unix()
			c["nbf"] = time.Now().Add(tt.leeway).Unix()
			token := sign(t, i.keys["k1"], jwt.SigningMethodES256, map[string]any{"kid": "k1"}, c)
			try := func() error {
				_, err := a.Authenticate(t.Context(), http.Header{"Authorization": {"Bearer " + token}})
				return err
			}
			if err := try(); err != nil {
				t.Errorf("leeway %s: %v", tt.set, err)
			}
			time.Sleep(time.Minute + tt.leeway - time.Second)
			if err := try(); err != nil {
				t.Errorf("leeway %s, a second before: %v", tt.set, err)
			}
			time.Sleep(time.Second)
			if try() == nil {
				t.Errorf("leeway %s: an expired token", tt.set)
			}
		})
	}
}

// TestVerifiedOnce: a token costs its signature once, as long as the keys are the same.
func TestVerifiedOnce(t *testing.T) {
	t.Parallel()
	i := newIssuer(t, "k1")
	v := i.jwt()
	token := i.token(t, "k1")
	if first, again := good(t, v, token), good(t, v, token); first != again {
		t.Error("the token was verified again")
	}
	if p := good(t, v, i.token(t, "k1")); p == good(t, v, token) {
		t.Error("two tokens are taken for one")
	}
}

// TestVerifiedTokenExpires: a token that was verified is not kept for longer than it is valid.
func TestVerifiedTokenExpires(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		i := newIssuer(t, "k1")
		v := i.jwt()
		c := goodClaims()
		c["exp"] = time.Now().Add(time.Minute).Unix()
		token := sign(t, i.keys["k1"], jwt.SigningMethodES256, map[string]any{"kid": "k1"}, c)
		good(t, v, token)
		time.Sleep(80 * time.Second) // within the leeway
		good(t, v, token)
		time.Sleep(20 * time.Second)
		bad(t, v, token, false)
	})
}

// More tokens than are kept: all are verified still.
func TestManyTokens(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it signs thousands of tokens")
	}
	i := newIssuer(t, "k1")
	v := i.jwt()
	for n := range 4200 {
		c := goodClaims()
		c["sub"] = fmt.Sprint(n)
		token := sign(t, i.keys["k1"], jwt.SigningMethodES256, map[string]any{"kid": "k1"}, c)
		if p := good(t, v, token); p.Subject != fmt.Sprint(n) {
			t.Fatalf("token %d is of %s", n, p.Subject)
		}
	}
}

func BenchmarkJWT(b *testing.B) {
	i := newIssuer(b)
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		b.Fatal(err)
	}
	i.keys["k1"] = key
	token := sign(b, key, jwt.SigningMethodRS256, map[string]any{"kid": "k1"}, goodClaims())
	a := auth.Bearer(i.jwt(), auth.Resource(resource))
	h := http.Header{"Authorization": {"Bearer " + token}}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := a.Authenticate(b.Context(), h); err != nil {
			b.Fatal(err)
		}
	}
}
