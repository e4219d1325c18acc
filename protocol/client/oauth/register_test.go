package oauth_test

import (
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

	"github.com/kagami-mcp/kagami/protocol/client/oauth"
	"github.com/kagami-mcp/kagami/testkit"
)

// window is a browser that stays closed. It keeps the address that it was asked to open.
type window struct{ address string }

func (w *window) option() oauth.Option {
	return oauth.Browser(func(_ context.Context, address string) error {
		w.address = address
		return errors.New("no window")
	})
}

// unseen is a browser that opens pages which the user does not look at.
var unseen = oauth.Browser(func(context.Context, string) error { return nil })

// param returns a parameter of the authorization request.
func (w *window) param(t testing.TB, name string) string {
	t.Helper()
	u, err := url.Parse(w.address)
	if err != nil {
		t.Fatal(err)
	}
	return u.Query().Get(name)
}

// TestC14_DocumentIfSupported checks that the URL of a metadata document is the client id only at an
// authorization server that supports it.
func TestC14_DocumentIfSupported(t *testing.T) {
	t.Parallel()
	const document = "https://app.example.com/client.json"
	for supported, want := range map[string]string{"true": document, "false": "registered"} {
		s := script(t, map[string]string{
			"/mcp": "401|challenge Bearer", prmPath: `{"resource":"URL/mcp","authorization_servers":["URL"]}`,
			asPath:      strings.Replace(asAt(""), "{", `{"client_id_metadata_document_supported":`+supported+`,`, 1),
			"/register": `{"client_id":"registered"}`,
		})
		w := &window{}
		if _, err := flow(t, w.option(), oauth.Document(document, nil)).Login(t.Context(), s.URL+"/mcp"); !errors.Is(err, oauth.ErrLogin) {
			t.Errorf("supported %s: %v", supported, err)
		}
		if id := w.param(t, "client_id"); id != want {
			t.Errorf("supported %s: the client is %q; want %q", supported, id, want)
		}
		if registered := slices.Contains(s.requests(), "POST /register"); registered != (want == "registered") {
			t.Errorf("supported %s: registered %t", supported, registered)
		}
	}
}

// TestC17_RegistrationRefused checks that the error of a refused redirect URI has the words of the
// authorization server, and names the URI.
func TestC17_RegistrationRefused(t *testing.T) {
	t.Parallel()
	const redirect, byHand = "http://127.0.0.1:3000/cb", "Register a client there by hand"
	for refusal, want := range map[string]struct {
		kind       error
		code, hint string
	}{
		`400|{"error":"invalid_redirect_uri","error_description":"Web addresses only."}`:          {oauth.ErrNoWay, "invalid_redirect_uri", redirect},
		`403|{"error":"insufficient_scope","error_description":"Policy 'Trusted Hosts' said no"}`: {oauth.ErrNoWay, "insufficient_scope", byHand}, // Keycloak
		`401|{"error":"invalid_token"}`: {oauth.ErrNoWay, "invalid_token", byHand},
		`403|`:                          {oauth.ErrNoWay, "", byHand},
		`429|{"error":"temporarily_unavailable"}`: {oauth.ErrUnavailable, "temporarily_unavailable", ""},
		`429|`: {oauth.ErrUnavailable, "", ""},
		`503|`: {oauth.ErrUnavailable, "", ""},
	} {
		s := script(t, map[string]string{
			"/mcp": "401|challenge Bearer", prmPath: `{"resource":"URL/mcp","authorization_servers":["URL"]}`, asPath: asAt(""), "/register": refusal,
		})
		_, err := flow(t, oauth.Receive(&hosted{redirect: redirect})).Login(t.Context(), s.URL+"/mcp")
		refused, ok := errors.AsType[*oauth.Error](err)
		if !ok || !errors.Is(err, want.kind) || refused.Code != want.code || !strings.Contains(refused.Hint, want.hint) || (refused.Hint == "") != (want.hint == "") {
			t.Errorf("%s: %v", refusal, err)
		}
	}
}

// TestRegistrationExpiryAsText checks that the end of a secret may be a number of any form, also in
// quotes.
func TestRegistrationExpiryAsText(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`0`, `"0"`, `4102444800`, `"4102444800"`, `4102444800.0`, `1e300`, `null`, `""`, `"never"`, `false`} {
		s := script(t, map[string]string{
			"/mcp": "401|challenge Bearer", prmPath: `{"resource":"URL/mcp","authorization_servers":["URL"]}`, asPath: asAt(""),
			"/register": `{"client_id":"registered","client_secret":"s3cret","client_secret_expires_at":` + text + `}`,
		})
		w := &window{}
		if _, err := flow(t, w.option()).Login(t.Context(), s.URL+"/mcp"); !errors.Is(err, oauth.ErrLogin) || w.param(t, "client_id") != "registered" {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// hosted is a Receiver with a redirect URI elsewhere. It gets no answer.
type hosted struct {
	redirect string
	open     int // calls of Open without Close
}

func (h *hosted) Open(context.Context) (string, error) {
	h.open++
	return h.redirect, nil
}

func (h *hosted) Receive(ctx context.Context, _ string) (url.Values, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func (h *hosted) Answer(error) {}

func (h *hosted) Close() error {
	h.open = 0
	return nil
}

// TestC23_RedirectURI checks that a redirect URI is https or on this machine, that it is registered with
// its kind of program, and that the same one is in the authorization request.
func TestC23_RedirectURI(t *testing.T) {
	t.Parallel()
	for redirect, kind := range map[string]string{ // "" : refused
		"https://app.example.com/cb":       "web",
		"http://127.0.0.1:3000/cb":         "native",
		"http://localhost:3000/cb":         "native",
		"http://[::1]:3000/cb":             "native",
		"http://app.example.com/cb":        "",
		"http://localhost.evil.example/cb": "",
		"http://10.0.0.1/cb":               "",
		"com.example.app:/cb":              "",
		"app://localhost/cb":               "",
		"javascript:alert(1)":              "",
		"https:":                           "",
		"/cb":                              "",
		"":                                 "",
	} {
		s, w, h := open(t), &window{}, &hosted{redirect: redirect}
		_, err := flow(t, w.option(), oauth.Receive(h)).Login(t.Context(), s.url)
		if want := map[bool]error{true: oauth.ErrUnsafeURL, false: oauth.ErrLogin}[kind == ""]; !errors.Is(err, want) || h.open > 0 {
			t.Errorf("%q: %v; open %d", redirect, err, h.open)
		}
		if kind == "" {
			if len(s.issuer.Log()) > 0 || w.address != "" {
				t.Errorf("%q: %d requests, page %q", redirect, len(s.issuer.Log()), w.address)
			}
			continue
		}
		var about struct {
			Redirects []string `json:"redirect_uris"`
			Kind      string   `json:"application_type"`
		}
		if err := json.Unmarshal([]byte(s.issuer.Log()[0].Form.Get("metadata")), &about); err != nil {
			t.Error(err)
		}
		if !slices.Equal(about.Redirects, []string{redirect}) || about.Kind != kind || w.param(t, "redirect_uri") != redirect {
			t.Errorf("%q: registered %+v, sent to %q", redirect, about, w.param(t, "redirect_uri"))
		}
	}

	o, h := newOrganization(t), &hosted{redirect: "http://app.example.com/cb"}
	_, err := flow(t, o.options(oauth.Receive(h))...).Login(t.Context(), o.server.URL+"/mcp")
	if !errors.Is(err, oauth.ErrUnsafeURL) || errors.Is(err, oauth.ErrLogin) || h.open > 0 {
		t.Errorf("at an identity provider: %v; open %d", err, h.open)
	}
}

// TestLoginWithoutNeed checks the advice for a server without metadata. It may need no login.
func TestLoginWithoutNeed(t *testing.T) {
	t.Parallel()
	s := script(t, map[string]string{"/mcp": `{"jsonrpc":"2.0","id":1,"result":{}}`})
	_, err := flow(t).Login(t.Context(), s.URL+"/mcp")
	if failed, ok := errors.AsType[*oauth.Error](err); !ok || !errors.Is(err, oauth.ErrNoWay) || !strings.Contains(failed.Hint, "no login is needed") {
		t.Errorf("%v", err)
	}
}

// withoutPublicClients is an authorization server that gives each client a secret.
type withoutPublicClients struct{}

func (withoutPublicClients) RoundTrip(r *http.Request) (*http.Response, error) {
	a, err := http.DefaultTransport.RoundTrip(r)
	if err != nil || !strings.HasPrefix(r.URL.Path, asPath) {
		return a, err
	}
	defer func() { _ = a.Body.Close() }()
	text, err := io.ReadAll(a.Body)
	a.Body, a.ContentLength = io.NopCloser(strings.NewReader(strings.Replace(string(text), `"none",`, "", 1))), -1
	return a, err
}

// A second registration at the same authorization server, for another redirect URI, replaces the
// record of the first. The first login continues with its own secret.
func TestRegistrationsWithSecrets(t *testing.T) {
	t.Parallel()
	s, u, store := open(t), &user{}, oauth.Memory()
	web := oauth.HTTPClient(&http.Client{Transport: withoutPublicClients{}})
	c := mustConnect(t, flow(t, u.browser(t), oauth.Keep(store), web), s.url)
	other := script(t, map[string]string{
		"/mcp": "401|challenge Bearer", prmPath + "/mcp": `{"resource":"URL/mcp","authorization_servers":["` + s.issuer.URL() + `"]}`,
	})
	second := flow(t, u.browser(t), oauth.Keep(store), web, oauth.Receive(oauth.Listener(oauth.Localhost())))
	if _, err := second.Login(t.Context(), other.URL+"/mcp"); err != nil || s.issuer.Requests("/register") != 2 {
		t.Fatalf("%v, %d registrations", err, s.issuer.Requests("/register"))
	}
	s.revoke()
	call(t, c, "hours", "ann")
	if u.seen() != 2 || s.issuer.Requests("/token", "refresh_token") != 1 {
		t.Errorf("%d pages, %d renewals", u.seen(), s.issuer.Requests("/token", "refresh_token"))
	}
}

// replying is a Receiver that returns an error response for each visit. The last code is used for
// all further visits.
type replying struct {
	*hosted
	codes []string
}

func (r *replying) Receive(_ context.Context, state string) (url.Values, error) {
	code := r.codes[0]
	if len(r.codes) > 1 {
		r.codes = r.codes[1:]
	}
	return url.Values{"state": {state}, "error": {code}}, nil
}

// TestRegistrationDropped checks that a client registers again if the authorization server may have
// dropped its registration. Such a server shows an error page, and no response comes.
func TestRegistrationDropped(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		code          string // of the response; "": no response comes
		leaves        bool   // the caller does not wait for it
		window        error  // error of the browser
		registrations int    // in three logins
	}{
		"no response":                    {registrations: 2}, // the second login also ends without a response
		"the caller leaves":              {leaves: true, registrations: 2},
		"no browser":                     {window: errors.New("no window"), registrations: 1},
		"response: invalid_client":       {code: "invalid_client", registrations: 3},
		"response: unauthorized_client":  {code: "unauthorized_client", registrations: 3},
		"response: the user said no":     {code: "access_denied", registrations: 1},
		"response: the server is not up": {code: "server_error", registrations: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := script(t, map[string]string{
				"/mcp": "401|challenge Bearer", prmPath: `{"resource":"URL/mcp","authorization_servers":["URL"]}`, asPath: asAt(""),
				"/register": `{"client_id":"registered"}`,
			})
			store, h := oauth.Memory(), &hosted{redirect: "http://127.0.0.1:3000/cb"}
			opts := []oauth.Option{oauth.Keep(store), oauth.Receive(h)}
			switch {
			case tt.code != "":
				opts = append(opts, oauth.Receive(&replying{h, []string{tt.code}}))
			case !tt.leaves && tt.window == nil:
				opts = append(opts, oauth.Patience(50*time.Millisecond))
			}
			for n := range 3 {
				ctx, leave := context.WithCancel(t.Context())
				_, err := flow(t, append(opts, oauth.Browser(func(context.Context, string) error {
					if tt.leaves {
						leave()
					}
					return tt.window
				}))...).Login(ctx, s.URL+"/mcp")
				leave()
				if err == nil || tt.leaves && !errors.Is(err, context.Canceled) {
					t.Errorf("login %d: %v", n, err)
				}
				if name == "no response" && (!errors.Is(err, oauth.ErrLogin) || strings.Contains(err.Error(), "log in again") != (n == 1)) {
					t.Errorf("login %d: %v", n, err)
				}
			}
			asked := s.requests()
			if n := len(asked) - len(slices.DeleteFunc(asked, func(r string) bool { return r == "POST /register" })); n != tt.registrations {
				t.Errorf("%d registrations; want %d", n, tt.registrations)
			}
		})
	}
}

// TestLogout_ForgetsWithoutAGrant checks that a registration can be deleted although no login has
// succeeded.
func TestLogout_ForgetsWithoutAGrant(t *testing.T) {
	t.Parallel()
	s := script(t, map[string]string{
		"/mcp": "401|challenge Bearer", prmPath: `{"resource":"URL/mcp","authorization_servers":["URL"]}`, asPath: asAt(""),
		"/register": `{"client_id":"registered"}`,
	})
	store := oauth.Memory()
	f := flow(t, oauth.Keep(store))
	left := func() int {
		keys, err := store.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return len(keys)
	}
	if _, err := f.Login(t.Context(), s.URL+"/mcp"); !errors.Is(err, oauth.ErrLogin) || left() != 1 {
		t.Fatalf("%v, %d records", err, left())
	}
	if err := f.Logout(t.Context(), s.URL+"/mcp"); err != nil || left() != 1 {
		t.Errorf("without Forget: %v, %d records", err, left())
	}
	s.set(map[string]string{prmPath: "503|"})
	if err := f.Logout(t.Context(), s.URL+"/mcp", oauth.Forget()); !errors.Is(err, oauth.ErrUnavailable) || left() != 1 {
		t.Errorf("while the server is away: %v, %d records", err, left())
	}
	s.set(map[string]string{prmPath: `{"resource":"URL/mcp","authorization_servers":["URL"]}`})
	if err := f.Logout(t.Context(), s.URL+"/mcp", oauth.Forget()); err != nil || left() != 0 {
		t.Errorf("%v, %d records", err, left())
	}
	asked := len(s.requests())
	if err := f.Logout(t.Context(), s.URL+"/mcp", oauth.Forget()); err != nil || len(s.requests()) != asked {
		t.Errorf("without a registration: %v, %d requests", err, len(s.requests())-asked)
	}
}

// TestLogout_ForgetsALaterRegistration checks that a registration is forgotten although the grant is of an
// earlier one.
func TestLogout_ForgetsALaterRegistration(t *testing.T) {
	t.Parallel()
	s, u, store := open(t), &user{}, oauth.Memory()
	f := flow(t, u.browser(t), oauth.Keep(store))
	if _, err := f.Login(t.Context(), s.url); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the first login without a response drops the registration
		if _, err := flow(t, unseen, oauth.Keep(store), oauth.Patience(50*time.Millisecond)).Login(t.Context(), s.url); !errors.Is(err, oauth.ErrLogin) {
			t.Fatal(err)
		}
	}
	if n := s.issuer.Requests("/register"); n != 2 {
		t.Fatalf("%d registrations", n)
	}
	if err := f.Logout(t.Context(), s.url, oauth.Forget()); err != nil {
		t.Error(err)
	}
	if keys, err := store.List(t.Context()); err != nil || len(keys) != 0 {
		t.Errorf("left: %v, %v", keys, err)
	}
}

// TestRegistrationNamesScopes checks that a client registers again, with its scopes, if the
// authorization server has refused the scopes to the first registration. Without named scopes, some
// servers allow a client only a few.
func TestRegistrationNamesScopes(t *testing.T) {
	t.Parallel()
	const scopes = "orders:read offline_access"
	for name, tt := range map[string]struct {
		codes []string
		opts  []oauth.Option
		want  []any // scopes of the registrations in two logins
		code  string
	}{
		"the second is accepted": {codes: []string{"invalid_scope", "access_denied"}, want: []any{nil, scopes}, code: "access_denied"},
		"the second is refused":  {codes: []string{"invalid_scope"}, want: []any{nil, scopes, scopes}, code: "invalid_scope"},
		"another refusal":        {codes: []string{"access_denied"}, want: []any{nil}, code: "access_denied"},
		"scopes of the program": {
			codes: []string{"invalid_scope"}, opts: []oauth.Option{oauth.Register(oauth.Metadata{More: map[string]any{"scope": "own"}})},
			want: []any{"own"}, code: "invalid_scope",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, store := open(t), oauth.Memory()
			s.issuer.Fault(testkit.NoIss)
			receiver := oauth.Receive(&replying{&hosted{redirect: "http://127.0.0.1:3000/cb"}, tt.codes})
			for range 2 {
				_, err := flow(t, append(tt.opts, unseen, receiver, oauth.Keep(store))...).Login(t.Context(), s.url)
				if failed, ok := errors.AsType[*oauth.Error](err); !ok || !errors.Is(err, oauth.ErrDenied) || failed.Code != tt.code {
					t.Errorf("%v; want %s", err, tt.code)
				}
			}
			var got []any
			for _, r := range s.issuer.Log() {
				var about map[string]any
				if err := json.Unmarshal([]byte(r.Form.Get("metadata")), &about); err != nil {
					t.Fatal(err)
				}
				got = append(got, about["scope"])
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("registrations with the scopes %q; want %q", got, tt.want)
			}
		})
	}
}

// refusing is an authorization server that no longer knows its clients.
type refusing struct{}

func (refusing) RoundTrip(r *http.Request) (*http.Response, error) {
	a, err := http.DefaultTransport.RoundTrip(r)
	if err == nil && r.URL.Path == "/token" {
		_ = a.Body.Close()
		a.StatusCode, a.Body, a.ContentLength = http.StatusUnauthorized, io.NopCloser(strings.NewReader(`{"error":"invalid_client"}`)), -1
	}
	return a, err
}

// undeletableStore is a store that is unavailable when a registration is deleted.
type undeletableStore struct{ oauth.Store }

func (undeletableStore) Delete(context.Context, oauth.Key, uint64) error {
	return fmt.Errorf("deleting: %w", oauth.ErrUnavailable)
}

// TestRegistrationThatCannotBeForgotten checks that the error of the login is the refusal of the client,
// even if the store has failed as well.
func TestRegistrationThatCannotBeForgotten(t *testing.T) {
	t.Parallel()
	s, u := open(t), &user{}
	f := flow(t, u.browser(t), oauth.Keep(undeletableStore{oauth.Memory()}), oauth.HTTPClient(&http.Client{Transport: refusing{}}))
	_, err := f.Login(t.Context(), s.url)
	if e, ok := errors.AsType[*oauth.Error](err); !ok || !errors.Is(err, oauth.ErrDenied) || e.Code != "invalid_client" || e.Hint == "" {
		t.Errorf("%#v", err)
	}
}
