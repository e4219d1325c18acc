package oauth_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/golang-jwt/jwt/v5"

	"github.com/kagami-mcp/kagami/middleware/auth"
	"github.com/kagami-mcp/kagami/protocol/client/oauth"
	"github.com/kagami-mcp/kagami/testkit"
)

// Proofs are what a resource server of ours takes, with nonces of the issuer.
func TestDPoP(t *testing.T) {
	t.Parallel()
	s, store := open(t, auth.DPoP()), oauth.Memory()
	s.issuer.Fault(testkit.Nonces)
	c := mustConnect(t, flow(t, (&user{}).browser(t), oauth.Keep(store), oauth.DPoP(nil, true)), s.url)
	call(t, c, "hours", "ann")
	s.revoke()
	call(t, c, "hours", "ann")
	again := mustConnect(t, flow(t, oauth.Keep(store), oauth.DPoP(nil, true)), s.url)
	call(t, again, "hours", "ann")
}

// If the authorization server demands a proof and none was sent, the error contains how to send
// one.
func TestDPoPHint(t *testing.T) {
	t.Parallel()
	const hint = "--dpop"
	for _, sends := range []bool{false, true} {
		s := script(t, map[string]string{
			"/mcp": "401|challenge DPoP", prmPath: `{"resource":"URL/mcp","authorization_servers":["URL"]}`,
			asPath: strings.Replace(asAt(""), "{", `{"dpop_signing_alg_values_supported":["ES256"],`, 1), "/token": `400|{"error":"invalid_dpop_proof"}`,
		})
		opts := []oauth.Option{oauth.ClientCredentials(), oauth.Registered(oauth.Credentials{ID: "robot", Secret: "s3cret"})}
		if sends {
			opts = append(opts, oauth.DPoP(nil, false))
		}
		_, err := flow(t, opts...).Login(t.Context(), s.URL+"/mcp")
		if !errors.Is(err, oauth.ErrDenied) || strings.Contains(err.Error(), hint) == sends {
			t.Errorf("sends %v: %v", sends, err)
		}
	}
}

// The guard demands nonces and the client has them: a refusal names the first one, and later calls are
// not refused.
func TestDPoPNoncesOfTheServer(t *testing.T) {
	t.Parallel()
	var refused atomic.Int64
	s := open(t, auth.DPoP(), auth.DPoPNonces(nil), auth.OnRefuse(func(context.Context, error) { refused.Add(1) }))
	f := flow(t, (&user{}).browser(t), oauth.DPoP(nil, true))
	c := mustConnect(t, f, s.url)
	call(t, c, "hours", "ann")
	before := refused.Load()
	for range 5 {
		call(t, c, "hours", "ann")
	}
	if n := refused.Load(); n != before || before < 2 { // at first without a token, then without a nonce
		t.Errorf("%d refusals, then %d", before, n)
	}
	if n := s.issuer.Requests("/token"); n != 1 {
		t.Errorf("%d token requests", n)
	}
}

// Calls at the same time that meet a new nonce are all sent again, with the same token.
func TestDPoPNonceAtOnce(t *testing.T) {
	t.Parallel()
	s := open(t, auth.DPoP())
	c := mustConnect(t, flow(t, (&user{}).browser(t), oauth.DPoP(nil, true)), s.url)
	call(t, c, "hours", "ann")
	const calls = 8
	var arrived atomic.Int64
	all := make(chan struct{})
	s.intercept(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPost {
			return false
		}
		n := arrived.Add(1)
		if n > calls {
			return false
		}
		if n == calls {
			close(all)
		}
		<-all
		w.Header().Set("DPoP-Nonce", "new")
		w.Header().Set("WWW-Authenticate", `DPoP error="use_dpop_nonce"`)
		w.WriteHeader(http.StatusUnauthorized)
		return true
	})
	var wg sync.WaitGroup
	for range calls {
		wg.Go(func() { call(t, c, "hours", "ann") })
	}
	wg.Wait()
	if n := s.issuer.Requests("/token"); n != 1 || arrived.Load() != 2*calls {
		t.Errorf("%d token requests, %d requests", n, arrived.Load())
	}
}

// An authorization server whose clock differs is asked once more, by its own clock.
func TestDPoPByTheServersClock(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.issuer.Fault(testkit.ClockAhead)
	f := flow(t, (&user{}).browser(t), oauth.DPoP(nil, true))
	if g, err := f.Login(t.Context(), s.url); err != nil || !g.Bound {
		t.Errorf("%+v, %v", g, err)
	}
	if n := s.issuer.Requests("/token"); n != 2 {
		t.Errorf("%d token requests", n)
	}
}

// The nonce of a successful answer is in the next proof (RFC 9449 §8.2), so that no request is refused.
func TestDPoPNonceOfASuccess(t *testing.T) {
	t.Parallel()
	s := open(t, auth.DPoP())
	c := mustConnect(t, flow(t, (&user{}).browser(t), oauth.DPoP(nil, true)), s.url)
	call(t, c, "hours", "ann")
	var seen []string
	s.intercept(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPost {
			return false
		}
		claims := jwt.MapClaims{}
		if _, _, err := jwt.NewParser().ParseUnverified(r.Header.Get("DPoP"), claims); err != nil {
			t.Errorf("the proof: %v", err)
		}
		nonce, _ := claims["nonce"].(string)
		seen = append(seen, nonce)
		w.Header().Set("DPoP-Nonce", fmt.Sprintf("nonce %d", len(seen)))
		return false
	})
	for range 3 {
		call(t, c, "hours", "ann")
	}
	if want := []string{"", "nonce 1", "nonce 2"}; !slices.Equal(seen, want) {
		t.Errorf("nonces %q, want %q", seen, want)
	}
}

// Where a server names both schemes, the error for the sent token counts, and not the challenge that
// comes first.
func TestDPoPBesideBearer(t *testing.T) {
	t.Parallel()
	for name, header := range map[string][]string{
		"one field":      {`Bearer realm="shop", DPoP algs="ES256", error="use_dpop_nonce"`},
		"two fields":     {`Bearer realm="shop"`, `DPoP error="use_dpop_nonce"`},
		"an error first": {`Bearer error="invalid_token"`, `DPoP error="use_dpop_nonce"`},
		"DPoP first":     {`DPoP error="use_dpop_nonce"`, `Bearer realm="shop"`},
	} {
		s := open(t, auth.DPoP())
		c := mustConnect(t, flow(t, (&user{}).browser(t), oauth.DPoP(nil, true)), s.url)
		call(t, c, "hours", "ann")
		requests := 0
		s.intercept(func(w http.ResponseWriter, r *http.Request) bool {
			if r.Method != http.MethodPost {
				return false
			}
			if requests++; requests > 1 {
				return false
			}
			w.Header().Set("DPoP-Nonce", "new")
			w.Header()["Www-Authenticate"] = header
			w.WriteHeader(http.StatusUnauthorized)
			return true
		})
		call(t, c, "hours", "ann")
		if n := s.issuer.Requests("/token"); n != 1 || requests != 2 {
			t.Errorf("%s: %d token requests, %d requests", name, n, requests)
		}
	}
}
