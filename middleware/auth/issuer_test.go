package auth_test

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"math/big"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/kagami-mcp/kagami/middleware/auth"
	"github.com/kagami-mcp/kagami/transport"
)

const issuerURL = "https://login.example.com/t1"

// issuer is one without a network, so that time can be made up.
type issuer struct {
	mu    sync.Mutex
	serve func(r *http.Request) (status int, body string) // nil: the keys
	keys  map[string]crypto.Signer
	asked []string // paths
	delay time.Duration
	gate  chan struct{} // nil: none; a request waits until it is closed
}

func newIssuer(t testing.TB, kids ...string) *issuer {
	t.Helper()
	i := &issuer{keys: map[string]crypto.Signer{}}
	for _, kid := range kids {
		i.add(t, kid)
	}
	return i
}

func (i *issuer) add(t testing.TB, kid string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.keys[kid] = key
}

func (i *issuer) change(fn func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	fn()
}

func (i *issuer) fetched() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return len(i.asked)
}

// RoundTrip makes it the transport of a client.
func (i *issuer) RoundTrip(r *http.Request) (*http.Response, error) {
	i.mu.Lock()
	i.asked = append(i.asked, r.URL.Path)
	serve, delay, gate := i.serve, i.delay, i.gate
	body := i.set()
	i.mu.Unlock()
	if gate != nil {
		<-gate
	}
	if delay > 0 {
		timer := time.NewTimer(delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
	status := http.StatusOK
	if serve != nil {
		status, body = serve(r)
	}
	if status == 0 {
		return nil, errors.New("connection refused")
	}
	return &http.Response{StatusCode: status, Body: io.NopCloser(strings.NewReader(body)), Header: http.Header{}, Request: r}, nil
}

func (i *issuer) set() string {
	list := []map[string]any{}
	for kid, key := range i.keys {
		m := jwk(key.Public())
		m["kid"] = kid
		list = append(list, m)
	}
	raw, err := json.Marshal(map[string]any{"keys": list})
	if err != nil {
		panic(err)
	}
	return string(raw)
}

// jwk is a public key as RFC 7518 and RFC 8037 write it.
func jwk(key crypto.PublicKey) map[string]any {
	text := base64.RawURLEncoding.EncodeToString
	switch key := key.(type) {
	case *ecdsa.PublicKey:
		point, err := key.Bytes()
		if err != nil {
			panic(err)
		}
		return map[string]any{"kty": "EC", "crv": "P-256", "x": text(point[1:33]), "y": text(point[33:])}
	case *rsa.PublicKey:
		return map[string]any{"kty": "RSA", "n": text(key.N.Bytes()), "e": text(big.NewInt(int64(key.E)).Bytes())}
	case ed25519.PublicKey:
		return map[string]any{"kty": "OKP", "crv": "Ed25519", "x": text(key)}
	}
	panic("an unknown key")
}

// sign makes a token of the claims that a good one has, and others.
func sign(t testing.TB, key any, method jwt.SigningMethod, header, claims map[string]any) string {
	t.Helper()
	token := jwt.New(method)
	for name, value := range header {
		token.Header[name] = value
		if value == nil {
			delete(token.Header, name)
		}
	}
	token.Claims = jwt.MapClaims(claims)
	text, err := token.SignedString(key)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func goodClaims() map[string]any {
	return map[string]any{"iss": issuerURL, "sub": "alice", "aud": resource, "exp": time.Now().Add(24 * 365 * time.Hour).Unix()}
}

func (i *issuer) token(t testing.TB, kid string) string {
	t.Helper()
	i.mu.Lock()
	key := i.keys[kid]
	i.mu.Unlock()
	return sign(t, key, jwt.SigningMethodES256, map[string]any{"kid": kid}, goodClaims())
}

func (i *issuer) jwt() *auth.JWT {
	return &auth.JWT{Issuer: issuerURL, Audience: resource, JWKS: "https://login.example.com/keys", Client: &http.Client{Transport: i}}
}

// good fails the test unless the token is taken.
func good(t *testing.T, v auth.Verifier, token string) *transport.Principal {
	t.Helper()
	p, err := v.Verify(t.Context(), token)
	if err != nil {
		t.Errorf("a good token: %v", err)
		return &transport.Principal{}
	}
	return p
}

// bad fails the test unless the token is refused, for want of the issuer or not.
func bad(t *testing.T, v auth.Verifier, token string, away bool) {
	t.Helper()
	if p, err := v.Verify(t.Context(), token); err == nil || errors.Is(err, auth.ErrUnavailable) != away {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestKeysAreKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		i := newIssuer(t, "k1")
		v := i.jwt()
		token := i.token(t, "k1")
		good(t, v, token)
		good(t, v, i.token(t, "k1"))
		if n := i.fetched(); n != 1 {
			t.Errorf("%d fetches for two tokens", n)
		}
		time.Sleep(11 * time.Minute)
		good(t, v, token)
		if n := i.fetched(); n != 2 {
			t.Errorf("%d fetches after eleven minutes", n)
		}
		// The issuer is away: the last good keys hold for a day, and it is asked
		// twice a minute at most.
		i.change(func() { i.serve = func(*http.Request) (int, string) { return 0, "" } })
		for range 23 {
			time.Sleep(time.Hour)
			good(t, v, token)
			good(t, v, token)
		}
		if n := i.fetched(); n != 2+23 {
			t.Errorf("%d fetches in 23 hours with a call each", n-2)
		}
		time.Sleep(2 * time.Hour)
		bad(t, v, token, true)
		i.change(func() { i.serve = nil })
		time.Sleep(2 * time.Second)
		good(t, v, token)
	})
}

func TestUnknownKey(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		i, stranger := newIssuer(t, "k1"), newIssuer(t, "x1", "x2", "x3")
		v := i.jwt()
		old := i.token(t, "k1")
		good(t, v, old)
		// A new key is found at once.
		i.add(t, "k2")
		good(t, v, i.token(t, "k2"))
		if n := i.fetched(); n != 2 {
			t.Errorf("%d fetches", n)
		}
		// Made-up names cost one fetch in half a minute.
		for _, kid := range []string{"x1", "x2", "x3", "x1"} {
			bad(t, v, stranger.token(t, kid), false)
		}
		if n := i.fetched(); n != 2 {
			t.Errorf("%d fetches for made-up keys", n-2)
		}
		time.Sleep(31 * time.Second)
		for _, kid := range []string{"x1", "x2", "x3", "x1"} {
			bad(t, v, stranger.token(t, kid), false)
		}
		if n := i.fetched(); n != 3 {
			t.Errorf("%d fetches for made-up keys in the next half minute", n-2)
		}
		// A key that is withdrawn takes the tokens along that it has verified.
		i.change(func() { delete(i.keys, "k1") })
		good(t, v, old)
		time.Sleep(11 * time.Minute)
		bad(t, v, old, false)
		good(t, v, i.token(t, "k2"))
	})
}

// A call waits for the issuer once: keys that it has just fetched are not fetched again.
func TestSlowIssuerOfUnknownKeys(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		i := newIssuer(t, "k1", "k2")
		token := i.token(t, "k2")
		i.change(func() { delete(i.keys, "k2"); i.delay = 3 * time.Second })
		began := time.Now()
		bad(t, i.jwt(), token, false)
		if took := time.Since(began); took > 5*time.Second || i.fetched() != 1 {
			t.Errorf("it took %s and %d fetches", took, i.fetched())
		}
	})
}

// Where neither keys nor tokens have names, a token that no key fits is one of an unknown
// key.
func TestRotationWithoutNames(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		i, stranger := newIssuer(t, "k1"), newIssuer(t, "x")
		names := regexp.MustCompile(`"kid":"\w*",?`)
		i.serve = func(*http.Request) (int, string) {
			i.mu.Lock()
			defer i.mu.Unlock()
			return 200, names.ReplaceAllString(i.set(), "")
		}
		nameless := func(i *issuer, kid string) string {
			return sign(t, i.keys[kid], jwt.SigningMethodES256, nil, goodClaims())
		}
		v := i.jwt()
		good(t, v, nameless(i, "k1"))
		i.change(func() { delete(i.keys, "k1") })
		i.add(t, "k2")
		good(t, v, nameless(i, "k2"))
		for range 5 {
			bad(t, v, nameless(stranger, "x"), false)
		}
		if n := i.fetched(); n != 2 {
			t.Errorf("%d fetches", n)
		}
	})
}

// Calls that arrive while the keys are fetched: at first they wait, later they go on
// with the last good ones; one fetch is for all.
func TestRotationMidFlight(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		i := newIssuer(t, "k1")
		v := i.jwt()
		token := i.token(t, "k1")
		together := func(n int) *sync.WaitGroup {
			var calls sync.WaitGroup
			for range n {
				calls.Go(func() { good(t, v, token) })
			}
			return &calls
		}
		i.delay = 2 * time.Second
		together(20).Wait()
		if n := i.fetched(); n != 1 {
			t.Errorf("%d fetches for 20 calls", n)
		}
		time.Sleep(11 * time.Minute)
		i.change(func() { i.gate = make(chan struct{}) })
		first := together(1)
		synctest.Wait() // it waits for the issuer
		began := time.Now()
		together(20).Wait()
		if waited := time.Since(began); waited != 0 {
			t.Errorf("calls waited %s for an issuer while the last good keys were there", waited)
		}
		// A token of a new key waits for the fetch that is under way.
		i.add(t, "k2")
		newest := i.token(t, "k2")
		var rotated sync.WaitGroup
		rotated.Go(func() { bad(t, v, newest, false) }) // it began before the key was there
		synctest.Wait()
		close(i.gate)
		rotated.Wait()
		first.Wait()
		if n := i.fetched(); n != 2 {
			t.Errorf("%d fetches in all", n)
		}
		i.change(func() { i.gate = nil })
		good(t, v, newest)
	})
}

func TestIssuerFails(t *testing.T) {
	t.Parallel()
	many := `{"keys":[` + strings.Repeat(`{"kty":"oct","k":"AAAA"},`, 70) + `{"kty":"oct","k":"AAAA"}]}`
	faults := map[string]func(r *http.Request) (int, string){
		"is away":       func(*http.Request) (int, string) { return 0, "" },
		"answers 500":   func(*http.Request) (int, string) { return 500, `{"keys":[]}` },
		"redirects":     func(*http.Request) (int, string) { return 302, "" },
		"is no JSON":    func(*http.Request) (int, string) { return 200, "<html>" },
		"is no set":     func(*http.Request) (int, string) { return 200, `{}` },
		"has null":      func(*http.Request) (int, string) { return 200, `{"keys":null}` },
		"has many keys": func(*http.Request) (int, string) { return 200, many },
		"is too long":   nil, // it is right but for that
		"is huge":       func(*http.Request) (int, string) { return 200, `{"keys":[` + strings.Repeat(" ", 1<<20) + `]}` },
	}
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				i := newIssuer(t, "k1")
				v := i.jwt()
				token := i.token(t, "k1")
				if name == "is too long" {
					whole := i.set()
					fault = func(*http.Request) (int, string) { return 200, whole + strings.Repeat(" ", 1<<20) }
				}
				i.change(func() { i.serve = fault })
				bad(t, v, token, true)
				bad(t, v, token, true)
				if n := i.fetched(); n != 1 {
					t.Errorf("%d fetches within a second", n)
				}
				// It recovers, and what it had said before does not matter.
				i.change(func() { i.serve = nil })
				time.Sleep(time.Second)
				good(t, v, token)
				i.change(func() { i.serve = fault })
				time.Sleep(11 * time.Minute)
				good(t, v, token)
			})
		})
	}
}

// TestWithdrawnKeys: an issuer that answers without a key for signatures has withdrawn all that it
// had. That holds from the next fetch on, which is ten minutes after the last, or half a minute
// after one for a token that no key fits.
func TestWithdrawnKeys(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]string{
		"none":           `{"keys":[]}`,
		"a secret":       `{"keys":[{"kty":"oct","k":"c2VjcmV0","kid":"k1","alg":"HS256"}]}`,
		"an unknown":     `{"keys":[{"kty":"new","kid":"k1"}]}`,
		"one to encrypt": `{"keys":[{"use":"enc","kty":"EC","crv":"P-256","x":"AA","y":"AA","kid":"k1"}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				i, stranger := newIssuer(t, "k1"), newIssuer(t, "k2")
				v, token := i.jwt(), i.token(t, "k1")
				good(t, v, token)
				i.change(func() { i.serve = func(*http.Request) (int, string) { return 200, set } })
				time.Sleep(9 * time.Minute)
				good(t, v, token) // the keys were not fetched again
				bad(t, v, stranger.token(t, "k2"), false)
				bad(t, v, token, false)
				for range 5 {
					bad(t, v, token, false)
				}
				if n := i.fetched(); n != 2 {
					t.Errorf("%d fetches", n)
				}
				i.change(func() { i.serve = nil })
				time.Sleep(30 * time.Second)
				good(t, v, token)
				i.change(func() { i.serve = func(*http.Request) (int, string) { return 200, set } })
				time.Sleep(10 * time.Minute)
				bad(t, v, token, false)
			})
		})
	}
}

func TestSlowIssuer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		i := newIssuer(t, "k1")
		i.delay = time.Hour
		v, began := i.jwt(), time.Now()
		bad(t, v, i.token(t, "k1"), true)
		if waited := time.Since(began); waited != 5*time.Second {
			t.Errorf("it waited %s", waited)
		}
		// Who leaves does not end the wait of others.
		time.Sleep(time.Minute)
		i.change(func() { i.delay = 3 * time.Second })
		ctx, leave := context.WithCancel(t.Context())
		var both sync.WaitGroup
		token := i.token(t, "k1")
		both.Go(func() { _, _ = v.Verify(ctx, token) })
		synctest.Wait()
		both.Go(func() { good(t, v, token) })
		synctest.Wait()
		leave()
		both.Wait()
	})
}

func TestDiscovery(t *testing.T) {
	t.Parallel()
	const rfc, oidc, tail = "/.well-known/oauth-authorization-server/t1", "/.well-known/openid-configuration/t1", "/t1/.well-known/openid-configuration"
	right := `{"issuer":"` + issuerURL + `","jwks_uri":"https://keys.example.com/jwks"}`
	tests := map[string]struct {
		documents map[string]string
		asked     string // "" where there is no way
	}{
		"RFC 8414":        {map[string]string{rfc: right, oidc: right, tail: right}, rfc},
		"OpenID, between": {map[string]string{oidc: right, tail: right}, rfc + " " + oidc},
		"OpenID, behind":  {map[string]string{tail: right}, rfc + " " + oidc + " " + tail},
		"another issuer":  {map[string]string{rfc: strings.Replace(right, "/t1", "/t2", 1), tail: right}, rfc + " " + oidc + " " + tail},
		"no keys":         {map[string]string{rfc: `{"issuer":"` + issuerURL + `"}`}, ""},
		"not https":       {map[string]string{rfc: strings.Replace(right, "https://keys", "http://keys", 1)}, ""},
		"no JSON":         {map[string]string{rfc: "<html>"}, ""},
		"nothing":         {nil, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := newIssuer(t, "k1")
			keys := i.set()
			i.serve = func(r *http.Request) (int, string) {
				if r.URL.Host == "keys.example.com" && r.URL.Path == "/jwks" { // with any scheme
					return 200, keys
				}
				if document, ok := tt.documents[r.URL.Path]; ok && r.URL.Host == "login.example.com" {
					return 200, document
				}
				return 404, ""
			}
			v := &auth.JWT{Issuer: issuerURL, Audience: resource, Client: &http.Client{Transport: i}}
			if tt.asked == "" {
				bad(t, v, i.token(t, "k1"), true)
				return
			}
			good(t, v, i.token(t, "k1"))
			if got := strings.Join(i.asked, " "); got != tt.asked+" /jwks" {
				t.Errorf("asked %s", got)
			}
		})
	}
}

// Several keys may have one name: each that is for the algorithm of a token is tried.
func TestKeysOfOneName(t *testing.T) {
	t.Parallel()
	i := newIssuer(t, "a", "b", "c")
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	var list []map[string]any
	add := func(kid any, algorithm string, key crypto.Signer) {
		m := jwk(key.Public())
		if kid != nil {
			m["kid"] = kid
		}
		if algorithm != "" {
			m["alg"] = algorithm
		}
		list = append(list, m)
	}
	add("k", "", rsaKey)
	add("k", "ES256", i.keys["a"])
	add("k", "", i.keys["b"])
	add("ps", "PS256", rsaKey)
	add(nil, "", i.keys["c"])
	set, err := json.Marshal(map[string]any{"keys": list})
	if err != nil {
		t.Fatal(err)
	}
	i.serve = func(*http.Request) (int, string) { return 200, string(set) }
	v := i.jwt()
	ec, rs, ps := jwt.SigningMethodES256, jwt.SigningMethodRS256, jwt.SigningMethodPS256
	for _, tt := range []struct {
		name   string
		kid    any
		key    any
		method jwt.SigningMethod
		taken  bool
	}{
		{"first", "k", rsaKey, rs, true},
		{"second", "k", i.keys["a"], ec, true},
		{"third", "k", i.keys["b"], ec, true},
		{"of no name", "k", i.keys["c"], ec, false},
		{"any, of no name", nil, i.keys["c"], ec, true},
		{"any, of some name", nil, i.keys["a"], ec, true},
		{"alg", "ps", rsaKey, ps, true},
		{"another alg", "ps", rsaKey, rs, false},
	} {
		token := sign(t, tt.key, tt.method, map[string]any{"kid": tt.kid}, goodClaims())
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if tt.taken {
				good(t, v, token)
				return
			}
			bad(t, v, token, false)
		})
	}
}

// Where a new key has the name of an old one, a token that the old one does not fit is one
// of an unknown key.
func TestRotationUnderOneName(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		i, stranger := newIssuer(t, "k"), newIssuer(t, "k")
		v := i.jwt()
		good(t, v, i.token(t, "k"))
		i.add(t, "k")
		good(t, v, i.token(t, "k"))
		for range 5 {
			bad(t, v, stranger.token(t, "k"), false)
		}
		if n := i.fetched(); n != 2 {
			t.Errorf("%d fetches", n)
		}
	})
}

// TestKeysOfACallerThatLeaves: the call that fetches the keys does so for all that wait. Its client may
// leave meanwhile.
func TestKeysOfACallerThatLeaves(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		i := newIssuer(t, "k1")
		i.delay = 2 * time.Second
		v, token := i.jwt(), i.token(t, "k1")
		leaving, leave := context.WithTimeout(t.Context(), time.Second)
		defer leave()
		var first sync.WaitGroup
		first.Go(func() { _, _ = v.Verify(leaving, token) })
		synctest.Wait()
		good(t, v, token)
		first.Wait()
		if n := i.fetched(); n != 1 {
			t.Errorf("the keys were fetched %d times", n)
		}
	})
}
