package authserver

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzRedirect: a redirect URI that is taken for a registered one has its scheme, host, path and query,
// and is one that a client could have registered.
func FuzzRedirect(f *testing.F) {
	for _, given := range []string{"http://127.0.0.1:1/cb", "http://127.0.0.1/cb", "http://[::1]:1/cb?x", "https://app.example/cb", "http://127.0.0.1:1@evil/cb", "http://127.0.0.1:99999/cb", "http://127.0.0.1:/cb"} {
		f.Add("http://127.0.0.1/cb", given)
		f.Add("https://app.example/cb", given)
		f.Add(given, "http://127.0.0.1:80/cb")
	}
	f.Fuzz(func(t *testing.T, registered, given string) {
		r, wrong := judgeRedirect(registered, nil)
		if wrong != nil || !sameRedirect(registered, given) {
			return
		}
		g, err := url.Parse(given)
		if err != nil {
			t.Fatalf("%q is taken for %q: %v", given, registered, err)
		}
		if _, err := judgeRedirect(given, nil); err == nil && (g.Scheme != r.Scheme || g.Hostname() != r.Hostname() || g.EscapedPath() != r.EscapedPath() || g.RawQuery != r.RawQuery || g.User != nil) {
			t.Fatalf("%q is taken for %q", given, registered)
		}
	})
}

// FuzzRegister: any body gets an answer of RFC 7591, and what is kept is clean.
func FuzzRegister(f *testing.F) {
	s, err := New("http://127.0.0.1:1", Own(DevLogin(User{Subject: "ann"})), Limit(1<<30, 1, 1, nil), Admission(Policy{MaxClients: 50}))
	if err != nil {
		f.Fatal(err)
	}
	h := s.Handler()
	for _, body := range []string{`{"redirect_uris":["http://127.0.0.1/cb"],"client_name":"a\u202e"}`, `{"redirect_uris":["https://a/"],"jwks":{"keys":[{}]},"token_endpoint_auth_method":"private_key_jwt"}`, `{"redirect_uris":[7]}`, `[]`, "{", `{"redirect_uris":["https://a/"],"scope":"a  b","grant_types":["x"]}`} {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/register", strings.NewReader(body))
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		var a registration
		if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil || w.Code >= 500 {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		if w.Code == http.StatusCreated && (utf8.RuneCountInString(a.Name) > maxName || strings.ContainsFunc(a.Name, isHidden) || len(a.RedirectURIs) == 0) {
			t.Fatalf("kept %+v", a)
		}
	})
}

// FuzzToken: any form gets an answer of RFC 6749, and never a token.
func FuzzToken(f *testing.F) {
	s, err := New("http://127.0.0.1:1", Own(DevLogin(User{Subject: "ann"})), Limit(1, 1, 1<<30, nil), Resource("http://127.0.0.1:1/mcp"), ClientCredentialsGrant(),
		Assertions(AssertionIssuer{Issuer: "https://idp.invalid", JWKS: "http://127.0.0.1:1/"}),
		Clients(Client{ID: "c", RedirectURIs: []string{"https://a/"}}, Client{ID: "s", SecretDigest: digest("unknown"), Grants: []string{grantCredentials, grantAssertion}}))
	if err != nil {
		f.Fatal(err)
	}
	h := s.Handler()
	for _, form := range []string{"grant_type=authorization_code&client_id=c&code=" + newSecret(newHandle()), "grant_type=refresh_token&client_id=c&refresh_token=" + newSecret(newHandle()), "grant_type=client_credentials&client_id=s&client_secret=x", "client_assertion=a.b.c&client_assertion_type=urn:ietf:params:oauth:client-assertion-type:jwt-bearer&grant_type=client_credentials", "%zz"} {
		f.Add(form, "")
		f.Add(form, "Basic czp4")
	}
	f.Fuzz(func(t *testing.T, form, authorization string) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/token", strings.NewReader(form))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		if authorization != "" {
			r.Header["Authorization"] = []string{authorization}
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		var a struct{ Error string }
		if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil || a.Error == "" || w.Code < 400 || w.Code >= 500 {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
	})
}
