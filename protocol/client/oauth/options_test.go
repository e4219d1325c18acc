package oauth_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/middleware/auth"
	"github.com/kagami-mcp/kagami/protocol/client/oauth"
	"github.com/kagami-mcp/kagami/testkit"
)

// TestScopeOptions checks which scopes are requested, and whether a refresh token is asked for.
func TestScopeOptions(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		challenge string // of a request without a token; "" is the challenge of the guard
		opts      []oauth.Option
		requested string
		renewable bool
	}{
		"default":                         {"", nil, "orders:read profile offline_access", true},
		"all of the metadata":             {"Bearer", nil, "orders:read profile offline_access", true},
		"C28 the challenge names a scope": {`Bearer scope="orders:read"`, nil, "orders:read offline_access", true},
		"more":                            {"", []oauth.Option{oauth.Scopes("orders:write")}, "orders:read profile orders:write offline_access", true},
		"fewer": {
			"", []oauth.Option{oauth.Scopes("orders:write"), oauth.Narrow(func(server string, scopes []string) []string {
				if !strings.HasSuffix(server, "/mcp") || !slices.Equal(scopes, []string{"orders:read", "profile", "orders:write"}) {
					t.Errorf("Narrow gets %s, %q", server, scopes)
				}
				return scopes[:1]
			})}, "orders:read offline_access", true,
		},
		"without refresh": {"", []oauth.Option{oauth.Offline(false)}, "orders:read profile", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, u := open(t, auth.Supported("profile")), &user{}
			s.intercept(func(w http.ResponseWriter, r *http.Request) bool {
				if tt.challenge == "" || r.Header.Get("Authorization") != "" {
					return false
				}
				w.Header().Set("WWW-Authenticate", tt.challenge)
				w.WriteHeader(http.StatusUnauthorized)
				return true
			})
			f := flow(t, append(tt.opts, u.browser(t))...)
			call(t, mustConnect(t, f, s.url), "hours", "ann")
			for _, r := range s.issuer.Log() {
				if r.Path == "/authorize" && r.Form.Get("scope") != tt.requested {
					t.Errorf("requested %q; want %q", r.Form.Get("scope"), tt.requested)
				}
				if r.Path == "/register" && strings.Contains(r.Form.Get("metadata"), "refresh_token") != tt.renewable {
					t.Errorf("registered as %s", r.Form.Get("metadata"))
				}
			}
			if s.issuer.Requests("/authorize") != 1 || s.issuer.Requests("/register") != 1 {
				t.Errorf("%d visits, %d registrations", s.issuer.Requests("/authorize"), s.issuer.Requests("/register"))
			}
		})
	}
}

// TestPromptOfConsent checks that offline_access comes with prompt=consent, except at an issuer of
// AssumePKCE: Entra ID refuses the prompt in tenants where only an administrator consents.
func TestPromptOfConsent(t *testing.T) {
	t.Parallel()
	s := open(t)
	for want, opts := range map[string][]oauth.Option{
		"consent": {oauth.AssumePKCE("https://login.example.com")}, "": {oauth.AssumePKCE(s.issuer.URL())},
	} {
		if _, err := flow(t, append(opts, (&user{}).browser(t))...).Login(t.Context(), s.url); err != nil {
			t.Fatal(err)
		}
		var last url.Values
		for _, r := range s.issuer.Log() {
			if r.Path == "/authorize" {
				last = r.Form
			}
		}
		if last.Get("prompt") != want || !strings.HasSuffix(last.Get("scope"), " offline_access") {
			t.Errorf("prompt %q, scope %q; want prompt %q", last.Get("prompt"), last.Get("scope"), want)
		}
	}
}

// An authorization server may refuse offline_access to a client that was registered by hand, although it
// lists it. The user then logs in without.
func TestOfflineRefused(t *testing.T) {
	t.Parallel()
	for code, want := range map[string][]string{
		"invalid_scope": {"orders:read offline_access", "orders:read"},
		"access_denied": {"orders:read offline_access"},
	} {
		s := open(t)
		s.issuer.Fault(testkit.NoIss)
		var asked []string
		_, err := flow(t, oauth.Registered(oauth.Credentials{ID: "me"}), oauth.Browser(func(_ context.Context, address string) error {
			page, err := url.Parse(address)
			asked = append(asked, page.Query().Get("scope"))
			return err
		}), oauth.Receive(&replying{&hosted{redirect: "http://127.0.0.1:3000/cb"}, []string{code}})).Login(t.Context(), s.url)
		if failed, ok := errors.AsType[*oauth.Error](err); !ok || failed.Code != code || !slices.Equal(asked, want) {
			t.Errorf("%s: %v; asked for %q", code, err, asked)
		}
	}
}

func TestNoRegistration(t *testing.T) {
	t.Parallel()
	s, u := open(t), &user{}
	_, err := connect(t, flow(t, u.browser(t), oauth.NoRegistration()), s.url)
	if !errors.Is(err, oauth.ErrNoWay) || s.issuer.Requests("/register") != 0 || u.seen() != 0 {
		t.Errorf("%v, %d registrations, %d pages", err, s.issuer.Requests("/register"), u.seen())
	}
}

// TestChoose checks the choice between the authorization servers that the server names.
func TestChoose(t *testing.T) {
	t.Parallel()
	s := script(t, map[string]string{
		"/mcp": "401|challenge Bearer", prmPath: `{"resource":"URL/mcp","authorization_servers":["URL/one","URL/two"]}`,
		asPath + "/one": asAt("/one"), asPath + "/two": asAt("/two"),
	})
	no := errors.New("neither")
	for name, tt := range map[string]struct {
		choose func(ctx context.Context, server string, issuers []string) (string, error)
		issuer string
		err    error
	}{
		"the first by default": {nil, "/one", nil},
		"the second": {func(_ context.Context, server string, issuers []string) (string, error) {
			if server != s.URL+"/mcp" || len(issuers) != 2 {
				t.Errorf("Choose gets %s, %q", server, issuers)
			}
			return issuers[1], nil
		}, "/two", nil},
		"an error":    {func(context.Context, string, []string) (string, error) { return "", no }, "", no},
		"another one": {func(context.Context, string, []string) (string, error) { return "https://evil.example", nil }, "", oauth.ErrIssuer},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var opts []oauth.Option
			if tt.choose != nil {
				opts = append(opts, oauth.Choose(tt.choose))
			}
			in, err := flow(t, opts...).Inspect(t.Context(), s.URL+"/mcp")
			if !errors.Is(err, tt.err) {
				t.Fatalf("%v; want %v", err, tt.err)
			}
			if tt.err == nil && in.Issuer != s.URL+tt.issuer {
				t.Errorf("chose %s", in.Issuer)
			}
		})
	}
}

// TestChooseTheStoredOne checks that a new process prefers the authorization server of the stored grant.
func TestChooseTheStoredOne(t *testing.T) {
	t.Parallel()
	s, store := script(t, map[string]string{
		"/mcp": "401|challenge Bearer", prmPath: `{"resource":"URL/mcp","authorization_servers":["URL/one","URL/two"]}`,
		asPath + "/one": asAt("/one"), asPath + "/two": asAt("/two"),
		"/register": `{"client_id":"registered"}`,
	}), oauth.Memory()
	key := oauth.Key{Kind: oauth.Tokens, Issuer: s.URL + "/two", Resource: s.URL + "/mcp"}
	data := []byte(`{"server":"` + s.URL + `/mcp","access_token":"a","scheme":"Bearer","issuer_metadata":{"issuer":"` + s.URL + `/two"}}`)
	if _, err := store.Put(t.Context(), oauth.Record{Key: key, Data: data}); err != nil {
		t.Fatal(err)
	}
	if in, err := flow(t, oauth.Keep(store)).Inspect(t.Context(), s.URL+"/mcp"); err != nil || in.Issuer != s.URL+"/two" {
		t.Errorf("Inspect chose %s, %v", in.Issuer, err)
	}
	_, err := flow(t, oauth.Keep(store)).Login(t.Context(), s.URL+"/mcp")
	if at, ok := errors.AsType[*oauth.Error](err); !ok || !errors.Is(err, oauth.ErrLogin) || at.Issuer != s.URL+"/two" {
		t.Errorf("Login: %v", err)
	}
}

// TestPlain checks that http is refused for hosts that are not loopback, unless they are named.
func TestPlain(t *testing.T) {
	t.Parallel()
	s := script(t, map[string]string{
		"/mcp": "401|challenge Bearer", prmPath: `{"resource":"http://shop.example/mcp","authorization_servers":["http://login.example:81"]}`,
		asPath: strings.ReplaceAll(fmt.Sprintf(as, "http://login.example:81"), "URL", "http://login.example:81"),
	})
	proxy, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	through := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, Proxy: http.ProxyURL(proxy)}}
	for name, tt := range map[string]struct {
		hosts []string
		err   error
	}{
		"neither":             {nil, oauth.ErrUnsafeURL},
		"one of the two":      {[]string{"shop.example"}, oauth.ErrUnsafeURL},
		"by name":             {[]string{"shop.example", "login.example"}, nil},
		"by name and port":    {[]string{"shop.example", "login.example:81"}, nil},
		"by another port":     {[]string{"shop.example", "login.example:82"}, oauth.ErrUnsafeURL},
		"by a part of a name": {[]string{"shop.example", "example"}, oauth.ErrUnsafeURL},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in, err := flow(t, oauth.HTTPClient(through), oauth.Plain(tt.hosts...)).Inspect(t.Context(), "http://shop.example/mcp")
			if !errors.Is(err, tt.err) || tt.err == nil && in.Issuer != "http://login.example:81" {
				t.Errorf("%+v, %v; want %v", in, err, tt.err)
			}
		})
	}
}

// TestPage checks that the program writes the last page, without anything of the request.
func TestPage(t *testing.T) {
	t.Parallel()
	for want, verdict := range map[string]error{"Done.": nil, "Not done: no": errors.New("no")} {
		l := oauth.Listener(oauth.Page(func(w io.Writer, err error) {
			if err != nil {
				_, _ = fmt.Fprintf(w, "Not done: %v", err)
				return
			}
			_, _ = io.WriteString(w, "Done.")
		}))
		callback, err := l.Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		answered := make(chan error, 1)
		go func() {
			_, err := l.Receive(t.Context(), "right")
			l.Answer(verdict)
			answered <- err
		}()
		if _, page := fetch(t, http.MethodGet, callback+"?state=right&code=x", ""); !strings.HasSuffix(page, " "+want) {
			t.Errorf("the page is %q; want %q", page, want)
		}
		if err := errors.Join(<-answered, l.Close()); err != nil {
			t.Error(err)
		}
	}
}

// scopesOnly is an authorization server that refuses the resource, like Entra ID. Only the scopes
// decide which server a token is for.
type scopesOnly struct{ mint func() string }

func (e scopesOnly) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Path != "/token" {
		return http.DefaultTransport.RoundTrip(r)
	}
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r.Body = io.NopCloser(bytes.NewReader(text))
	if bytes.Contains(text, []byte("resource=")) {
		refusal := `{"error":"invalid_target","error_description":"AADSTS9010010"}`
		return &http.Response{StatusCode: 400, Body: io.NopCloser(strings.NewReader(refusal)), Header: http.Header{}, Request: r}, nil
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	var answer map[string]any
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		return nil, err
	}
	answer["access_token"] = e.mint()
	text, err = json.Marshal(answer)
	resp.ContentLength, resp.Body = -1, io.NopCloser(bytes.NewReader(text))
	return resp, err
}

// TestWithoutResource checks that no request to the named issuers has the resource, and that the
// error for a refused resource names the option.
func TestWithoutResource(t *testing.T) {
	t.Parallel()
	s, u := open(t), &user{}
	s.issuer.Client("robot", "s3cret")
	machine := []oauth.Option{oauth.ClientCredentials(), oauth.Registered(oauth.Credentials{ID: "robot", Secret: "s3cret"})}
	web := oauth.HTTPClient(&http.Client{Transport: scopesOnly{func() string { return s.issuer.Token("ann", s.url, time.Hour, "orders:read") }}})
	for name, opts := range map[string][]oauth.Option{"user": {u.browser(t)}, "machine": machine} {
		for _, others := range [][]string{nil, {"https://login.example.com"}} {
			_, err := connect(t, flow(t, append(opts, web, oauth.WithoutResource(others...))...), s.url)
			if !errors.Is(err, oauth.ErrDenied) || !strings.Contains(err.Error(), "--without-resource "+s.issuer.URL()) {
				t.Errorf("%s, %q: %v", name, others, err)
			}
		}
		before := len(s.issuer.Log())
		c := mustConnect(t, flow(t, append(opts, web, oauth.WithoutResource(s.issuer.URL()))...), s.url)
		call(t, c, "hours", "ann")
		s.revoke()
		call(t, c, "hours", "ann")
		requests := s.issuer.Log()[before:]
		for _, r := range requests {
			if r.Form.Has("resource") {
				t.Errorf("%s: %s has the resource: %v", name, r.Path, r.Form)
			}
		}
		if len(requests) < 2 {
			t.Errorf("%s: %d requests", name, len(requests))
		}
	}
	if n := s.issuer.Requests("/token", "refresh_token"); n != 1 {
		t.Errorf("%d renewals", n)
	}
}

// TestResourceRefused checks the advice if the authorization page returns an error response.
func TestResourceRefused(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.issuer.Fault(testkit.NoIss)
	refusing := oauth.Receive(&replying{&hosted{redirect: "http://127.0.0.1:3000/cb"}, []string{"invalid_target"}})
	for issuer, hint := range map[string]bool{"": true, s.issuer.URL(): false} {
		_, err := flow(t, unseen, refusing, oauth.WithoutResource(issuer)).Login(t.Context(), s.url)
		if !errors.Is(err, oauth.ErrDenied) || strings.Contains(err.Error(), "--without-resource") != hint {
			t.Errorf("WithoutResource(%q): %v", issuer, err)
		}
	}
}

// TestOptionsCopyLists: a program may use its lists again after it made an option.
func TestOptionsCopyLists(t *testing.T) {
	t.Parallel()
	names, creds := []string{"one"}, []oauth.Credentials{{Issuer: "https://one.example", ID: "one"}}
	options := []oauth.Option{
		oauth.Registered(creds...), oauth.Scopes(names...), oauth.Plain(names...), oauth.AssumePKCE(names...), oauth.WithoutResource(names...),
	}
	names[0], creds[0].ID = "two", "two"
	f, err := oauth.New(options...)
	if err != nil {
		t.Fatal(err)
	}
	if got := oauth.Lists(f); strings.Count(got, "one") != 5 || strings.Contains(got, "two") {
		t.Error(got)
	}
}
