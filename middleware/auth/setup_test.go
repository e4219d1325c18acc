package auth_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/zap"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/middleware/auth"
	"github.com/kagami-mcp/kagami/transport"
)

// A verifier that is not set up admits no caller, and reports that before the server serves.
func TestFaultySetup(t *testing.T) {
	t.Parallel()
	i := newIssuer(t, "k1")
	web := &http.Client{Transport: i}
	const url = "https://x.example.com"
	for name, v := range map[string]auth.Verifier{
		"no issuer":         &auth.JWT{Audience: resource, JWKS: url, Client: web},
		"no URL of issuer":  &auth.JWT{Issuer: "login.example.com", Audience: resource, Client: web},
		"no URL of keys":    &auth.JWT{Issuer: issuerURL, Audience: resource, JWKS: "/keys", Client: web},
		"no audience":       &auth.JWT{Issuer: issuerURL, JWKS: url, Client: web},
		"HS256":             &auth.JWT{Issuer: issuerURL, Audience: resource, JWKS: url, Client: web, Algorithms: []string{"ES256", "HS256"}},
		"none":              &auth.JWT{Issuer: issuerURL, Audience: resource, JWKS: url, Client: web, Algorithms: []string{"none"}},
		"no algorithm":      &auth.JWT{Issuer: issuerURL, Audience: resource, JWKS: url, Client: web, Algorithms: []string{"ES256", "RS265"}},
		"asks, no audience": &auth.Introspection{Endpoint: url, Client: web},
		"asks nobody":       &auth.Introspection{Audience: resource, Client: web},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bad(t, v, i.token(t, "k1"), true)
			letsNobodyIn(t, auth.Bearer(v), i.token(t, "k1"))
		})
	}
	key := auth.Static{"key": {Subject: "a"}}
	for name, a := range map[string]transport.Authenticator{
		"no verifier":         auth.Bearer(nil),
		"no JWT":              auth.Bearer((*auth.JWT)(nil)),
		"no Introspection":    auth.Bearer((*auth.Introspection)(nil)),
		"no function":         auth.Bearer(auth.VerifierFunc(nil)),
		"no option":           auth.Bearer(key, auth.Require("mcp"), nil),
		"no URL":              auth.Bearer(key, auth.Resource("api.example.com/mcp")),
		"a fragment":          auth.Bearer(key, auth.Resource(resource+"#x")),
		"no server's URL":     auth.Bearer(key, auth.Resource(resource), auth.AuthorizationServers("login.example.com")),
		"scopes in one":       auth.Bearer(key, auth.Require("mcp", "a b")),
		"an empty scope":      auth.Bearer(key, auth.Require("")),
		"a quote":             auth.Bearer(key, auth.Supported("a\"\r\nSet-Cookie: a=b")),
		"covers several":      auth.Bearer(key, auth.Implies("a", "b c")),
		"several cover":       auth.Bearer(key, auth.Implies("a b", "c")),
		"DPoP for no URL":     auth.Bearer(key, auth.DPoP()),
		"DPoP for an opaque":  auth.Bearer(&auth.JWT{Issuer: issuerURL, Audience: "api", Client: web}, auth.DPoP()),
		"Resource of nothing": auth.Bearer(key, auth.Resource("https://")),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			letsNobodyIn(t, a, "key")
		})
	}
}

// letsNobodyIn fails the test unless a refuses a good token with 503, and Build says why.
func letsNobodyIn(t *testing.T, a transport.Authenticator, token string) {
	t.Helper()
	_, err := a.Authenticate(at(t, "/mcp"), bearer(token))
	if told := refused(t, err); told.Status != 503 || told.Challenge != "" {
		t.Errorf("%d %s: %v", told.Status, told.Challenge, told.Err)
	}
	app := framework.New("auth", "1", framework.WithLogger(zap.NewNop()), framework.WithStrict(), framework.WithAuth(a))
	if _, err := app.Build(); err == nil || !strings.Contains(err.Error(), "WithAuth: auth: ") || strings.Contains(err.Error(), "cannot be verified now") {
		t.Errorf("Build: %v", err)
	}
}

// What is set up is not complained about.
func TestReadySetup(t *testing.T) {
	t.Parallel()
	key := auth.Static{"key": {Subject: "a"}}
	hello := framework.Tool("hello", func(context.Context, struct{}) (string, error) { return "", nil }, framework.Describe("Say hello."))
	for name, a := range map[string]transport.Authenticator{
		"JWT":           auth.Bearer(&auth.JWT{Issuer: issuerURL}, auth.Resource(resource), auth.DPoP(), auth.Require("a:b", "x/y.z")),
		"names":         auth.Bearer(&auth.JWT{Issuer: "login", Audience: "api", JWKS: "https://x.example.com"}, auth.Resource(resource), auth.AuthorizationServers(issuerURL)),
		"Introspection": auth.Bearer(&auth.Introspection{Endpoint: "https://x.example.com", Audience: resource}, auth.AuthorizationServers(issuerURL)),
		"Static":        auth.Bearer(key, auth.Resource(resource)),
		"unset":         auth.Bearer(auth.Static{"key=": {Subject: "a"}, "": {Subject: "b"}}),
		"Func":          auth.Bearer(auth.VerifierFunc(key.Verify)),
		"Func and DPoP": auth.Bearer(auth.VerifierFunc(key.Verify), auth.Resource(resource), auth.DPoP()),
	} {
		if _, err := framework.New("auth", "1", framework.WithStrict(), framework.WithAuth(a)).Add(hello).Build(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestForgottenSetup: a setup that serves, but admits no caller or names no login, is a warning of
// Build, and an error under WithStrict.
func TestForgottenSetup(t *testing.T) {
	t.Parallel()
	const url = "https://x.example.com"
	for name, c := range map[string]struct {
		a    transport.Authenticator
		want string
	}{
		"Introspection":            {auth.Bearer(&auth.Introspection{Endpoint: url, Audience: resource}, auth.Resource(resource)), "AuthorizationServers"},
		"Introspection of a name":  {auth.Bearer(&auth.Introspection{Endpoint: url, Audience: "api"}), "AuthorizationServers"},
		"a name that issues":       {auth.Bearer(&auth.JWT{Issuer: "login", JWKS: url}, auth.Resource(resource)), "AuthorizationServers"},
		"an audience without URL":  {auth.Bearer(&auth.JWT{Issuer: issuerURL, Audience: "api"}), "Resource"},
		"no token":                 {auth.Bearer(auth.Static{}), "Static has no token"},
		"a token that is no token": {auth.Bearer(auth.Static{"": {Subject: "a"}}), "Static has no token"},
		"a token with a line break": {
			auth.Bearer(auth.Static{"key\n": {Subject: "ann"}, "b": {Subject: "bob"}}),
			`the token of ["ann"] in Static: want at most 8192 letters, digits and -._~+/, with = only at the end, and no line break`,
		},
		"a token that is a sentence":    {auth.Bearer(auth.Static{"s3cret!": {Subject: "a"}}), `the token of ["a"] in Static`},
		"a token that is too long":      {auth.Bearer(auth.Static{strings.Repeat("a", 9000): {Subject: "a"}}), `the token of ["a"] in Static`},
		"a function without a login":    {auth.Bearer(auth.VerifierFunc(auth.Static{}.Verify), auth.Resource(resource)), "AuthorizationServers"},
		"a function without a resource": {auth.Bearer(auth.VerifierFunc(auth.Static{}.Verify), auth.AuthorizationServers(issuerURL)), "Resource"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, err := framework.New("auth", "1", framework.WithAuth(c.a)).Build()
			if err != nil || server.Services().Servable() != nil {
				t.Fatalf("it does not serve: %v", err)
			}
			_, err = framework.New("auth", "1", framework.WithStrict(), framework.WithAuth(c.a)).Build()
			if err == nil || !strings.Contains(err.Error(), "WithAuth: ") || !strings.Contains(err.Error(), c.want) {
				t.Errorf("WithStrict: %v", err)
			}
		})
	}
}

// TestOptionsCopyLists: a program may use its lists again after it made an option.
func TestOptionsCopyLists(t *testing.T) {
	t.Parallel()
	names, urls := []string{"one"}, []string{"https://one.example.com"}
	options := []auth.Option{
		auth.Resource(resource), auth.AuthorizationServers(urls...), auth.Require(names...), auth.Supported(names...), auth.Implies("all", names...),
	}
	names[0], urls[0] = "two", "https://two.example.com"
	b := auth.Bearer(auth.Static{"key": {Subject: "a", Scopes: []string{"all"}}}, options...)
	p, err := b.Authenticate(t.Context(), http.Header{"Authorization": {"Bearer key"}})
	if err != nil {
		t.Fatal(err)
	}
	_, _, document := b.(interface {
		ServeMetadata(method, path string) (int, http.Header, []byte)
	}).ServeMetadata(http.MethodGet, "/.well-known/oauth-protected-resource")
	if got := strings.Join(p.Scopes, " ") + string(document); strings.Count(got, "one") != 3 || strings.Contains(got, "two") {
		t.Error(got)
	}
}
