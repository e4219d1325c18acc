package authserver_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/middleware/authserver"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
	"github.com/kagami-mcp/kagami/protocol/client/oauth"
	"github.com/kagami-mcp/kagami/testkit"
)

// TestOwn checks that the client of Kagami logs in on every revision, with nothing but the URL.
func TestOwn(t *testing.T) {
	t.Parallel()
	for _, rev := range protocol.Revisions() {
		t.Run(rev.String(), func(t *testing.T) {
			t.Parallel()
			s := open(t, nil)
			login := oauth.Client(oauth.Keep(oauth.Memory()), oauth.Browser(testkit.Browse(t, "ann")))
			c, err := client.Connect(t.Context(), client.HTTP(s.resource, login), client.Revisions(rev))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = c.Close() }()
			if who, err := client.Call[string](t.Context(), c, "whoami", nil); err != nil || who != "ann" {
				t.Errorf("%q, %v", who, err)
			}
			if written, err := client.Call[string](t.Context(), c, "write", nil); err != nil || written != "written" {
				t.Errorf("%q, %v", written, err)
			}
			if s.happened(authserver.CodeIssued) != 1 || s.happened(authserver.ClientRegistered) != 1 || s.happened(authserver.TokenIssued) != 1 {
				t.Errorf("%+v", s.events)
			}
		})
	}
}

// The token says who, for whom and what, and the guard takes it.
func TestToken(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	id := s.register(plainClient)
	a := s.redeem(id, s.browser().code(s.ask(id), "ann"))
	v := a.json(t)
	if a.header.Get("Cache-Control") != "no-store" || v["token_type"] != "Bearer" || v["expires_in"] != 600.0 || v["scope"] != "notes:read notes:write" {
		t.Errorf("%v %v", a.header, v)
	}
	p, ok := s.admits(v["access_token"].(string))
	if !ok || p.Subject != "ann" || p.Issuer != s.issuer || p.Claims["aud"] != s.resource || p.Claims["client_id"] != id || p.Claims["team"] != "red" {
		t.Errorf("%v %+v", ok, p)
	}
	if !slices.Equal(p.Scopes, []string{"notes:read", "notes:write"}) {
		t.Errorf("scopes %v", p.Scopes)
	}
	if left := time.Until(p.Expires); left > 10*time.Minute || left < 9*time.Minute {
		t.Errorf("the token is valid for %v", left)
	}
	access, _ := s.grant(id, "bob") // who may grant less
	if p, ok := s.admits(access); !ok || !slices.Equal(p.Scopes, []string{"notes:read"}) {
		t.Errorf("%v %+v", ok, p)
	}
}

// The metadata is at every place, names the issuer as it was given, and promises what is kept.
func TestMetadata(t *testing.T) {
	t.Parallel()
	s := openAt(t, "/login/as", nil)
	origin := strings.TrimSuffix(s.issuer, "/login/as")
	b := s.browser()
	for _, at := range []string{
		origin + "/.well-known/oauth-authorization-server/login/as", origin + "/.well-known/openid-configuration/login/as", s.issuer + "/.well-known/openid-configuration",
	} {
		a := b.do(http.MethodGet, at, nil)
		v := a.json(t)
		if a.status != http.StatusOK || v["issuer"] != s.issuer || v["token_endpoint"] != s.issuer+"/token" || v["authorization_response_iss_parameter_supported"] != true {
			t.Errorf("%s: %d %v", at, a.status, v)
		}
		for name, want := range map[string]string{
			"code_challenge_methods_supported":                         "[S256]",
			"token_endpoint_auth_methods_supported":                    "[none client_secret_basic client_secret_post private_key_jwt]",
			"token_endpoint_auth_signing_alg_values_supported":         "[ES256 EdDSA PS256 RS256]",
			"revocation_endpoint_auth_methods_supported":               "[none client_secret_basic client_secret_post private_key_jwt]",
			"revocation_endpoint_auth_signing_alg_values_supported":    "[ES256 EdDSA PS256 RS256]",
			"introspection_endpoint_auth_methods_supported":            "[client_secret_basic client_secret_post private_key_jwt]",
			"introspection_endpoint_auth_signing_alg_values_supported": "[ES256 EdDSA PS256 RS256]",
		} {
			if got := fmt.Sprint(v[name]); got != want {
				t.Errorf("%s: %s is %s", at, name, got)
			}
		}
	}
	id := s.register(plainClient)
	if _, refresh := s.grant(id, "ann"); refresh == "" {
		t.Error("no refresh token")
	}
}

// Numbers in the claims of a user are in the token as the program has them, also large ones.
func TestToken_LargeNumbers(t *testing.T) {
	t.Parallel()
	const account = int64(9007199254740993) // a float64 does not hold it
	s := open(t, authserver.Own(authserver.DevLogin(authserver.User{Subject: "ann", Claims: map[string]any{"account": account}})))
	id := s.register(plainClient)
	access, refresh := s.grant(id, "ann")
	for name, token := range map[string]string{"of a code": access, "of a refresh": s.refresh(id, refresh).text(t, "access_token")} {
		if p, ok := s.admits(token); !ok || fmt.Sprint(p.Claims["account"]) != fmt.Sprint(account) {
			t.Errorf("the token %s: %v", name, p)
		}
	}
}

// The answer for a token without any of the requested scopes says so. Without the parameter, our
// client would take it for a token with all of them (RFC 6749 §3.3).
func TestToken_NoScope(t *testing.T) {
	t.Parallel()
	s := open(t, authserver.Own(authserver.DevLogin(authserver.User{Subject: "eve", Scopes: []string{}})))
	id := s.register(plainClient)
	a := s.redeem(id, s.browser().code(s.ask(id), "eve"))
	if scope, named := a.json(t)["scope"]; !named || scope != "" {
		t.Errorf("%d %s", a.status, a.body)
	}
	login, err := oauth.New(oauth.Keep(oauth.Memory()), oauth.Browser(testkit.Browse(t, "eve")))
	if err != nil {
		t.Fatal(err)
	}
	g, err := login.Login(t.Context(), s.resource)
	if err != nil || len(g.Scopes) != 0 || len(g.Asked) == 0 {
		t.Errorf("%+v, %v", g, err)
	}
}
